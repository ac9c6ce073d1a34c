"""From energies to steps: discrete derivatives, schemes, what a step of an element asks."""
