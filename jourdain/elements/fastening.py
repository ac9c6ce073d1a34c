"""A node of a deformable part fixed to a rigid body: Φ = φ + Σ Xᵢ dᵢ − x = 0, linear, so that its gradient is constant (Uhlar, eqs. 6.19–6.21)."""

from __future__ import annotations

from collections.abc import Sequence

from ..symbolic.vectors import Vector
from .element import Element, Symbols, Term


class NodeOnBody(Element):
    """A node held at a ``place`` of a body by three constraints (two in the plane)."""

    def __init__(self, dimension: int = 3) -> None:
        self.dimension = dimension
        self.blocks = {"body": dimension * (dimension + 1), "node": dimension}
        self.constants = {"place": dimension}

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        """One row for each direction."""
        read = s.vector if self.dimension == 3 else s.pair
        gap: Vector = read("body") - read("node")
        for k, x in enumerate(s.place):
            gap = gap + read("body", k + 1) * x
        return [(name, [e]) for name, e in zip("xyz"[: self.dimension], gap, strict=False)]


__all__ = ["NodeOnBody"]
