"""Somebody's function in a child: whatever it does, the parent gets an outcome, and nothing is left."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from riverhead.checking.rules import adapting
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.call import Call, Outcome
from riverhead.checking.rules.running import wire
from riverhead.checking.rules.running.isolated import Isolated
from riverhead.checking.rules.running.limits import Limits
from riverhead.checking.rules.running.process import Process
from riverhead.checking.rules.running.raised import described, place_in
from riverhead.checking.rules.running.subject import Direct
from riverhead.errors import InputError

CALL = Call({"q": np.arange(6.0).reshape(2, 3), "mask": np.array([[True, False, True]])}, {"scale": 0.5})
SHORT = Limits(seconds=0.5)
HERE = r"test_running\.py:\d+"


class Bare:
    """An adapter that hands over what it was given and brings back whatever comes."""

    name, kind, offers, notes = "bare", "attention", frozenset({"mask", "cross"}), ("takes q", "and no k")

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def run(self, call: Call) -> Outcome:
        return Outcome({"out": self.f(call.arrays["q"])}, {"dtype": "float64"})


@pytest.fixture(autouse=True)
def _adapted_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "adapt", lambda f, asked: Bare(f), raising=False)


def once(f: Callable[..., Any], limits: Limits = SHORT) -> Outcome:
    with Isolated(lambda: f, Asked(), limits) as subject:
        return subject.call(CALL)


def hangs(q: Any) -> Any:
    while True:
        pass


def prints_for_ever(q: Any) -> Any:
    while True:
        print("x" * 1000)


def crashes(q: Any) -> Any:
    os.kill(os.getpid(), signal.SIGSEGV)


def test_what_goes_well_comes_back_as_it_is() -> None:
    def doubled(q: Any) -> Any:
        print("doubling")
        print("loudly", file=sys.stderr)
        return 2 * q

    with Isolated(lambda: doubled, Asked(), SHORT) as subject:
        assert (subject.name, subject.kind, subject.notes) == ("bare", "attention", Bare.notes)
        assert subject.offers == {"mask", "cross"}
        for _ in range(2):
            outcome = subject.call(CALL)
            np.testing.assert_array_equal(outcome.out, 2 * CALL.arrays["q"])
            assert outcome.facts == {"dtype": "float64"}
            assert not outcome.trouble
            assert sorted(outcome.noise.split()) == ["doubling", "loudly"]


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (hangs, rf"did not answer within 0\.5 s, at {HERE}"),
        (prints_for_ever, rf"did not answer within 0\.5 s, at {HERE}"),
        (crashes, rf"its process was ended by SIGSEGV \(Segmentation fault\), at {HERE}"),
        (lambda q: os.abort(), rf"its process was ended by SIGABRT \(Aborted\), at {HERE}"),
        (lambda q: os.kill(os.getpid(), signal.SIGKILL), r"its process was killed \(SIGKILL\), .* memory"),
        (lambda q: os._exit(3), r"its process left with exit status 3, before it answered"),
        (lambda q: sys.exit(4), r"its process left with exit status 4, before it answered"),
        (lambda q: sys.exit("no"), r"its process left with exit status 1, before it answered"),
        (lambda q: os.closerange(3, 256), r"its process left with exit status 70, before it answered"),
        (lambda q: np.ones(2**29), rf"ran out of memory; it may take 2\.15 GB .*MemoryError.*\({HERE}\)"),
    ],
    ids=["hang", "print", "crash", "abort", "kill", "exit", "sys.exit", "sys.exit-word", "close", "memory"],
)
def test_what_ends_a_process_is_told(f: Callable[..., Any], said: str) -> None:
    outcome = once(f)
    assert re.fullmatch(said, outcome.ended), outcome.ended
    assert (outcome.error, dict(outcome.arrays)) == ("", {})


class Odd(np.ndarray):
    """An array that is more than its numbers."""


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda q: "text", "out is no array: str"),
        (lambda q: q.astype(object), "out holds no real numbers: its dtype is object"),
        (lambda q: q * 1j, "out holds no real numbers: its dtype is complex128"),
        (
            lambda q: np.broadcast_to(0.0, (10**6, 10**6)),
            r"out holds 8\.00 TB .*; at most 268 MB .*",
        ),
        (lambda q: q.reshape(2, 3, *[1] * 8), "out has 10 axes; at most 8 are read"),
        (lambda q: q @ q, rf"ValueError: matmul.* \({HERE}\)"),
        (lambda q: input(), rf"EOFError: EOF when reading a line \({HERE}\)"),
        (lambda q: [].pop(), rf"IndexError: pop from empty list \({HERE}\)"),
    ],
    ids=["text", "object", "complex", "huge", "axes", "raised", "stdin", "empty"],
)
def test_what_is_no_result_is_an_error(f: Callable[..., Any], said: str) -> None:
    outcome = once(f)
    assert re.fullmatch(said, outcome.error), outcome.error
    assert (outcome.ended, dict(outcome.arrays)) == ("", {})


def test_what_stands_at_the_parent_s_input_is_not_read() -> None:
    ear, mouth = os.pipe()
    os.write(mouth, b"a secret\n")
    before = os.dup(0)
    os.dup2(ear, 0)
    try:
        assert once(lambda q: input()).error.startswith("EOFError")
        assert os.read(ear, 9) == b"a secret\n"
    finally:
        os.dup2(before, 0)
        for number in (before, ear, mouth):
            os.close(number)


def test_a_child_that_somebody_else_waited_for_is_gone() -> None:
    def exits(q: Any) -> Any:
        os._exit(3)

    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system waits for every child at once
    try:
        assert "its process left" in once(exits).ended
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_an_interrupt_of_its_own_is_an_error_as_any() -> None:
    def interrupts(q: Any) -> Any:
        raise KeyboardInterrupt

    assert once(interrupts).error.startswith("KeyboardInterrupt")


def test_a_subclass_and_a_long_double_come_as_plain_numbers() -> None:
    assert type(once(lambda q: q.view(Odd)).out) is np.ndarray
    assert once(lambda q: q.astype(np.longdouble)).out.dtype == np.float64


def test_arrays_are_fresh_and_may_be_written_to() -> None:
    def writes(q: Any) -> Any:
        q += 1
        return q

    with Isolated(lambda: writes, Asked(), SHORT) as subject:
        for _ in range(2):
            np.testing.assert_array_equal(subject.call(CALL).out, CALL.arrays["q"] + 1)


def test_only_the_first_of_the_noise_is_kept() -> None:
    def prints(q: Any) -> Any:
        print("é" * 10**6)
        return q

    outcome = once(prints)
    assert outcome.noise == "é" * 250  # two bytes each
    assert outcome.out.shape == (2, 3)


def test_what_loading_printed_comes_with_the_first_call() -> None:
    def load() -> Any:
        print("loaded")
        return lambda q: q

    with Isolated(load, Asked(), SHORT) as subject:
        assert [subject.call(CALL).noise for _ in range(2)] == ["loaded\n", ""]


def test_after_a_hang_or_a_crash_comes_another_process_and_after_three_none() -> None:
    with Isolated(lambda: crashes, Asked(), SHORT) as subject:
        said = [subject.call(CALL).ended for _ in range(5)]
    assert [text.endswith("; not asked again") for text in said] == [False] * 3 + [True] * 2


def test_an_answer_between_two_crashes_counts() -> None:
    def crashes_at_odd_scales(q: Any) -> Any:
        return os._exit(1) if q[0, 0] % 2 else q

    with Isolated(lambda: crashes_at_odd_scales, Asked(), SHORT) as subject:
        said = [subject.call(Call({"q": np.full((1, 1), float(n))})).ended for n in range(10)]
    assert [bool(text) for text in said] == [False, True] * 5
    assert not any("not asked again" in text for text in said)


def test_a_function_that_forks_answers_once() -> None:
    def forks(q: Any) -> Any:
        os.fork()
        return q

    with Isolated(lambda: forks, Asked(), SHORT) as subject:
        for n in range(4):
            assert subject.call(Call({"q": np.full((1, 1), float(n))})).out == n


@pytest.mark.parametrize("end", [lambda q: q, hangs, crashes], ids=["answers", "hangs", "crashes"])
def test_nothing_that_it_started_is_left(end: Callable[..., Any]) -> None:
    ear, mouth = os.pipe()

    def starts_others(q: Any) -> Any:
        for _ in range(3):
            subprocess.Popen(["sleep", "60"], pass_fds=[mouth])
        return end(q)

    once(starts_others)
    os.close(mouth)
    assert select.select([ear], [], [], 10)[0], "a process that holds the other end lives"
    assert os.read(ear, 1) == b""
    os.close(ear)


def test_ctrl_c_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Process, deadline: float) -> None:
        raise KeyboardInterrupt

    with Isolated(lambda: hangs, Asked(), SHORT) as subject:
        assert subject._process is not None
        pid = subject._process.pid
        monkeypatch.setattr(Process, "_wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            subject.call(CALL)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_ctrl_c_while_it_loads_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    pids = []

    def interrupted(self: Process, deadline: float) -> None:
        pids.append(self.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(Process, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt), Isolated(lambda: hangs, Asked(), SHORT):
        pass
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_child_without_its_parent_leaves() -> None:
    """Its line is closed, and its clock ends it while it hangs: a parent that was killed can do neither."""
    ear, mouth = os.pipe()

    def hangs_and_holds(q: Any) -> Any:
        assert mouth
        hangs(q)

    subject = Isolated(lambda: hangs_and_holds, Asked(), Limits(seconds=0.1)).__enter__()
    process = subject._process
    assert process is not None
    process._line.sendall(wire.of_call(CALL))  # and nobody hears the answer
    os.close(mouth)
    try:
        assert select.select([ear], [], [], 10)[0], "it hangs for ever"
        assert process._gone(10)
        assert process._status == -signal.SIGALRM
    finally:
        subject._end()
        os.close(ear)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (
            lambda: os._exit(3),
            "it could not be loaded: its process left with exit status 3, .*",
        ),
        (lambda: [][0], f"loading it raised IndexError: list index out of range \\({HERE}\\)"),
        (lambda: hangs(0), rf"it could not be loaded: did not answer within 0\.5 s, at {HERE}"),
    ],
    ids=["exit", "raised", "hang"],
)
def test_what_cannot_be_loaded_is_refused(load: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError) as refused, Isolated(load, Asked(), Limits(load_seconds=0.5)):
        pass
    assert re.fullmatch(said, str(refused.value)), str(refused.value)


def test_a_system_without_fork_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(InputError, match="isolated=False"), Isolated(lambda: hangs, Asked()):
        pass


def test_limits_are_positive() -> None:
    for name in ("seconds", "bytes", "load_seconds"):
        for value in (0, -1, float("nan"), float("inf")):
            with pytest.raises(InputError, match=f"limits: {name} is"):
                Limits(**{name: value})


def test_memory_counts_from_what_is_held_already() -> None:
    held = np.ones(2**24)  # 128 MiB, in the parent
    small = Limits(seconds=5, bytes=2**26)  # 64 MiB
    assert once(lambda q: np.full(2**20, held[0]), small).out.size == 2**20  # 8 MiB, and copies on its way
    assert "ran out of memory" in once(lambda q: np.ones(2**24), small).ended


def test_direct_runs_here_and_tells_what_was_raised() -> None:
    def raises(q: Any) -> Any:
        raise ValueError(f"two\nlines in {os.getpid()}")

    said = Direct(Bare(raises)).call(CALL).error
    assert re.fullmatch(rf"ValueError: two lines in {os.getpid()} \({HERE}\)", said), said


def test_the_place_is_the_user_s_own_line() -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - its line is what is looked at
        np.linalg.inv(np.ones((2, 3)))
    assert re.search(rf"\({HERE}\)$", described(raised.value))
    library = os.path.join(os.path.dirname(np.__file__), "x.py")
    dump = f'  File "{library}", line 1 in inner\n  File "/home/me/mine.py", line 12 in f\n'
    assert place_in(dump + '  File "/home/me/mine.py", line 99 in <module>\n') == "mine.py:12"


@pytest.mark.oracle
def test_threads_of_the_parent_s_torch_do_no_harm() -> None:
    torch = pytest.importorskip("torch", reason="torch needs the [oracle] extra")
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        x = torch.randn(400, 400, requires_grad=True)  # large enough for two threads
        (torch.softmax(x @ x, -1) @ x).sum().backward()
        np.ones((400, 400)) @ np.ones((400, 400))

        def learns(q: Any) -> Any:
            y = torch.randn(400, 400, requires_grad=True)
            (torch.softmax(y @ y, -1) @ y).sum().backward()
            np.ones((400, 400)) @ np.ones((400, 400))
            return y.grad.numpy()

        assert once(learns, Limits(seconds=20)).out.shape == (400, 400)
        outcome = once(lambda q: torch.ones(2**30), Limits(seconds=20))
        assert "ran out of memory" in outcome.ended
    finally:
        torch.set_num_threads(threads)


NUMBERS = hnp.arrays(
    st.sampled_from(sorted(wire.DTYPES)), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
)


@given(st.dictionaries(st.text(max_size=5), NUMBERS, max_size=3), st.booleans())
def test_a_call_survives_the_wire(arrays: dict[str, Any], turned: bool) -> None:
    lain = {name: x.T if turned else x for name, x in arrays.items()}
    beside = ({"scale": float("inf"), "mask_form": "drop"}, "float16", ("weights", "gradient"), "strided")
    again = wire.call_of(wire.received(_Reader(wire.of_call(Call(lain, *beside)))))
    assert (again.options, again.dtype, again.want, again.how) == beside
    assert list(again.arrays) == list(lain)
    for name, x in again.arrays.items():
        np.testing.assert_array_equal(x, lain[name])
        assert x.dtype == lain[name].dtype
        assert x.flags.writeable
        assert x.flags.owndata or x.base.flags.owndata


class _Reader:
    """Gives the next n bytes, as a line does; what is asked beyond the end is no answer."""

    def __init__(self, data: bytes) -> None:
        self.data, self.most = data, 0

    def __call__(self, n: int) -> bytes:
        self.most = max(self.most, n)
        taken, self.data = self.data[:n], self.data[n:]
        if len(taken) < n:
            raise EOFError
        return taken


@given(st.data())
def test_a_frame_that_was_tampered_with_is_refused_or_read_never_more(data: st.DataObject) -> None:
    frame = bytearray(wire.packed({"facts": {}, "error": "", "ended": ""}, {"out": np.ones((2, 3))}))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    reader = _Reader(bytes(frame))
    with suppress(wire.WireError, EOFError):
        wire.outcome_of(wire.received(reader))
    assert reader.most <= wire.MOST_NUMBERS


@pytest.mark.parametrize(
    "arrays",
    [
        [["out", "object", [1]]],
        [["out", "<f8", [1]]],
        [["out", "float64", [-1, -1]]],
        [["out", "float64", [10**12, 10**12]]],
        [["out", "float64", [True]]],
        [["out", "float64", "1"]],
        [["out", "float64"]],
        {"out": 1},
        None,
    ],
)
def test_a_header_is_checked_before_anything_is_made(arrays: Any) -> None:
    text = json.dumps({"arrays": arrays}).encode()
    frame = wire.FRONT.pack(wire.SIGN, len(text), 8) + text + bytes(8)
    with pytest.raises(wire.WireError, match="what came"):
        wire.received(_Reader(frame))


def test_garbage_on_the_line_is_no_answer() -> None:
    def writes_to_everything(q: Any) -> Any:
        for number in range(3, 64):
            with suppress(OSError):
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    os.write(number, b"garbage" * 10)
        return q

    assert "cannot be read" in once(writes_to_everything).ended
