"""What a module of several heads is asked, in this order."""

from __future__ import annotations

from riverhead.checking.rules.studies.module_conduct import BATCH, CONDUCT, REPEAT
from riverhead.checking.rules.studies.module_masks import CONVERTED
from riverhead.checking.rules.studies.module_values import VALUES
from riverhead.checking.rules.trial import Study

__all__ = ["MODULE"]

MODULE: tuple[Study, ...] = (REPEAT, *VALUES, BATCH, *CONVERTED, *CONDUCT)
