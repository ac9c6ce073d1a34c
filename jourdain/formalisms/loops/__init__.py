"""Closed loops: closure equations, their rates, closed forms and elimination."""
