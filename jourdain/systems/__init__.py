"""The compiled form: what `compile()` returns, whatever the formulation, and how it runs."""
