"""What is written, read: the signs of a text, its numerals, its expressions."""
