"""Systems in absolute coordinates (Cartesian, natural): M x'' = Q + J^T lambda with constraints."""
