"""Bodies that bend, as a model describes them."""
