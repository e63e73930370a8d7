"""A calculation done by hand, graded cell by cell: what is right, what follows, which mistake was made."""
