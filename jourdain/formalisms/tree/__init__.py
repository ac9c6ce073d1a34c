"""Dynamics of a tree of links: kinematics, recursions, energies, reactions, derivatives."""
