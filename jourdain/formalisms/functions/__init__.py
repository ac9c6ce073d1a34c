"""Named functions of a model, built from the formalisms for compilation."""
