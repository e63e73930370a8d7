"""Learning attention by hand: lessons, exercises, worksheets, progress and a tutor."""
