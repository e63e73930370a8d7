"""The header check: whatever a file claims, one ModelError, at once, in little memory."""

from __future__ import annotations

import gc
import struct
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llamas import Sizes, random_tensors, write_llama

from riverhead.errors import ModelError
from riverhead.transformer.convert import convert
from riverhead.transformer.gguf import STRINGS, read_header, read_tensor

HUGE = 1 << 60


def head(n_tensors: int = 0, n_fields: int = 0, version: int = 3, magic: bytes = b"GGUF") -> bytes:
    return magic + struct.pack("<IQQ", version, n_tensors, n_fields)


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def field(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(name: bytes, dims: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


HOSTILE = {
    "empty": (b"", "cannot be read as a GGUF file"),
    "no magic": (head(magic=b"GGML"), "starts with b'GGML'"),
    "big endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 50331648"),
    "version 1": (head(version=1), "version 1, read are little-endian"),
    "cut in the counts": (head()[:15], "tensor count at byte 8 takes 8 bytes, the file ends at 15"),
    "2^60 tensors": (head(n_tensors=HUGE), f"tensor count is {HUGE}, at most 65536"),
    "2^63 fields": (head(n_fields=1 << 63), "metadata count is 9223372036854775808, at most 65536"),
    "fields not there": (head(n_fields=3), "metadata key at byte 24 takes 8 bytes"),
    "2^60 bytes of key": (head(n_fields=1) + struct.pack("<Q", HUGE), f"takes {HUGE} bytes, the file ends"),
    "key not UTF-8": (head(n_fields=1) + text(b"\xff"), "metadata key at byte 32 is not UTF-8"),
    "unknown value type": (head(n_fields=1) + field(b"a", 13, b""), "a has value type 13"),
    "2^60 numbers": (
        head(n_fields=1) + field(b"a", 9, struct.pack("<IQ", 4, HUGE)),
        f"takes {4 * HUGE} bytes",
    ),
    "2^60 strings": (head(n_fields=1) + field(b"a", 9, struct.pack("<IQ", 8, HUGE)), f"a length is {HUGE}"),
    "many strings": (
        head(n_fields=1) + field(b"a", 9, struct.pack("<IQ", 8, STRINGS + 1)) + bytes(8 * STRINGS + 8),
        f"a length is {STRINGS + 1}, at most {STRINGS}",
    ),
    "nested array": (
        head(n_fields=1) + field(b"a", 9, struct.pack("<IQIQ", 9, 1, 9, HUGE)),
        "a has value type 9, .* no array inside an array",
    ),
    "key twice": (head(n_fields=2) + 2 * field(b"a", 0, b"\0"), "a is there twice"),
    "2^60 elements": (head(1) + tensor(b"t", (HUGE,)), "the tensors take 4611686018427387904 bytes"),
    "2^120 elements": (head(1) + tensor(b"t", (HUGE, HUGE)), "cut short or wrong"),
    "no elements": (head(1) + tensor(b"t", (0, 4)), r"shape \(4, 0\)"),
    "no dimensions": (head(1) + tensor(b"t", ()), "has 0 dimensions"),
    "2^32 dimensions": (head(1) + text(b"t") + struct.pack("<I", 2**32 - 1), "has 4294967295 dimensions"),
    "unknown format": (head(1) + tensor(b"t", (32,), kind=99), "number format 99"),
    "integers": (head(1) + tensor(b"t", (32,), kind=26), "number format 26, which cannot be dequantised"),
    "half a block": (head(1) + tensor(b"t", (33, 2), kind=3), "Q4_1 takes rows of a multiple of 32"),
    "offset 2^63": (
        head(1) + tensor(b"t", (1,), offset=1 << 63) + bytes(99),
        "from byte 9223372036854775872",
    ),
    "tensors on top of each other": (
        head(9) + b"".join(tensor(b"%d" % i, (50,)) for i in range(9)) + bytes(300),
        "the tensors take 1800 bytes, the file has 621",
    ),
    "tensor twice": (head(2) + 2 * tensor(b"t", (1,)) + bytes(99), "t is there twice"),
    "alignment 0": (head(n_fields=1) + field(b"general.alignment", 4, bytes(4)), "a power of two"),
    "alignment in words": (head(n_fields=1) + field(b"general.alignment", 8, text(b"x")), "a power of two"),
}


def refused(path: Path, words: str) -> None:
    """One ModelError, within a second and 64 MB: thousands of times what any of these needs."""
    gc.collect()
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(ModelError, match=words) as error:
            read_header(path)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 300
        assert time.process_time() - start < 1
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("data", "words"), HOSTILE.values(), ids=HOSTILE)
def test_absurd_claims_are_refused(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "hostile.gguf").write_bytes(data)
    refused(tmp_path / "hostile.gguf", words)


def test_a_header_larger_than_any_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "long.gguf").open("wb") as file:
        file.write(head(n_fields=1) + field(b"a", 8, struct.pack("<Q", 1 << 30)))
        file.truncate(1 << 31)  # sparse: 2 GB that take no room
    refused(tmp_path / "long.gguf", "a header may end at 67108864")


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_header(tmp_path)
    with pytest.raises(ModelError, match="cannot be read"):
        read_header(tmp_path / "nothing.gguf")


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_cut_anywhere_is_refused(llama_file: Path, tmp_path: Path, data: st.DataObject) -> None:
    whole = llama_file.read_bytes()
    n_padding = gguf.GGUF_DEFAULT_ALIGNMENT  # behind the last tensor, and nothing of it
    cut = data.draw(st.integers(0, len(whole) - n_padding), label="cut")
    (tmp_path / "cut.gguf").write_bytes(whole[:cut])
    with pytest.raises(ModelError):
        convert(tmp_path / "cut.gguf", tmp_path / "model")
    assert not (tmp_path / "model").exists()


@given(data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_header_is_read_or_refused(llama_file: Path, tmp_path: Path, data: st.DataObject) -> None:
    damaged = bytearray(llama_file.read_bytes())
    header_bytes = min(t.offset for t in read_header(llama_file).tensors.values())
    for at in data.draw(st.lists(st.integers(0, header_bytes - 1), min_size=1, max_size=4), label="at"):
        damaged[at] = data.draw(st.sampled_from([0, 1, 8, 9, 127, 128, 255]), label="byte")
    (tmp_path / "damaged.gguf").write_bytes(damaged)
    with suppress(ModelError):  # anything else would be a fault of ours
        convert(tmp_path / "damaged.gguf", tmp_path / "model")


def test_the_header_is_what_the_gguf_package_reads(llama_file: Path) -> None:
    """GGUFReader, which trusts its file, is the oracle for one that can be trusted."""
    header, reader = read_header(llama_file), gguf.GGUFReader(llama_file)
    fields = {name: f.contents() for name, f in reader.fields.items() if not name.startswith("GGUF.")}
    assert header.metadata.keys() == fields.keys()
    for name, value in header.metadata.items():
        assert (value.tolist() if isinstance(value, np.ndarray) else value) == fields[name], name
    assert header.tensors.keys() == {t.name for t in reader.tensors}
    for t in reader.tensors:
        out = np.empty(t.data.shape, np.float32)
        read_tensor(header, header.tensors[t.name], out.reshape(-1, out.shape[-1]))
        np.testing.assert_array_equal(out, t.data)


def test_dequantising_in_steps_is_dequantising(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = Sizes(d_model=64)
    tensors = random_tensors(sizes)
    kinds = {"token_embd": gguf.GGMLQuantizationType.Q4_1, "blk.0.attn_q": gguf.GGMLQuantizationType.F16}
    header = read_header(write_llama(tmp_path / "quantised.gguf", tensors, sizes, kinds=kinds))
    monkeypatch.setattr("riverhead.transformer.gguf.CHUNK_BYTES", 4 * 64 * 100)  # 263 rows: 100, 100, 63
    for name, kind in kinds.items():
        out = np.empty(tensors[name].shape, np.float32)
        read_tensor(header, header.tensors[f"{name}.weight"], out)
        np.testing.assert_array_equal(out, gguf.dequantize(gguf.quantize(tensors[name], kind), kind))


def test_a_damaged_scale_is_refused(tmp_path: Path) -> None:
    sizes = Sizes(d_model=64)
    kinds = {"token_embd": gguf.GGMLQuantizationType.Q4_1}
    path = write_llama(tmp_path / "scale.gguf", random_tensors(sizes), sizes, kinds=kinds)
    damaged = bytearray(path.read_bytes())
    at = read_header(path).tensors["token_embd.weight"].offset
    damaged[at : at + 4] = b"\xff\x7f\xff\x7f"  # the first block's scale and least value: both NaN
    path.write_bytes(damaged)
    with pytest.raises(ModelError, match=r"tensor token_embd.weight holds NaN or infinity"):
        convert(path, tmp_path / "model")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, sizes: Sizes, value: float) -> None:
    tensors = random_tensors(sizes)
    tensors["blk.1.ffn_up"][3, 5] = value
    write_llama(tmp_path / "nan.gguf", tensors, sizes)
    with pytest.raises(ModelError, match=r"tensor blk.1.ffn_up.weight holds NaN or infinity"):
        convert(tmp_path / "nan.gguf", tmp_path / "model")
    assert not (tmp_path / "model" / "model.json").exists()
