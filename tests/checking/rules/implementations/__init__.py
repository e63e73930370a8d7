"""Attention as people write it: with one classic mistake each, and right in many forms."""
