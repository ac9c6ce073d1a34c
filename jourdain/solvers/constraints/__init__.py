"""Constrained systems in native code: elimination, projection, reduction to independent coordinates."""
