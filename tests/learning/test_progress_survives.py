"""Progress outlives what kills it, and two processes at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from kept_progress import consistent

# children import kept_progress too
PATHS = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
HERE = os.environ | {"PYTHONPATH": PATHS.strip(os.pathsep)}


# A child writes, killed after a number of SQLite's own steps: each kill a little later than the one before.
KILLED_AT_A_STEP = """
import os, signal, sqlite3, sys
from pathlib import Path
from kept_progress import attempt
from riverhead.learning.progress import Progress

folder, stride, begun = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "begun"
connect = sqlite3.connect
import filelock  # before forking

def killed(path, after):
    left = [after]
    def step():
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
    def counted(*args, **named):
        db = connect(*args, **named)
        db.set_progress_handler(step, 1)
        return db
    sqlite3.connect = counted
    Progress(path).record(**attempt(2))
    os._exit(0)

after, status = 1, None
while status != 0:
    path = folder / f"{after}.sqlite3"
    if begun:
        with Progress(path) as progress:
            progress.record(**attempt(1))
    child = os.fork()
    if not child:
        killed(path, after)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    print(after, int(status == 0), flush=True)
    after += stride
"""


@pytest.mark.parametrize(("before", "stride"), [("begun", 17), ("fresh", 41)])
def test_killed_at_any_step_the_file_is_whole(tmp_path: Path, before: str, stride: int) -> None:
    found = subprocess.run(
        [sys.executable, "-c", KILLED_AT_A_STEP, tmp_path, str(stride), before],
        env=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    rounds = [tuple(map(int, line.split())) for line in found.stdout.splitlines()]
    assert len(rounds) > 10  # so many kills
    n_before = int(before == "begun")
    for after, acknowledged in rounds:
        n = len(consistent(tmp_path / f"{after}.sqlite3"))
        assert n_before + acknowledged <= n <= n_before + 1
    assert [acknowledged for _, acknowledged in rounds] == [0] * (len(rounds) - 1) + [1]


WRITES = """
import sys
from pathlib import Path
from kept_progress import attempt
from riverhead.learning.progress import Progress

path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with Progress(path) as progress:
    for n in range(count):
        id = f"{name}-{n}"
        progress.record(**attempt(n, exercise_id=id))
        print(id, flush=True)
"""


def writers(path: Path, names: Sequence[str], count: int) -> list[subprocess.Popen[str]]:
    """Return children that are ready to write; they start up side by side."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITES, path, name, str(count)],
            env=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    return children


def begin(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def test_killed_while_it_writes_every_acknowledged_attempt_is_there(path: Path) -> None:
    acknowledged: list[str] = []
    kills = (1, 2, 7, 23)
    children = writers(path, [f"killed{kill}" for kill in range(len(kills))], 10**6)
    for kill, (after, child) in enumerate(zip(kills, children, strict=True)):
        begin(child)
        assert child.stdout is not None
        acknowledged += [child.stdout.readline().strip() for _ in range(after)]
        child.send_signal(signal.SIGKILL)
        acknowledged += child.communicate()[0].split()  # what it said before it died
        assert child.returncode == -signal.SIGKILL
        kept = [each["exercise"] for each in consistent(path)]
        # one may have been kept whose word was lost, in each round
        assert [id for id in kept if id in set(acknowledged)] == acknowledged
        assert len(kept) <= len(acknowledged) + kill + 1


def test_two_at_once_lose_nothing(path: Path) -> None:
    """Both find no file, make it, and write: no attempt is lost and no card forgets a review."""
    children = writers(path, ("one", "other"), 100)
    for child in children:
        begin(child)
    said = [child.communicate()[0].split() for child in children]
    assert [child.returncode for child in children] == [0, 0]
    kept = [each["exercise"] for each in consistent(path)]
    assert sorted(kept) == sorted(f"{name}-{n}" for name in ("one", "other") for n in range(100))
    for name, words in zip(("one", "other"), said, strict=True):
        assert [id for id in kept if id.startswith(name)] == words
