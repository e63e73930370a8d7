"""The likely cause of a false number."""
