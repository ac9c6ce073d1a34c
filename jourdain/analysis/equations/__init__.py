"""Equations at an instant, as the verbs ask for them."""
