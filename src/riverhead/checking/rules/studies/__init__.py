"""What a function is asked, in this order; each study knows the mistakes it can tell apart."""

from __future__ import annotations

from riverhead.checking.rules.studies.alibi import ALIBI_STUDIES
from riverhead.checking.rules.studies.cache import CACHE_STUDIES
from riverhead.checking.rules.studies.conduct import CONDUCT, REPEAT
from riverhead.checking.rules.studies.empty import EMPTY
from riverhead.checking.rules.studies.given import GIVEN
from riverhead.checking.rules.studies.gradient import GRADIENT
from riverhead.checking.rules.studies.hidden import HIDDEN
from riverhead.checking.rules.studies.lengths import LENGTHS
from riverhead.checking.rules.studies.low import FILLS, LOW
from riverhead.checking.rules.studies.masks import MASKS
from riverhead.checking.rules.studies.memory import MEMORY
from riverhead.checking.rules.studies.module import MODULE
from riverhead.checking.rules.studies.parts import MERGE_STUDIES, POSITION_STUDIES
from riverhead.checking.rules.studies.place import PLACE
from riverhead.checking.rules.studies.plain import PLAIN
from riverhead.checking.rules.studies.precision import LARGE, PRECISION
from riverhead.checking.rules.studies.returned import RETURNED
from riverhead.checking.rules.studies.rope import ROPE_STUDIES
from riverhead.checking.rules.studies.together import IN_TIME, TOGETHER
from riverhead.checking.rules.studies.window import WINDOW
from riverhead.checking.rules.trial import Study

__all__ = ["STUDIES"]

STUDIES: dict[str, tuple[Study, ...]] = {  # by kind of implementation
    "attention": (
        REPEAT,
        PLAIN,
        *TOGETHER,
        LARGE,
        *MASKS,
        LOW,
        *FILLS,
        *EMPTY,
        *HIDDEN,
        *PLACE,
        *WINDOW,
        IN_TIME,
        *GIVEN,
        *PRECISION,
        *CONDUCT,
        *LENGTHS,
        *RETURNED,
        *GRADIENT,
        MEMORY,
    ),
    "heads": MODULE,
    "rope": ROPE_STUDIES,
    "alibi": ALIBI_STUDIES,
    "cache": CACHE_STUDIES,
    "positions": POSITION_STUDIES,
    "merge": MERGE_STUDIES,
}
