"""The equations of an element at an instant: what constraints ask of positions and rates, accelerations, stiffness and damping."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..symbolic.derivatives import jvp, sparse_jacobian
from ..symbolic.expr import HALF, ONE, ZERO, Expr, add, as_expr, mul, sub, symbol
from ..symbolic.function import Argument, Result, SymbolicFunction
from ..symbolic.graph import substitute
from .discrete.stepping import ElementStep, dot
from .element import Element

_KNOWN: dict[Any, ElementInstant] = {}


class ElementInstant(ElementStep):
    """An element with its forces at the end of a step that is next to nothing, and no block eliminated."""

    def __init__(self, element: Element) -> None:
        super().__init__(element, "end")

    @property
    def spans(self) -> bool:
        """Whether forces or rows belong to the middle of a step."""
        return self.internal is not None or bool(self.rolling) or bool(self.servo)

    @cached_property
    def row_entries(self) -> dict[tuple[int, int], Expr]:
        """Structurally non-zero entries (row, coordinate) of G."""
        return {(k, i): e for k, (row, _) in enumerate(self.rate_rows) for i, e in enumerate(row) if e is not ZERO}

    def rows(self) -> SymbolicFunction:
        """Φ (nothing for rolling rows), what is prescribed of G q̇, entries of G, and ż of first-order coordinates, one after the other."""
        first = len(self.holonomic)
        values = self.row_residuals
        values = [*values[:first], *([ZERO] * len(self.rolling)), *values[first + len(self.rolling) :]]
        rests = [rest for _, rest in self.rate_rows]
        return self._function("rows", ("rows", [*values, *rests, *self.row_entries.values(), *self.first_order_rates.values()]))

    @cached_property
    def acceleration(self) -> tuple[list[Expr], dict[tuple[int, int], Expr]]:
        """M a = f − Gᵀλ, G a = −Ġv at (q₁, v in the excess): residual at a = 0, and entries of the matrix by local unknowns.

        Of first-order coordinates ``a`` is the rate ż.
        """
        p, s, n = self.packing, self.s, self.element.size
        force = [add(a, b) for a, b in zip(self.slopes(self.potential, "potential", "end"), self.other_forces, strict=True)]
        along = dict(zip(p.q1, p.excess, strict=True))
        rows: list[tuple[list[Expr], Expr]] = []
        values = self._values_at(p.q1, self.holonomic)
        for (row, _), value in zip(self.rate_rows[: len(values)], values, strict=True):
            rows.append((row, jvp(jvp([value], along), along)[0]))
        for row, _ in self.rate_rows[len(values) : len(values) + len(self.rolling)]:
            rows.append((row, dot(jvp(row, along), list(p.excess))))
        time = {**dict(zip(self._flat(s.at1), p.excess, strict=True)), s.t1: ONE}
        for servo, (row, _) in zip(self.servo, self.rate_rows[len(values) + len(self.rolling) :], strict=True):
            rows.append((row, self._put(jvp(jvp([servo.constraint], time), time))[0]))
        entries: dict[tuple[int, int], Expr] = {(self.index[b, i], self.index[c, j]): m for (b, i, c, j), m in self.masses.items()}
        for i, f in self.first_order_rates.items():
            entries[i, i], force[i] = ONE, mul(as_expr(-1.0), f)
        for k, ((row, _), acting) in enumerate(zip(rows, self.acting_rows, strict=True)):
            entries |= {(i, n + k): e for i, e in enumerate(acting) if e is not ZERO}
            entries |= {(n + k, i): e for i, e in enumerate(row) if e is not ZERO}
        return force + [rest for _, rest in rows], dict(sorted(entries.items()))

    @cached_property
    def _ends(self) -> dict[Expr, Expr]:
        """Both ends of the step that is next to nothing, by the coordinates (q₁) and rates (offset) of the instant."""
        p = self.packing
        half = mul(HALF, p.scalars[0])
        ends: dict[Expr, Expr] = {}
        for a, b, r in zip(p.q0, p.q1, p.offset, strict=True):
            ends |= {a: sub(b, mul(half, r)), b: add(b, mul(half, r))} if self.spans else {a: sub(b, mul(p.scalars[0], r))}
        return ends

    @cached_property
    def forces(self) -> list[Expr]:
        """∇V + F − Q + Ḡᵀλ, or −ż of first-order coordinates, by coordinates (q₁), rates (offset) and multipliers (with κ = 1)."""
        residual = list(self.residual_expressions[: self.element.size])
        for i, f in self.first_order_rates.items():
            residual[i] = sub(ZERO, f)
        return substitute(residual, self._ends)

    @cached_property
    def stiffness_and_damping(self) -> tuple[dict[tuple[int, int], Expr], dict[tuple[int, int], Expr]]:
        """Derivatives of the forces by the coordinates and by their rates, the start of the step moving with its end."""
        return sparse_jacobian(self.forces, self.packing.q1), sparse_jacobian(self.forces, self.packing.offset)

    @cached_property
    def acting_entries(self) -> dict[tuple[int, int], Expr]:
        """Structurally non-zero entries (row, coordinate) of Ḡ, by which multipliers act."""
        found = {(k, i): e for k, row in enumerate(self.acting_rows) for i, e in enumerate(row) if e is not ZERO}
        return dict(zip(found, substitute(list(found.values()), self._ends), strict=True))

    def along_motion(self) -> tuple[SymbolicFunction, SymbolicFunction | None]:
        """Forces without inertia with entries of their derivatives and of Ḡ; Φ with entries of G (where there are rows).

        One table of numbers is read: those of the packed input without history, then the constants of the instance.
        """
        p, s = self.packing, self.s
        still = substitute(self.forces, dict.fromkeys(p.excess, ZERO))
        found = [still, *(list(e.values()) for e in (*self.stiffness_and_damping, self.acting_entries))]
        at_rest = dict(zip(p.q0, p.q1, strict=True))
        rows = [substitute(list(part), at_rest) for part in (self.row_residuals, self.row_entries.values())]
        values = (getattr(s, c) for c in self.element.constants)
        listed = [e for v in values for e in (v if isinstance(v, tuple) else (v,))]
        kept = [symbol(f"c[{k}]", "position") for k in range(len(listed))]
        x = Argument("x", (*p.scalars, *p.q1, *p.offset, *p.multipliers, *kept))

        def made(name: str, parts: list[list[Expr]]) -> SymbolicFunction:
            flat = substitute([e for part in parts for e in part], dict(zip(listed, kept, strict=True)))
            return SymbolicFunction(name, (x,), (Result("found", tuple(flat), (len(flat),)),), f"{self.element.name}: {name}")

        return made("forces along", found), made("rows along", rows) if self.row_names else None


def at_instant(element: Element) -> ElementInstant:
    """The equations of an element type at an instant, derived once in a process."""
    key = element.key
    if key not in _KNOWN:
        _KNOWN[key] = ElementInstant(element)
    return _KNOWN[key]


__all__ = ["ElementInstant", "at_instant"]
