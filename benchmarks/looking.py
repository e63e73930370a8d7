"""Looking at every head beside the same forward pass without looking: CPU time, and peak memory above it.

    OMP_NUM_THREADS=1 python benchmarks/looking.py [ROUNDS [TOKENS [one-word]]]

The model has to be there (riverhead models fetch smollm2). Each run is a process of its own, in turn, so that
its peak is its own; what is kept with the model is there before the clock starts. The text is the project's
own pages; with ``one-word`` it is one word over and over: every token a copy of all before, the most there
can be.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent


def main(rounds: int, n_tokens: int, kind: str) -> None:
    """Run both in turn, and print the median ratio and difference beside their limits."""
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    print(f"{n_tokens} tokens, {kind}, OMP_NUM_THREADS {threads}, {rounds} rounds", flush=True)
    found: dict[str, list[tuple[float, float]]] = {"forward": [], "heads": []}
    for turn in range(rounds):
        for name in list(found)[:: -1 if turn % 2 else 1]:
            found[name].append(measure(name, n_tokens, kind))
    pairs = list(zip(found["heads"], found["forward"], strict=True))
    print(f"{'ratio':10}{median(a[0] / b[0] for a, b in pairs):8.2f}   limit 1.5")
    print(f"{'above':10}{median(a[1] - b[1] for a, b in pairs) / 1e6:8.0f} MB   limit 400")


def measure(name: str, n_tokens: int, kind: str) -> tuple[float, float]:
    """Return the CPU seconds and the peak bytes of one run, of a process of its own."""
    command = [sys.executable, __file__, "--run", name, str(n_tokens), kind]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    seconds, peak = json.loads(ran.stdout)
    print(f"{name:10}{seconds:8.1f} CPU s{peak / 1e6:8.0f} MB at the peak", flush=True)
    return seconds, peak


def run(name: str, n_tokens: int, kind: str) -> None:
    """Read the text once and print the CPU seconds it took, and the process's peak bytes."""
    import numpy as np

    from riverhead.inspection.every_head import heads
    from riverhead.inspection.habit import habit_of, silent
    from riverhead.inspection.labels import labels_of
    from riverhead.transformer import load

    model = load("smollm2")
    text = " river" * n_tokens
    if kind == "pages":
        pages = "\n".join(page.read_text("utf-8") for page in sorted(ROOT.glob("**/*.md")))
        text = model.tokenizer.decode(model.tokenize(pages)[:n_tokens])
    ids = np.array(model.tokenize(text))
    labels_of(model, silent), habit_of(model, len(ids), silent)
    model.run(ids[None, :64])  # the pages of the weights are read
    start = time.process_time()
    if name == "heads":
        heads(model, text)
    else:
        model.run(ids[None])
    seconds = time.process_time() - start
    print(json.dumps([seconds, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        given = [*sys.argv[1:], *["3", "8000", "pages"][len(sys.argv) - 1 :]]
        main(int(given[0]), int(given[1]), given[2])
