"""Complementarity problems of contact: unilateral, bilateral and frictional laws over the Delassus operator, solved in native code."""
