"""One module for each kind of exercise, or family of kinds."""
