"""Gradients along Moreau's steps."""
