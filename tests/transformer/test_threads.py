"""BLAS has one thread while a few tokens run, and what it had before afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from riverhead.transformer import Model, threads
from riverhead.transformer.threads import SMALL, few_threads

IDS = [3, 259, 17]


def blas() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        if blas() != {2}:
            pytest.skip("this NumPy's BLAS cannot be told how many threads to use")
        yield


def seen(model: Model, ids: list[list[int]]) -> set[int]:
    found: set[int] = set()
    model.run(ids, watch=lambda *_: found.update(blas()))
    return found


def test_a_few_tokens_run_on_one_thread_and_many_on_all(llama: Model, monkeypatch) -> None:
    assert seen(llama, [IDS]) == {1}
    assert blas() == {2}
    monkeypatch.setattr(threads, "SMALL", 2 * len(IDS))
    assert seen(llama, [IDS, IDS]) == {2}, "it is the tokens of all items together that count"


def test_the_limit_is_lifted_after_an_error(llama: Model) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        llama.run([IDS], watch=fail)
    assert blas() == {2}


def test_of_two_threads_the_one_that_set_the_limit_lifts_it() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with few_threads(SMALL - 1):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other, daemon=True)
    with few_threads(1):
        thread.start()
        inside.wait()
        assert blas() == {1}
    assert blas() == {2}
    leave.set()
    thread.join()
    assert blas() == {2}


def test_a_run_inside_a_run_leaves_the_limit(llama: Model) -> None:
    found = []

    def watch(*_: object) -> None:
        llama.run([IDS])
        found.append(blas())

    llama.run([IDS], watch=watch)
    assert found == [{1}] * llama.config.n_layers
