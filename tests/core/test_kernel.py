"""How the pass runs: which way, on how many threads, watched, interrupted, and with nothing left behind."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from ways import attend_by, normal, pairs, ways

from riverhead.core import attend, kernel, rowblocks
from riverhead.errors import InputError

compiled = pytest.mark.skipif(kernel.paths() == ("numpy",), reason="no compiled pass in this build")
linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads /proc")


def bits(A):
    return {name: getattr(A, name).tobytes() for name in A.names}


# ---- which way


def test_the_best_way_is_the_default_and_numpy_is_always_there(monkeypatch):
    monkeypatch.delenv("RIVERHEAD_KERNEL", raising=False)
    assert kernel.paths()[-1] == "numpy"
    assert kernel.path() == kernel.paths()[0]


@ways
def test_a_way_can_be_forced(way, monkeypatch):
    ran = []
    monkeypatch.setattr(rowblocks, "run", lambda *_: ran.append("numpy"))
    if kernel._kernel is not None:
        monkeypatch.setattr(kernel._kernel, "run", lambda isa, **_: ran.append(isa))
    attend_by(way, *normal((2, 3), (2, 3), (2, 3)))
    assert ran == [way]


def test_a_way_that_is_not_there(monkeypatch):
    monkeypatch.setenv("RIVERHEAD_KERNEL", "abacus")
    with pytest.raises(InputError) as caught:
        attend([[1.0]], [[1.0]], [[1.0]])
    expected = f"RIVERHEAD_KERNEL is 'abacus'; this machine and build have {', '.join(kernel.paths())}"
    assert str(caught.value) == expected


def test_without_the_extension_numpy_does_it_all(monkeypatch):
    monkeypatch.setattr(kernel, "_kernel", None)
    assert kernel.paths() == ("numpy",)
    assert attend(np.ones((1, 1), np.float32), [[1.0]], [[3.0]]).out.tolist() == [[3.0]]


# ---- threads


@compiled
@pytest.mark.parametrize(
    ("T", "asked", "n"), [(1000, None, 1), (1000, 5, 5), (2000, None, 4), (9000, None, 61)]
)
def test_no_thread_is_started_for_less_than_a_millisecond(T, asked, n, monkeypatch):
    ran = []
    monkeypatch.setenv("RIVERHEAD_NUM_THREADS", "64")
    monkeypatch.setattr(kernel._kernel, "run", lambda n_threads, **_: ran.append(n_threads))
    attend(
        np.ones((1, T, 2), np.float32),
        np.ones((1, T, 2), np.float32),
        np.ones((1, T, 1), np.float32),
        threads=asked,
    )
    assert ran == [n]  # 3 T² multiply-adds, one thread for every 4 million begun


@ways
@pytest.mark.parametrize("shape", [(1, 3, 700), (2, 17, 130)], ids=["a head in stripes", "a head a stripe"])
def test_every_bit_is_the_same_from_run_to_run_and_for_any_number_of_threads(way, shape):
    B, H, T = shape
    arrays = normal((B, H, T, 17), (B, 1, T, 17), (B, 1, T, 9))
    rng = np.random.default_rng(1)
    options = {"causal": True, "mask": rng.random((T, T)) < 0.7, "pairs": pairs(rng, T, T), "offset": 3}
    expected = bits(attend_by(way, *arrays, threads=1, **options))
    for threads in (1, 2, 3, 7, 7, 2**40):
        assert bits(attend_by(way, *arrays, threads=threads, **options)) == expected, threads


ENVIRONMENTS = [
    ({"RIVERHEAD_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3),
    ({"OMP_NUM_THREADS": "5"}, 5),
    ({"OMP_NUM_THREADS": "4,2"}, 4),
    ({"RIVERHEAD_NUM_THREADS": "", "OMP_NUM_THREADS": "none"}, len(os.sched_getaffinity(0))),
]


@pytest.fixture
def environment(monkeypatch):
    for name in ("RIVERHEAD_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


@pytest.mark.parametrize(("said", "n"), ENVIRONMENTS)
def test_the_environment_says_how_many_threads(said, n, environment):
    for name, value in said.items():
        environment(name, value)
    assert kernel.threads_of(None) == n
    assert kernel.threads_of(2) == 2


@pytest.mark.parametrize("said", ["0", "-1", "many", "1.5"])
def test_a_number_of_threads_that_is_none(said, environment):
    environment("RIVERHEAD_NUM_THREADS", said)
    with pytest.raises(InputError) as caught:
        attend([[1.0]], [[1.0]], [[1.0]])
    assert str(caught.value) == f"RIVERHEAD_NUM_THREADS is {said!r}; it must be a whole number, at least 1"


LONG = ((6, 4096, 64),) * 3  # a tenth of a second at least


@linux
@compiled
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_as_many_threads_as_asked(threads):
    before, during = len(os.listdir("/proc/self/task")), set()
    attend(*normal(*LONG), threads=threads, progress=lambda _: during.add(len(os.listdir("/proc/self/task"))))
    assert max(during) == before + threads - 1


@compiled
def test_other_python_threads_run_meanwhile():
    """A thread that notes the time over and over never waits for as long as half of the run."""
    arrays, noted, over = normal(*LONG), [], threading.Event()

    def note():
        while not over.is_set():
            noted.append(time.perf_counter())

    thread = threading.Thread(target=note)
    thread.start()
    try:
        begun = time.perf_counter()
        attend(*arrays, threads=1)
        ended = time.perf_counter()
    finally:
        over.set()
        thread.join()
    times = [begun, *(at for at in noted if begun < at < ended), ended]
    assert max(after - at for at, after in itertools.pairwise(times)) < (ended - begun) / 2


# ---- watched


@ways
def test_progress_rises_to_1(way):
    seen, begun = [], time.perf_counter()
    shapes = [(1, *shape[1:]) for shape in LONG] if way == "numpy" else LONG  # it takes its time
    attend_by(way, *normal(*shapes), progress=seen.append, threads=1)
    assert seen == sorted(seen)
    assert seen[0] == 0
    assert seen[-1] == 1
    assert len(seen) > 2 or time.perf_counter() - begun < 0.15  # told every 50 ms


@ways
@pytest.mark.parametrize("shapes", [((1, 1),) * 3, ((0, 1), (1, 1), (1, 1))], ids=["one row", "no row"])
def test_progress_is_told_the_end_of_the_shortest_run(way, shapes):
    seen = []
    attend_by(way, *normal(*shapes), progress=seen.append)
    assert seen[-1] == 1


class StopError(Exception):
    pass


@ways
@pytest.mark.parametrize("at", [0, 0.01, 1])
def test_what_progress_raises_comes_through_and_the_next_run_is_whole(way, at):
    def progress(fraction):
        if fraction >= at:
            raise StopError(fraction)

    arrays = normal((2, 2048, 64), (2, 2048, 64), (2, 2048, 64))
    with pytest.raises(StopError):
        attend_by(way, *arrays, progress=progress, threads=2)
    few = [x[:, :50] for x in arrays]
    np.testing.assert_allclose(attend_by(way, *few).received.sum(-1), [50, 50], rtol=1e-4)


LONG_RUN = """
import sys, time
import numpy as np
from riverhead.core import attend

q, k, v = (np.ones((100_000, d), np.float32) for d in (8, 8, 1))
q, k, v = (np.broadcast_to(x, (int(sys.argv[1]), 1, *x.shape)) for x in (q, k, v))

def progress(fraction, said=[]):
    if fraction and not said:
        said.append(print("running", flush=True))

try:
    attend(q, k, v, lengths=[100_000] + [0] * (len(q) - 1), threads=2, top=0, progress=progress)
except KeyboardInterrupt:
    print(time.monotonic())
"""


@pytest.mark.parametrize("batch", [1, 32], ids=["in stripes", "one long stripe among short ones"])
@ways
def test_control_c_stops_within_a_second(way, batch):
    """The run takes many seconds; in the second case the calling thread may have only to wait."""
    command = [sys.executable, "-c", LONG_RUN, str(batch)]
    with subprocess.Popen(
        command, env={**os.environ, "RIVERHEAD_KERNEL": way}, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout.readline() == "running\n"
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            stopped = float(child.communicate(timeout=60)[0])
        finally:
            child.kill()
    assert child.returncode == 0
    assert stopped - sent < 1  # what is promised; on an idle machine it takes some 50 ms


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@linux
@pytest.mark.parametrize("way", kernel.paths()[:1])  # the compiled one, whose memory is its own to free
def test_memory_is_flat_over_200_cancelled_runs(way):
    """One run takes 21 MB and its smallest array 80 kB: kept 200 times, even that would be 16 MB."""
    arrays, polls = normal((20_000, 64), (20_000, 64), (20_000, 64)), itertools.count()

    def stop(_):
        if next(polls) % 4:  # one run in three is stopped at its second look, its threads at work
            raise StopError

    def cancel(times):
        for _ in range(times):
            with pytest.raises(StopError):
                attend_by(way, *arrays, threads=2, progress=stop)

    cancel(20)
    for _ in range(3):  # what is lost is lost every time; what the allocator takes once more, it takes once
        before = resident_bytes()
        cancel(200)
        grown = resident_bytes() - before
        if grown < 8e6:
            break
    assert grown < 8e6
