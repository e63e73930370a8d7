"""A report in the formats that people and machines read."""
