"""Inputs for given outputs by boundary-value problems and least squares over a whole course."""
