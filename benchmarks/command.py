"""CPU seconds of the command, a fresh process each, beside the limit it is held to.

    python benchmarks/command.py [ROUNDS]

The model has to be there (riverhead models fetch smollm2). Each round runs every command once, in turn, so
that a slow minute of the machine meets all of them; the median stands beside the limit. The last row measures
the habit anew each time; the row before finds it kept with the model.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from statistics import median

RIVERHEAD = str(Path(sysconfig.get_path("scripts")) / "riverhead")
SENTENCE = "The river bank flooded"
COMMANDS = {  # name: (limit in CPU seconds, command)
    "python -c pass": (None, [sys.executable, "-c", "pass"]),
    "--help": (0.2, [RIVERHEAD, "--help"]),
    "show, whiteboard alone": (0.6, [RIVERHEAD, "show", SENTENCE, "--no-model"]),
    "show, with the model": (6.0, [RIVERHEAD, "show", SENTENCE, "--offline"]),
    "the same, habit measured": (6.0, [RIVERHEAD, "show", SENTENCE, "--offline"]),
    "models add (conversion)": (15.0, [RIVERHEAD, "models", "add", "model.gguf", "--name", "benchmark"]),
}


def main(rounds: int) -> None:
    from riverhead.transformer import store

    original = store.path("smollm2")
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch) / "cache"
        shutil.copytree(original, cache / "models" / "smollm2")
        shutil.copy(original / "model.gguf", scratch)
        environment = {**os.environ, "RIVERHEAD_CACHE": str(cache)}
        seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(rounds + 1):  # the first warms the file cache and is not counted
            for name, (_, command) in COMMANDS.items():
                if name == "the same, habit measured":
                    for kept in (cache / "models" / "smollm2").glob("habit*"):
                        kept.unlink()
                shutil.rmtree(cache / "models" / "benchmark", ignore_errors=True)
                seconds[name].append(cpu_seconds(command, environment, scratch))
    print(f"{'':26}{'CPU s':>8}{'limit':>8}{'of it':>8}   median of {rounds}")
    for name, (limit, _) in COMMANDS.items():
        found = median(seconds[name][1:])
        beside = f"{limit:8.1f}{found / limit:8.0%}" if limit else ""
        print(f"{name:26}{found:8.2f}{beside}")


def cpu_seconds(command: list[str], environment: dict[str, str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, cwd=folder, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
