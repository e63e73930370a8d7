"""What a model's folder holds: a manifest of every file's bytes and sha256, written last, checked often."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from riverhead.transformer.arrivals import sha256_of
from riverhead.transformer.layout import SCHEMA

__all__ = ["GGUF", "MANIFEST", "Stored", "read_stored", "write_manifest"]

GGUF = "model.gguf"
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 2**20


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
    def n_bytes(self) -> int:
        """What the folder takes on disk, whatever the manifest says."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    @property
    def gguf_sha256(self) -> str:
        """The sha256 of the original model file, as it was when it came."""
        return self.files[GGUF][1] if GGUF in self.files else ""

    def differences(self) -> list[str]:
        """Hash every file again; one line for each that is not what the manifest says."""
        found = [self.problem] if self.problem else []
        for name, (_, sha256) in self.files.items():
            file = self.folder / name
            if file.is_file() and (now := sha256_of(file)) != sha256:
                found.append(f"{name} has changed: its sha256 is {now}, it was {sha256}")
        return found


def write_manifest(folder: Path, source: str, source_sha256: str) -> None:
    """Record every file in ``folder``, where it came from and when, in its manifest."""
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        for file in sorted(folder.iterdir())
    }
    manifest = {
        "schema": SCHEMA,
        "source": source,
        "source_sha256": source_sha256,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": files,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False), encoding="utf-8")


def read_stored(folder: Path, pinned_sha256: str | None = None) -> Stored | None:
    """Return what is in ``folder``, or None without one; sizes are compared, hashes only by `differences`."""
    if not folder.is_dir():
        return None
    try:
        manifest = _load(folder / MANIFEST)
        files = {
            Path(name).name: (int(file["bytes"]), str(file["sha256"]))
            for name, file in manifest["files"].items()
        }
        source, source_sha256, created = (
            str(manifest[key]) for key in ("source", "source_sha256", "created")
        )
        problem = _problem(folder, manifest["schema"], files, pinned_sha256)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return Stored(folder, "unknown", "", "", {}, f"{MANIFEST} cannot be read ({error!r})")
    return Stored(folder, source, source_sha256, created, files, problem)


def _load(file: Path) -> Any:
    with file.open("rb") as stream:
        return json.loads(stream.read(MAX_MANIFEST_BYTES))


def _problem(
    folder: Path, schema: object, files: dict[str, tuple[int, str]], pinned_sha256: str | None
) -> str | None:
    """Say what keeps the folder from being used, at the price of one stat a file."""
    if schema != SCHEMA:
        return f"it was converted by another version of riverhead ({schema}, this one reads {SCHEMA})"
    if pinned_sha256 not in (None, files[GGUF][1]):
        return f"{GGUF} is another file than the one pinned"
    for name, (n_bytes, _) in files.items():
        file = folder / name
        if not file.is_file():
            return f"{name} is missing"
        if (found := file.stat().st_size) != n_bytes:
            return f"{name} has {found:,} bytes, it had {n_bytes:,}"
    return None
