"""Designs: points in the space of variables, judged by criteria; optima and fronts."""
