"""Rules of attention, and somebody's implementation run against them."""
