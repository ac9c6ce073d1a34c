"""Who touches whom, by which law: what a model says of contacts."""
