"""Model files: data in TOML, read, checked, written and edited; what they ask for."""
