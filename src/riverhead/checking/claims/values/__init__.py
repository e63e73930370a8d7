"""What an expression is worth: exact numbers, floats, and all that rounding leaves open."""
