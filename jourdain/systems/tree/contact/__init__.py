"""Rigid contacts of trees: rows, laws, steps and events."""
