"""A tutor: the engine and the lessons answer; a model may talk, and its sums are checked."""
