"""Every arithmetic claim of a text, checked."""

from riverhead.checking.claims.checked import claims
from riverhead.checking.claims.claim import Claim, Truth

__all__ = ["Claim", "Truth", "claims"]
