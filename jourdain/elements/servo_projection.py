"""Servo constraints of under-actuated systems: reduction of the index by projection.

Inputs that do not accelerate the outputs b(q) = γ(t) directly (a crane's load hangs on a rope) reach them only through the motion of other
bodies; M v̇ = f − Gᵀλ − Bᵀu with b = γ(t) then has index 5.  Following W. Blajer & K. Kołodziejczyk (Multibody System Dynamics 11, 2004) the
balance is split by C = Db: in the directions D with C D = 0 it stays a differential equation, in those of C it becomes the condition

    C M⁻¹ (f − Gᵀλ − Bᵀu) + Ċ v = γ̈

without derivatives of v, which brings the index down to 3.  D need not be formed: Dᵀ r = 0 is r + Cᵀη = 0 with multipliers η, and
M⁻¹ (f − Gᵀλ − Bᵀu) = v̇ + M⁻¹Cᵀη needs the entries of M⁻¹ between the outputs' own coordinates only.  η vanishes along the solution; in a
run it is as small as the error of the scheme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..symbolic.derivatives import gradient, jvp
from ..symbolic.expr import ONE, ZERO, Expr, add, mul, symbol
from ..symbolic.graph import substitute
from ..symbolic.vectors import Vector
from .element import Coordinate, Element, Internal, Servo, Symbols, Term

#: Constant of a projected element: M⁻¹ between its coordinates, row by row.
INVERSE_MASS = "inverse_mass"


class Projected(Element):
    """An element whose servo constraints are met by projection; everything else of it stays as it is.

    Each servo row "x" becomes two: "x" with the input u as its multiplier and the condition on accelerations as its equation, and
    "x.projection" with η and the constraint itself.  Its constants are those of the element and ``inverse_mass``.

    >>> from .servo import OutputServo
    >>> chain = OutputServo({"first": 1, "second": 1}, lambda p, t, c: [p.second[0] - t**5], [("first", 0)])
    >>> Projected(chain).rows()
    ['input.1', 'input.1.projection']
    """

    def __init__(self, element: Element) -> None:
        self.element = element
        self.blocks, self.history, self.reduction, self.first_order = (
            element.blocks,
            element.history,
            element.reduction,
            element.first_order,
        )
        self.constants = {**element.constants, INVERSE_MASS: element.size**2}
        self.augments = element.augments

    @property
    def name(self) -> str:
        """Name of the element's own type."""
        return self.element.name

    @property
    def key(self) -> tuple[Any, ...]:
        """That of the element, projected."""
        return (Projected, self.element.key)

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """Conditions on accelerations with the inputs, then the constraints with the multipliers of the projection."""
        declared = list(self.element.servo(s))
        at1 = self._flat(s.at1)
        slopes = [gradient(v.constraint, at1) for v in declared]
        eta = [symbol(f"eta[{k}]", "state") for k in range(len(declared))]
        pushed = self._pushed(s, slopes, eta)
        motion: dict[Expr, Expr] = {**dict(zip(at1, self._flat(s.rate), strict=True)), s.t1: ONE}
        inputs, outputs = [], []
        for k, (v, slope) in enumerate(zip(declared, slopes, strict=True)):
            condition = jvp(jvp([v.constraint], motion), motion)[0]
            for c, a, p in zip(slope, self._flat(s.acceleration), pushed, strict=True):
                condition = add(condition, mul(c, add(a, p)))
            inputs.append(Servo(v.name, condition, v.row))
            outputs.append(Servo(f"{v.name}.projection", v.constraint, self._at_mid(s, slope), eta[k], works=False))
        return [*inputs, *outputs]

    def _flat(self, names: Any) -> list[Expr]:
        return [e for b in self.blocks for e in getattr(names, b)]

    def _pushed(self, s: Symbols, slopes: Sequence[Sequence[Expr]], eta: Sequence[Expr]) -> list[Expr]:
        """M⁻¹ Cᵀ η by coordinate."""
        n = self.size
        entries = getattr(s, INVERSE_MASS)
        inverse = entries if isinstance(entries, tuple) else (entries,)
        force = [ZERO] * n
        for slope, e in zip(slopes, eta, strict=True):
            force = [add(f, mul(c, e)) for f, c in zip(force, slope, strict=True)]
        found = [ZERO] * n
        for i in range(n):
            for j in range(n):
                if force[j] is not ZERO:
                    found[i] = add(found[i], mul(inverse[i * n + j], force[j]))
        return found

    def _at_mid(self, s: Symbols, slope: Sequence[Expr]) -> dict[Coordinate, Expr]:
        """C by coordinate, at the point at which multipliers act."""
        moved = substitute(list(slope), {**dict(zip(self._flat(s.at1), self._flat(s.mid), strict=True)), s.t1: s.t})
        return {c: e for c, e in zip(self.coordinates, moved, strict=True) if e is not ZERO}

    # -- the element's own ---------------------------------------------------------------------------------------------

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """The element's mass."""
        return self.element.mass(s)

    def potential(self, s: Symbols) -> Sequence[Term]:
        """The element's potential."""
        return self.element.potential(s)

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        """The element's holonomic constraints."""
        return self.element.constraints(s)

    def rolling(self, s: Symbols) -> Sequence[tuple[str, Mapping[Coordinate, Expr]]]:
        """The element's nonholonomic rows."""
        return self.element.rolling(s)

    def internal(self, s: Symbols) -> Internal | None:
        """The element's internal force."""
        return self.element.internal(s)

    def external(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """The element's other forces."""
        return self.element.external(s)

    def rates(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """The element's rates of first-order coordinates."""
        return self.element.rates(s)

    def momenta(self, s: Symbols) -> tuple[Vector, Vector] | None:
        """The element's momenta."""
        return self.element.momenta(s)

    def audit(self, s: Symbols) -> Sequence[tuple[str, Expr]]:
        """The element's quantities that must vanish."""
        return self.element.audit(s)

    def initial_history(self, q: Mapping[str, Any], constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """The element's internal variables at the start."""
        return self.element.initial_history(q, constants)


__all__ = ["INVERSE_MASS", "Projected"]
