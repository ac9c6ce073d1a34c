"""Optimal control: motions and inputs that are best, by direct collocation."""
