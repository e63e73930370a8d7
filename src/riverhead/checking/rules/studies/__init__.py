"""What a function is asked, in this order; each study knows the mistakes it can tell apart."""

from __future__ import annotations

from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.trial import Study

__all__ = ["STUDIES"]

STUDIES: dict[str, tuple[Study, ...]] = {  # by kind of implementation
    "attention": (PLAIN,),
}
