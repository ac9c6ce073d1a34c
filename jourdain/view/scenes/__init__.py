"""Scenes of models, motions, structures: what is drawn for which body."""
