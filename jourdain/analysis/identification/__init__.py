"""Parameters and starts from measurements: records, runs against them, and what the data can tell."""
