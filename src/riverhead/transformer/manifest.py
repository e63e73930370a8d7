"""What a model's folder holds: a manifest of every file's bytes and sha256, written last, checked often."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from riverhead.transformer.arrivals import sha256_of
from riverhead.transformer.kept import GGUF, ORIGINAL
from riverhead.transformer.layout import SCHEMA

__all__ = ["MANIFEST", "Stored", "content_name", "digest_of", "read_stored", "write_manifest"]

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 2**20
BY_CONTENT = re.compile(r"(gguf|folder)-[0-9a-f]{16}")  # what `content_name` makes


@dataclass(frozen=True, slots=True)
class Stored:
    """A model's folder as it was found; ``problem`` is None when it can be used."""

    folder: Path
    source: str
    source_sha256: str
    created: str  # ISO 8601, UTC
    files: dict[str, tuple[int, str]]  # name: (bytes, sha256)
    problem: str | None

    @property
    def name(self) -> str:
        """The name the model goes by."""
        return self.folder.name

    @property
    def by_content(self) -> bool:
        """Whether it was opened by its path, and got its name from what is in it."""
        return BY_CONTENT.fullmatch(self.name) is not None

    @property
    def title(self) -> str:
        """What to call it: its name, or that of the file or folder it was opened by."""
        source = Path(self.source)
        if not self.by_content or not source.name:
            return self.name
        if source.suffix == ".safetensors":
            return source.parent.name or source.stem
        return source.stem if source.suffix == ".gguf" else source.name

    @property
    def n_bytes(self) -> int:
        """What the folder takes on disk, whatever the manifest says."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    @property
    def original(self) -> Path:
        """The file, or the folder of files, that the model was converted from."""
        return self.folder / (GGUF if (self.folder / GGUF).exists() else ORIGINAL)

    @property
    def original_sha256(self) -> str:
        """What `digest_of` gave for the original files when they came."""
        kept = {name: sha256 for name, (_, sha256) in self.files.items() if _is_original(name)}
        return digest_of(kept) if kept else ""

    def differences(self) -> list[str]:
        """Hash every file again; one line for each that is not what the manifest says."""
        found = [self.problem] if self.problem else []
        for name, (_, sha256) in self.files.items():
            file = self.folder / name
            if file.is_file() and (now := sha256_of(file)) != sha256:
                found.append(f"{name} has changed: its sha256 is {now}, it was {sha256}")
        return found


def content_name(kind: str, sha256: str) -> str:
    """Return the name of a model opened by its path: the same files, wherever they lie, have the same.

    >>> content_name("gguf", "0123456789abcdef" * 4)
    'gguf-0123456789abcdef'
    """
    return f"{kind}-{sha256[:16]}"


def digest_of(sha256s: Mapping[str, str]) -> str:
    """Return one SHA-256 for all the files of a model: a single file's own, or that of their sorted list."""
    if len(sha256s) == 1:
        return next(iter(sha256s.values()))
    lines = sorted(f"{sha256}  {Path(name).name}\n" for name, sha256 in sha256s.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _is_original(name: str) -> bool:
    return name == GGUF or name.startswith(f"{ORIGINAL}/")


def _inside(name: str) -> str:
    """The name of a file as it can only lie in the folder, whatever a manifest says."""
    own = Path(name).name
    return f"{ORIGINAL}/{own}" if Path(name).parent == Path(ORIGINAL) else own


def write_manifest(folder: Path, source: str, source_sha256: str) -> None:
    """Record every file in ``folder``, where it came from and when, in its manifest."""
    files = {
        file.relative_to(folder).as_posix(): {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    manifest = {
        "schema": SCHEMA,
        "source": source,
        "source_sha256": source_sha256,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False), encoding="utf-8")


def read_stored(folder: Path, pinned: Mapping[str, str] | None = None) -> Stored | None:
    """Return what is in ``folder``, or None without one; sizes are compared, hashes only by `differences`."""
    if not folder.is_dir():
        return None
    try:
        manifest = _load(folder / MANIFEST)
        files = {
            _inside(name): (int(file["bytes"]), str(file["sha256"]))
            for name, file in manifest["files"].items()
        }
        source, source_sha256, created = (
            str(manifest[key]) for key in ("source", "source_sha256", "created")
        )
        problem = _problem(folder, manifest["schema"], files, pinned or {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Stored(folder, "unknown", "", "", {}, f"{MANIFEST} cannot be read ({error!r})")
    return Stored(folder, source, source_sha256, created, files, problem)


def _load(file: Path) -> Any:
    with file.open("rb") as stream:
        return json.loads(stream.read(MAX_MANIFEST_BYTES))


def _problem(
    folder: Path, schema: object, files: dict[str, tuple[int, str]], pinned: Mapping[str, str]
) -> str | None:
    """Say what keeps the folder from being used, at the price of one stat a file."""
    if schema != SCHEMA:
        return f"it was converted by another version of riverhead ({schema}, this one reads {SCHEMA})"
    for name, sha256 in pinned.items():
        if files[name][1] != sha256:
            return f"{name} is another file than the one pinned"
    for name, (n_bytes, _) in files.items():
        file = folder / name
        if not file.is_file():
            return f"{name} is missing"
        if (found := file.stat().st_size) != n_bytes:
            return f"{name} has {found:,} bytes, it had {n_bytes:,}"
    return None
