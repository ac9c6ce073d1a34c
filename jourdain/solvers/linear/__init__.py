"""Linear algebra in native code: dense, sparse, orderings, redundant rows."""
