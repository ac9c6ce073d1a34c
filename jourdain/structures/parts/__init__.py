"""Elastic parts from elements: beams, trusses, solids, their sections and freedoms."""
