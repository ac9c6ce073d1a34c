"""Elements made from a model's own expressions: closures, equations, potentials and laws that no ready element type covers.

A term of degree ≤ 2 in the coordinates has the mid-point gradient as its discrete gradient; any other gets one by the rules of
:mod:`.divided_difference`, or by Gonzalez' formula when it has branches.  Both keep the energy exactly.  Terms that depend on the relative
pose of bodies are first written in the invariants of rigid motions (:mod:`.relative_pose`), which keeps the momenta as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..symbolic.derivatives import gradient, sparse_jacobian
from ..symbolic.expr import KINDS, ZERO, Expr, add, neg
from ..symbolic.graph import free_symbols, substitute
from .carriers import Carrier
from .discrete.discrete_gradient import degree, gonzalez
from .discrete.divided_difference import discrete_gradient_by_rules
from .element import Composite, Coordinate, Element, Names, Servo, Symbols, Term
from .pairs import Pair, Rows, numbers
from .relative_pose import relative


@dataclass(frozen=True)
class Layout:
    """Where a model's coordinates stand in an assembled system: for each block its coordinates x with their rates, and the time.

    ``states`` names the blocks of first order: the user's states, without rates.
    """

    blocks: tuple[tuple[str, tuple[Expr, ...], tuple[Expr, ...]], ...]
    time: Expr
    states: frozenset[str] = frozenset()

    def used(self, expressions: Sequence[Expr], also: Sequence[Expr] = ()) -> tuple[tuple[str, tuple[Expr, ...], tuple[Expr, ...]], ...]:
        """The blocks that some expressions (and further coordinates) speak of."""
        free = {e.id for e in free_symbols(list(expressions))} | {e.id for e in also}
        return tuple(b for b in self.blocks if any(e.id in free for e in (*b[1], *b[2])))


class OfModel(Element):
    """Base: ``expressions`` of a model's coordinates, rates and time, attached to the blocks they speak of.

    ``attached`` says which blocks of the layout its blocks are, by their names.
    """

    def __init__(self, layout: Layout, expressions: Sequence[Expr], also: Sequence[Expr] = ()) -> None:
        used = layout.used(expressions, also)
        self.expressions = tuple(expressions)
        self._used, self._time = used, layout.time
        self.blocks = {f"c{k}": len(x) for k, (_, x, _) in enumerate(used)}
        self.first_order = tuple(f"c{k}" for k, (name, _, _) in enumerate(used) if name in layout.states)
        values = [e for e in free_symbols(list(expressions)) if e.deps & KINDS["parameter"]]
        #: Parameters of the model among the expressions: constants of the element by other names.
        self.parameters = {f"p{k}": e for k, e in enumerate(values)}
        self.constants = dict.fromkeys(self.parameters, 1)
        self._places = {e: (f"c{k}", i) for k, (_, x, _) in enumerate(used) for i, e in enumerate(x)}
        self._rates = {e: (f"c{k}", i) for k, (_, _, v) in enumerate(used) for i, e in enumerate(v)}

    @property
    def key(self) -> tuple[Any, ...]:
        """Expressions and options, and which of the model's coordinates stand in which block."""
        return (*super().key, tuple(x for _, x, _ in self._used))

    @property
    def attached(self) -> dict[str, str]:
        """Names of the system's coordinates by block."""
        return {f"c{k}": name for k, (name, _, _) in enumerate(self._used)}

    def written(self, expressions: Sequence[Expr], point: Names, t: Expr, rate: Names | None = None) -> list[Expr]:
        """Expressions with the coordinates of a point (and rates) and a time."""
        known: dict[Expr, Expr] = {e: getattr(point, b)[i] for e, (b, i) in self._places.items()}
        if rate is not None:
            known |= {e: getattr(rate, b)[i] for e, (b, i) in self._rates.items()}
        return substitute(list(expressions), {**known, self._time: t})

    def term(self, e: Expr, s: Symbols) -> Term:
        """An expression as a term with an exact discrete gradient."""
        x = tuple(getattr(s, b)[i] for b, i in self.coordinates)
        (written,) = self.written([e], s, s.t)
        if degree(written, x) <= 2:
            return written
        free = {f.id for f in free_symbols([written])}
        needed = tuple(c for c in x if c.id in free)
        bodies = [point for point in (getattr(s, b) for b, n in self.blocks.items() if n == 12) if any(c.id in free for c in point)]
        within = {c.id for point in bodies for c in point}
        found = relative(written, bodies, [c for c in needed if c.id not in within])
        expression, variables, invariants = (found.expression, found.symbols, found.invariants) if found else (written, needed, needed)

        def value(*point: Expr) -> Expr:
            return substitute([expression], dict(zip(variables, point, strict=True)))[0]

        def by_rules(before: Sequence[Expr], after: Sequence[Expr]) -> Sequence[Expr]:
            try:
                return discrete_gradient_by_rules(expression, variables, before, after)
            except ValueError:  # branches (contact, stops) have no rules for several variables
                return gonzalez(expression, variables, before, after)

        return Composite(value, invariants, gradient=by_rules)


class ModelRows(OfModel):
    """Holonomic constraints given as expressions of the coordinates."""

    def __init__(self, layout: Layout, names: Sequence[str], expressions: Sequence[Expr]) -> None:
        super().__init__(layout, expressions)
        self.names = tuple(names)

    def constraints(self, s: Symbols) -> Rows:
        """One row for each expression."""
        return [(name, (self.term(e, s),)) for name, e in zip(self.names, self.expressions, strict=True)]


class ModelDrive(OfModel):
    """Constraints that depend on time, met at the end of every step by forces along their mid-point gradients."""

    def __init__(self, layout: Layout, names: Sequence[str], expressions: Sequence[Expr]) -> None:
        super().__init__(layout, expressions)
        self.names = tuple(names)

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """One row for each expression."""
        found = []
        for name, e in zip(self.names, self.expressions, strict=True):
            (end,) = self.written([e], s.at1, s.t1)
            symbols = list(self._places)
            slopes = self.written(gradient(e, symbols), s.mid, s.t)
            row = {self._places[x]: g for x, g in zip(symbols, slopes, strict=True) if g is not ZERO}
            found.append(Servo(name, end, row))
        return found


class ModelRolling(OfModel):
    """Nonholonomic equations w(x, ẋ) = 0 linear and homogeneous in the rates, with their coefficients at the mean coordinates.

    A model's angular velocities are written with dual directors, so that these are the momentum-conserving rows of :mod:`.rolling`: material
    points and turns over a step are exact, and contact forces act at one common point.
    """

    def __init__(self, layout: Layout, names: Sequence[str], expressions: Sequence[Expr]) -> None:
        super().__init__(layout, expressions)
        self.names = tuple(names)
        rates = list(self._rates)
        rest = substitute(list(expressions), dict.fromkeys(rates, ZERO))
        self._coefficients = sparse_jacobian(list(expressions), rates)
        for name, e in zip(self.names, rest, strict=True):
            if e is not ZERO and not (e.is_number and float(e) == 0.0):
                raise ModelError(
                    f"constraint '{name}': the energy-consistent engine takes equations A(q) q̇ = 0 without further terms, here {e}"
                )

    def rolling(self, s: Symbols) -> Sequence[tuple[str, Mapping[Coordinate, Expr]]]:
        """One row for each equation."""
        rates = list(self._rates)
        rows: list[dict[Coordinate, Expr]] = [{} for _ in self.names]
        values = self.written(list(self._coefficients.values()), s.mid, s.t)
        for (i, j), e in zip(self._coefficients, values, strict=True):
            rows[i][self._rates[rates[j]]] = e
        return list(zip(self.names, rows, strict=True))


class ModelPotential(OfModel):
    """A potential given as an expression of the coordinates."""

    def potential(self, s: Symbols) -> Sequence[Term]:
        """The expressions' sum."""
        return [self.term(e, s) for e in self.expressions]


class ModelForce(OfModel):
    """Generalised forces given as expressions of coordinates, rates and time, evaluated in the middle of the step.

    ``potential`` is the part of the energy another element accounts for: its gradient at the same point is taken off.
    """

    def __init__(self, layout: Layout, forces: Mapping[Expr, Expr], potential: Expr = ZERO) -> None:
        self.coordinates_of_forces = tuple(forces)
        super().__init__(layout, [*forces.values(), potential], also=list(forces))
        self._potential = potential

    def external(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """Q + ∇V at the mean coordinates."""
        forces = self.written(self.expressions[:-1], s.mid, s.t, s.rate)
        found = {self._places[x]: f for x, f in zip(self.coordinates_of_forces, forces, strict=True)}
        if self._potential is not ZERO:
            symbols = list(self._places)
            for x, g in zip(symbols, self.written(gradient(self._potential, symbols), s.mid, s.t, s.rate), strict=True):
                if g is not ZERO:
                    found[self._places[x]] = add(found.get(self._places[x], ZERO), g)
        return found


class ModelState(OfModel):
    """A state of the user's own, ż = f(q, q̇, z, t)."""

    def __init__(self, layout: Layout, state: Expr, rate: Expr) -> None:
        super().__init__(layout, [rate], also=[state])
        self.state = state

    def rates(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """Its rate."""
        return {self._places[self.state]: self.written(self.expressions, s.mid, s.t, s.rate)[0]}


class RodMass(Pair):
    """Exact inertia and weight of a straight rod between two material points: ½ (α_a |v_a|² + 2β v_a·v_b + α_b |v_b|²).

    Constants ``alpha_a``, ``beta``, ``alpha_b`` (kg; m/3, m/6, m/3 of a uniform rod) and ``gravity`` (m/s²).
    """

    framed = False

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None) -> None:
        super().__init__(a, b)
        self.constants = {**self.constants, "alpha_a": 1, "beta": 1, "alpha_b": 1, "gravity": 3}

    def _ends(self, s: Symbols) -> list[list[tuple[list[Coordinate], Expr]]]:
        """For each end the entries and weights of the vectors it is made of."""
        found = []
        for carrier, prefix in ((self.a, "a"), (self.b, "b")):
            weights = carrier.point_weights(numbers(s, f"point_{prefix}"))
            found.append([(carrier.entries(prefix, k), w) for k, w in enumerate(weights)])
        return found

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """Products of the ends' weights."""
        share = {(0, 0): s.alpha_a, (0, 1): s.beta, (1, 0): s.beta, (1, 1): s.alpha_b}
        ends = self._ends(s)
        found: dict[tuple[str, int, str, int], Expr] = {}
        for (p, q), m in share.items():
            for left, w in ends[p]:
                for right, u in ends[q]:
                    for x, y in zip(left, right, strict=True):
                        key = (*x, *y)
                        found[key] = add(found.get(key, ZERO), m * w * u)
        return found

    def potential(self, s: Symbols) -> Sequence[Term]:
        """−g·((α_a + β) p_a + (β + α_b) p_b)."""
        g = s.vector("gravity")
        a, b = self.a.point(s, "a", numbers(s, "point_a")), self.b.point(s, "b", numbers(s, "point_b"))
        return (neg(g.dot(a * (s.alpha_a + s.beta) + b * (s.beta + s.alpha_b))),)


__all__ = ["Layout", "ModelDrive", "ModelForce", "ModelPotential", "ModelRolling", "ModelRows", "ModelState", "RodMass"]
