"""What the user asks of a compiled system, one verb a file."""
