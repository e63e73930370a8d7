"""Every arithmetic claim of a text, checked."""
