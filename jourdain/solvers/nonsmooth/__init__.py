"""Motion with set-valued laws: contacts as rows of velocities, their Delassus operator, and time-stepping after Moreau."""
