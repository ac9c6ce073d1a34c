"""Gradients of analyses: exact derivatives of criteria by parameters, initial values and constants."""
