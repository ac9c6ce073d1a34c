"""From a model to named symbolic functions, one file for one formalism."""
