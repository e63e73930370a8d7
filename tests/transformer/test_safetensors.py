"""Safetensors files: the numbers of whole ones, and one clear error for whatever else has their name."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_files import header, safetensors
from hypothesis import given, settings
from hypothesis import strategies as st

from riverhead.errors import ModelError
from riverhead.transformer.safetensors import chunks, read_header, read_tensor

A = np.random.default_rng(5).standard_normal((7, 3), np.float32)
B = np.arange(5, dtype=np.float32)


def read(path: Path, name: str) -> np.ndarray:
    tensor = read_header(path)[name]
    out = np.empty(tensor.shape, np.float32)
    read_tensor(name, tensor, out)
    return out


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_numbers_come_out_as_they_were_put_in(tmp_path: Path, dtype: str) -> None:
    (tmp_path / "x").write_bytes(safetensors({"a": A, "b": B}, dtype))
    expected = {
        "F64": A,
        "F32": A,
        "F16": A.astype(np.float16).astype(np.float32),
        "BF16": (A.view(np.uint32) & 0xFFFF0000).view(np.float32),  # cut, not rounded
    }[dtype]
    np.testing.assert_array_equal(read(tmp_path / "x", "a"), expected)
    np.testing.assert_array_equal(read(tmp_path / "x", "b"), B)


@pytest.mark.oracle
def test_numbers_are_torch_s(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="numbers against torch: needs the [oracle] extra")
    saved = pytest.importorskip("safetensors.torch", reason="needs the [oracle] extra")
    made = {str(t): torch.randn(11, 3).to(t) for t in (torch.bfloat16, torch.float16, torch.float64)}
    saved.save_file(made, tmp_path / "x")
    for name, tensor in made.items():
        np.testing.assert_array_equal(read(tmp_path / "x", name), tensor.float().numpy())


def test_many_rows_are_read_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverhead.transformer.safetensors.CHUNK_NUMBERS", 7)  # 2 rows of 3
    (tmp_path / "x").write_bytes(safetensors({"a": A}))
    np.testing.assert_array_equal(read(tmp_path / "x", "a"), A)
    assert [len(rows) for rows in chunks(read_header(tmp_path / "x")["a"])] == [2, 2, 2, 1]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_named(tmp_path: Path, odd: float) -> None:
    array = A.copy()
    array[3, 1] = odd
    (tmp_path / "x").write_bytes(safetensors({"some": array}))
    with pytest.raises(ModelError, match="x: tensor some holds NaN or infinity"):
        read(tmp_path / "x", "some")


def test_a_float64_beyond_float32_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(safetensors({"some": np.array([1e300])}, "F64"))
    with pytest.raises(ModelError, match="tensor some holds NaN or infinity"):
        read(tmp_path / "x", "some")


def entry(shape: Any, first: int = 0, last: int | None = None, dtype: str = "F32") -> dict[str, Any]:
    stop = first + 4 * int(np.prod(shape)) if last is None else last
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, stop]}


BAD = {
    "empty": (b"", "in a file of 0"),
    "short": (b"1234567", "in a file of 7"),
    "no length": (bytes(8), "Expecting value"),
    "a length beyond the file": ((99).to_bytes(8, "little") + b"{}", "a header of 99 bytes in a file of 10"),
    "an absurd length": (b"\xff" * 8 + b"{}", "a header of 18446744073709551615 bytes"),
    "no JSON": ((3).to_bytes(8, "little") + b"{a}", "cannot be read as a safetensors file"),
    "no UTF-8": ((3).to_bytes(8, "little") + b'"\xff"', "cannot be read as a safetensors file"),
    "a list": (header([]), "has to be a JSON object, it is list"),  # type: ignore[arg-type]
    "deep": ((1 << 17).to_bytes(8, "little") + b"[" * (1 << 17), "cannot be read as a safetensors file"),
    "huge digits": ((10_000).to_bytes(8, "little") + b"1" * 10_000, "cannot be read as a safetensors file"),
    "twice": ((33).to_bytes(8, "little") + b'{"one": 1, "two": 2, "one": 3   }', "'one' is there twice"),
    "no entry": (header({"a": 3}), "tensor 'a' cannot be read"),
    "no shape": (header({"a": {"dtype": "F32", "data_offsets": [0, 0]}}), "tensor 'a' cannot be read"),
    "three offsets": (header({"a": entry([1]) | {"data_offsets": [0, 4, 8]}}), "tensor 'a' cannot be read"),
    "a dtype nobody knows": (header({"a": entry([1], dtype="F3")}) + bytes(4), "cannot be read: .*F3"),
    "a true axis": (header({"a": entry([True])}) + bytes(4), "have to be whole numbers"),
    "a half axis": (header({"a": entry([0.5], last=2)}) + bytes(2), "have to be whole numbers"),
    "a negative axis": (header({"a": entry([-1, -1])}) + bytes(4), "have to be whole numbers"),
    "nine axes": (header({"a": entry([1] * 9)}) + bytes(4), "has 9 axes, at most 8"),
    "more than it has": (header({"a": entry([2], last=4)}) + bytes(4), r"\(2,\) takes 8 bytes, it has 4"),
    "overflowing": (header({"a": entry([1 << 62, 4], last=0)}), "takes 73786976294838206464 bytes, it has 0"),
    "cut short": (header({"a": entry([2])}) + bytes(7), r"end at byte \d+, the file at \d+"),
    "something behind": (header({"a": entry([2])}) + bytes(9), r"end at byte \d+, the file at \d+"),
    "a gap": (header({"a": entry([1], 4)}) + bytes(8), "tensor a begins at byte"),
    "an overlap": (header({"a": entry([2]), "b": entry([1], 4)}) + bytes(8), "tensor b begins at byte"),
    "the same bytes": (header({"a": entry([1]), "b": entry([1])}) + bytes(4), "tensor b begins at byte"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_safetensors_file(tmp_path: Path, name: str) -> None:
    data, words = BAD[name]
    (tmp_path / "odd").write_bytes(data)
    with pytest.raises(ModelError, match=rf"^odd: .*{words}"):
        read_header(tmp_path / "odd")


def test_a_header_too_long_to_be_one_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverhead.transformer.safetensors.HEADER_BYTES", 50)
    (tmp_path / "x").write_bytes(safetensors({"a": A}))
    with pytest.raises(ModelError, match=r"x: a header of \d+ bytes .*, at most 50 are read"):
        read_header(tmp_path / "x")


def test_a_tensor_of_another_kind_is_refused_when_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(header({"ids": entry([2], last=16, dtype="I64")}) + bytes(16))
    assert read_header(tmp_path / "x")["ids"].shape == (2,)
    with pytest.raises(ModelError, match="x: tensor ids holds I64, read are F64, F32, F16, BF16: save"):
        read(tmp_path / "x", "ids")


WHOLE = safetensors({"a": A, "b": B})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=9,
)
ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "BF16", "BOOL"]) | JSON,
        "shape": st.lists(st.integers(-1, 5), max_size=3) | JSON,
        "data_offsets": st.lists(st.integers(-1, 200), min_size=2, max_size=2) | JSON,
    }
)


def read_or_refuse(path: Path) -> None:
    """Anything but a `ModelError` would be a fault of ours."""
    with suppress(ModelError):
        for name, tensor in read_header(path).items():
            assert tensor.offset + tensor.n_bytes <= path.stat().st_size
            if min(tensor.shape, default=0):  # no array of a model is without numbers
                read_tensor(name, tensor, np.empty(tensor.shape, np.float32))


@given(
    st.integers(0, len(WHOLE)),
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=7),
)
@settings(deadline=None)
def test_a_broken_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, length: int, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(WHOLE)
    for at, byte in changes:
        data[at] = byte
    path = tmp_path_factory.getbasetemp() / "broken.safetensors"
    path.write_bytes(data[:length] if changes else data[: length // 2])
    read_or_refuse(path)


@given(JSON | st.dictionaries(st.text(max_size=5), ENTRY | JSON, max_size=4), st.binary(max_size=200))
@settings(deadline=None)
def test_any_header_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, entries: Any, data: bytes
) -> None:
    text = json.dumps(entries).encode()
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    read_or_refuse(path)
