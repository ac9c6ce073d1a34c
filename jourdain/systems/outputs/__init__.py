"""What a run gave: states as named channels, reactions, energy, contacts."""
