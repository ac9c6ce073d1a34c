"""Time steps of assembled systems: residual, Newton, factorisation, events, joint coordinates."""
