"""Formulations in other coordinates: Cartesian, natural, directors, semi-recursive."""
