"""What is found, as a reader, an editor or a machine takes it."""
