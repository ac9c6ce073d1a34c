"""Derivatives of discrete runs: changes carried along the steps of a method, and weights walked back through them, in native code."""
