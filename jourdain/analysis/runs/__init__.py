"""How runs are gone through: as one, in pieces, or again with what an earlier one has made ready."""
