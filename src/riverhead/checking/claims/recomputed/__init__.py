"""Attention recomputed from the inputs that a text gives, and what cannot be without recomputing."""
