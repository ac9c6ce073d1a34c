"""Systems in joint coordinates: recursive and semi-recursive, loops projected, reduced or in closed form."""
