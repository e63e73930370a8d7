"""What a learner has done, kept on their own machine, and what to practise when."""

from riverhead.learning.progress.overview import LessonState, MistakeCount, Overview, SkillState
from riverhead.learning.progress.store import Progress

__all__ = ["LessonState", "MistakeCount", "Overview", "Progress", "SkillState"]
