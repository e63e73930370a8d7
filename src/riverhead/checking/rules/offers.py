"""What a function may offer, in words: a rule that needs what it does not is not asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

__all__ = ["lacking"]

WORDS: Mapping[str, str] = {  # those that are not said as they are written
    "always_causal": "causal order",
    "batch": "samples (B, T, d)",
    "causal": "causal order",
    "cross": "keys of another number than the queries",
    "expanded": "views of arrays",
    "grouped": "kv heads shared by query heads",
    "heads": "heads (B, H, T, d)",
    "inputs": "look at its arguments afterwards",
    "key_mask": "padding mask",
    "peak_bytes": "measure of its memory",
    "reversed": "views of arrays",
    "softcap": "soft-cap",
    "strided": "views of arrays",
}


def lacking(needs: Iterable[str], offers: Collection[str]) -> str:
    """Return what of some needs is not offered, in words; empty where nothing lacks. ``a|b`` is one of two.

    >>> lacking(["mask", "causal|always_causal", "mask|key_mask"], {"causal"})
    'offers no mask, no mask or padding mask'
    """
    lacks = [need.split("|") for need in needs]
    said = [
        " or ".join(dict.fromkeys(WORDS.get(each, each) for each in one_of))
        for one_of in lacks
        if not any(each in offers for each in one_of)
    ]
    return f"offers no {', no '.join(dict.fromkeys(said))}" if said else ""
