"""Every arithmetic claim of a text, checked."""

from riverhead.checking.claims.claim import Claim, Truth
from riverhead.checking.claims.checked import claims

__all__ = ["Claim", "Truth", "claims"]
