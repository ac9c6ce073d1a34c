"""From the declaration of an element to the symbolic functions of its time step, for any scheme.

Unknowns of an element are its coordinates q₁ (or, for blocks with a null space, the increments δ of q₁ ← retract(q₁, δ)) and its scaled
multipliers Λ = κ λ.  The residual is (Uhlar, eqs. 3.21–3.27, 5.128, 5.157, 5.217, with the scaling of :mod:`.schemes`)

    P̄ᵀ [M (q₁ − q₀ − w) + κ (∇̄V + F − Q) + Ḡᵀ Λ + Āᵀ Λ + Bᵀ Λ],   Φ(q₁),   Ā (q₁ − q₀),   b(q₁) − γ(t₁),

and z₁ − z₀ − w − η f for first-order coordinates (ż = f): η = h and w = 0 with f in the middle of the step (at its end for backward Euler),
and the weights of velocities for schemes of Newmark's family.
All inputs of a kernel are packed in one array, see :class:`Packing`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...errors import ModelError
from ...symbolic.derivatives import gradient, jvp, sparse_jacobian
from ...symbolic.expr import HALF, ONE, ZERO, Expr, add, as_expr, mul, sub, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.functions import absolute, where
from ...symbolic.graph import free_symbols, substitute
from ...symbolic.vectors import NULL
from ..element import Coordinate, Element, Internal, Names, Reduction, Servo, Symbols, Term, symbols_of
from .discrete_gradient import at_point, discrete_gradient, midpoint, term_value

#: Leading scalars of the packed input: step, start time, κ, θ (or the weight of forces in a projection), factor of q₁ − q₀ in the rate.
SCALARS = ("h", "t0", "kappa", "theta", "rate_factor")
#: Results of the audit: T₁, V₁, Ψ₁, ΔD, supplied work, linear momentum, angular momentum, size of what the element's own audit gives.
AUDIT = ("kinetic", "potential", "internal", "dissipated", "supplied", "px", "py", "pz", "lx", "ly", "lz", "astray")


@dataclass(frozen=True)
class Packing:
    """Symbols of the packed input: scalars, q₀, q₁, excess, offset of the rate, Λ, history.

    ``excess`` is (q₁ − q₀) − w, formed by the caller from the displacement itself: as a difference of positions it would lose digits in
    small steps.  In a projection it holds the rates to project, in the audit v₁.
    """

    scalars: tuple[Expr, ...]
    q0: tuple[Expr, ...]
    q1: tuple[Expr, ...]
    excess: tuple[Expr, ...]
    offset: tuple[Expr, ...]
    multipliers: tuple[Expr, ...]
    history: tuple[Expr, ...]

    @property
    def symbols(self) -> tuple[Expr, ...]:
        """All in order."""
        return self.scalars + self.q0 + self.q1 + self.excess + self.offset + self.multipliers + self.history


def _terms(element: Element, potential: Any) -> list[Term]:
    if not isinstance(potential, Sequence):
        raise ModelError(f"element {element.name}: its potential {potential} must be a list of terms: return [energy]")
    return list(potential)


class ElementStep:
    """Residual, tangent, projection and audit of an element type under one evaluation of forces.

    ``reduced`` gives the null space of a block (by the name of the block) that is to be eliminated.  When it is only ``projected`` (Uhlar,
    eq. 3.26) the coordinates stay unknowns, and the constraints that the null space would meet by itself follow the projected balances.
    """

    def __init__(self, element: Element, evaluation: str, reduced: Mapping[str, Reduction] | None = None, projected: bool = False) -> None:
        self.element, self.evaluation, self.reduced, self.projected = element, evaluation, dict(reduced or {}), projected
        self.s: Symbols = symbols_of(element)
        s = self.s
        dropped = element.reduction.rows if element.reduction is not None and element.reduction.block in self.reduced else ()
        self.holonomic = [(n, terms) for n, terms in element.constraints(s) if n not in dropped]
        self._inner = [(n, terms) for n, terms in element.constraints(s) if n in dropped and projected]
        self.rolling = list(element.rolling(s))
        self.servo: list[Servo] = list(element.servo(s))
        self.row_names = [n for n, _ in self.holonomic] + [n for n, _ in self.rolling] + [v.name for v in self.servo]
        self.internal: Internal | None = element.internal(s)
        self._external = dict(element.external(s))
        self.potential = _terms(element, element.potential(s))
        self.masses = {c: as_expr(m) for c, m in element.mass(s).items()}
        self._rates = {c: as_expr(f) for c, f in element.rates(s).items()}
        self.index = {c: i for i, c in enumerate(element.coordinates)}
        self._check_first_order()
        self.packing = self._pack()

    def _pack(self) -> Packing:
        n, k = self.element.size, sum(self.element.history.values())

        def made(name: str, size: int, kind: str) -> tuple[Expr, ...]:
            return tuple(symbol(f"{name}[{i}]", kind) for i in range(size))

        return Packing(
            tuple(symbol(c, "time") for c in SCALARS), made("q0", n, "position"), made("q1", n, "position"), made("excess", n, "velocity"),
            made("offset", n, "velocity"), made("multiplier", len(self.row_names), "acceleration"), made("z", k, "state"),
        )  # fmt: skip

    def _check_first_order(self) -> None:
        """First-order coordinates have rates of their own and nothing else; energies and rows do not speak of them."""
        blocks, e = set(self.element.first_order), self.element
        z = {x.id for b in blocks for x in getattr(self.s, b)}
        terms = [t for _, row in self.holonomic for t in row] + self.potential
        forced = {b for b, _ in [*self._external, *(self.internal.forces if self.internal else ())]}
        forced |= {b for row in [r for _, r in self.rolling] + [v.row for v in self.servo] for b, _ in row}
        forced |= {x for b, _, c, _ in self.masses for x in (b, c)}
        wrong = "has a rate but is not named in first_order" if {b for b, _ in self._rates} - blocks else ""
        wrong = wrong or ("has mass, forces or rows" if forced & blocks else "")
        if wrong or any(x.id in z for x in free_symbols([term_value(t) for t in terms])):
            raise ModelError(
                f"element {e.name}: a first-order block {wrong or 'stands in a potential or constraint'}; it can have rates, and forces on "
                "other coordinates may depend on it"
            )

    # -- points ----------------------------------------------------------------------------------------------------------

    @property
    def uses_rate(self) -> bool:
        """Whether forces depend on rates (they then need the rate's offset)."""
        rates = {e.id for e in self._flat(self.s.rate)}
        at_ends = (self.internal.at_ends if self.internal else None) or ()
        laws = [
            *self._external.values(),
            *self._rates.values(),
            *(v.constraint for v in self.servo),
            *(f for part in at_ends for f in part.values()),
        ]
        return self._centred or any(e.id in rates for e in free_symbols(list(map(as_expr, laws))))

    @property
    def uses_excess(self) -> bool:
        """Whether the element has mass, first-order rates or conditions on accelerations."""
        return bool(self.masses) or bool(self._rates) or any(map(self._on_accelerations, self.servo))

    def _on_accelerations(self, servo: Servo) -> bool:
        accelerations = {e.id for e in self._flat(self.s.acceleration)}
        return any(e.id in accelerations for e in free_symbols([servo.constraint]))

    def _flat(self, names: Names) -> list[Expr]:
        return [e for b in self.element.blocks for e in getattr(names, b)]

    @cached_property
    def _theta_point(self) -> list[Expr]:
        """Where forces are evaluated."""
        p = self.packing
        if self.evaluation != "end":
            return midpoint(p.q0, p.q1)
        theta = p.scalars[3]
        return [add(a, mul(theta, sub(b, a))) for a, b in zip(p.q0, p.q1, strict=True)]

    def _common(self, mid: Sequence[Expr]) -> dict[Expr, Expr]:
        """Values of the symbols of the declaration, apart from the coordinates at the point of evaluation."""
        p, s = self.packing, self.s
        h, t0, _, theta, factor = p.scalars
        values = dict(zip(self._flat(s.at0), p.q0, strict=True)) | dict(zip(self._flat(s.at1), p.q1, strict=True))
        values |= dict(zip(self._flat(s.mid), mid, strict=True))
        for symbol_, a, b, o in zip(self._flat(s.rate), p.q0, p.q1, p.offset, strict=True):
            values[symbol_] = add(mul(factor, sub(b, a)), o)
        kappa, first = p.scalars[2], len(self.row_names) - len(self.servo)
        values |= {symbol_: e / kappa for symbol_, e in zip(self._flat(s.acceleration), p.excess, strict=True)}
        values |= {v.multiplier: p.multipliers[first + k] / kappa for k, v in enumerate(self.servo) if v.multiplier is not None}
        if self.internal is not None:
            values |= {r: m / kappa for r, m in zip(self.internal.reactions, p.multipliers, strict=False)}
        values |= dict(zip([e for b in self.element.history for e in getattr(s.history, b)], p.history, strict=True))
        fraction = theta if self.evaluation == "end" else HALF
        values |= {s.h: h, s.t0: t0, s.t1: add(t0, h), s.t: add(t0, mul(fraction, h))}
        return values

    def _put(self, expressions: Sequence[Expr], mid: Sequence[Expr] | None = None) -> list[Expr]:
        return substitute(list(expressions), self._common(midpoint(self.packing.q0, self.packing.q1) if mid is None else mid))

    @cached_property
    def _coordinates(self) -> list[Expr]:
        return self._flat(self.s)

    # -- pieces of the equations -------------------------------------------------------------------------------------------

    def _what(self, part: str) -> str:
        return f"element {self.element.name}, {part}"

    def _add_sparse(self, total: list[Expr], entries: Mapping[Coordinate, Expr], factor: Expr) -> None:
        for c, e in entries.items():
            if c not in self.index:
                raise ModelError(f"{self._what('a force')}: it has no coordinate {c}; its blocks are {self.element.blocks}")
            total[self.index[c]] = add(total[self.index[c]], mul(factor, as_expr(e)))

    def slopes(self, terms: Sequence[Term], what: str, point: str) -> list[Expr]:
        """Gradient of a sum of terms: discrete between q₀ and q₁, or at a point."""
        p, x = self.packing, self._coordinates
        total = [ZERO] * len(x)
        for term in terms:
            if point == "discrete":
                slope = discrete_gradient(term, x, p.q0, p.q1, what)
            else:
                where_ = {"midpoint": midpoint(p.q0, p.q1), "start": p.q0, "end": p.q1, "theta": self._theta_point}[point]
                slope = at_point(gradient(term_value(term), x), x, where_)  # type: ignore[arg-type]
            total = [add(a, b) for a, b in zip(total, slope, strict=True)]
        return self._put(total)

    @cached_property
    def _potential_gradient(self) -> list[Expr]:
        for term in self.potential:
            if any(e is self.s.t for e in free_symbols([term_value(term)])):
                raise ModelError(f"{self._what('potential')}: it depends on time; give the force as external instead")
        point = {"discrete": "discrete", "midpoint": "midpoint", "start": "midpoint", "end": "theta"}[self.evaluation]
        return self.slopes(self.potential, self._what("potential"), point)

    @cached_property
    def other_forces(self) -> list[Expr]:
        """F − Q by coordinate."""
        total = [ZERO] * self.element.size
        if self.internal is not None:
            self._add_sparse(total, self._algorithmic(self.internal), ONE)
        if self._external:
            keys = list(self._external)
            forces = self._put(list(map(as_expr, self._external.values())), self._theta_point)
            self._add_sparse(total, dict(zip(keys, forces, strict=True)), as_expr(-1.0))
        return total

    def _algorithmic(self, internal: Internal) -> dict[Coordinate, Expr]:
        """Algorithmic forces of the step: means over it, which schemes with forces at its end would take for those at its end.

        For these a force without memory is that of a step of the same length about the point of evaluation, and one with memory lies between
        its values at the ends, so that they keep their order.
        """
        keys, forces = list(internal.forces), list(map(as_expr, internal.forces.values()))
        if self.evaluation == "end" and internal.at_ends is not None:
            start, end = (self._put([as_expr(part.get(c, ZERO)) for c in keys], self._theta_point) for part in internal.at_ends)
            theta = self.packing.scalars[3]
            return {c: add(a, mul(theta, sub(b, a))) for c, a, b in zip(keys, start, end, strict=True)}
        if not self._centred:
            return dict(zip(keys, self._put(forces), strict=True))
        s, half = self.s, mul(HALF, self.packing.scalars[0])
        reach = [mul(half, r) for r in self._flat(s.rate)]
        ends = {a: sub(m, d) for a, m, d in zip(self._flat(s.at0), self._flat(s.mid), reach, strict=True)}
        ends |= {b: add(m, d) for b, m, d in zip(self._flat(s.at1), self._flat(s.mid), reach, strict=True)}
        return dict(zip(keys, self._put(substitute(forces, ends), self._theta_point), strict=True))

    @property
    def _centred(self) -> bool:
        """Whether an algorithmic force without memory is taken about the point of evaluation."""
        return self.evaluation == "end" and self.internal is not None and not self.element.history

    def _row_gradients(self, point: str) -> list[list[Expr]]:
        """Rows through which multipliers act: Ḡ, Ā and B."""
        rows = [self.slopes(terms, self._what(f"constraint '{name}'"), point) for name, terms in self.holonomic]
        at = {"theta": self._theta_point, "start": self.packing.q0}.get(point)
        return rows + [self._row(entries, at) for entries in [*(r for _, r in self.rolling), *(v.row for v in self.servo)]]

    def _row(self, entries: Mapping[Coordinate, Any], at: Any = None) -> list[Expr]:
        """A row of given entries, for mean coordinates or those of another point."""
        row = [ZERO] * self.element.size
        self._add_sparse(row, dict(zip(entries, self._put(list(map(as_expr, entries.values())), at), strict=True)), ONE)
        return row

    @cached_property
    def acting_rows(self) -> list[list[Expr]]:
        """Rows by which multipliers act, where the scheme evaluates them."""
        return self._row_gradients("theta" if self.evaluation == "end" else self.evaluation)

    def _values_at(self, point: Sequence[Expr], constraints: Sequence[tuple[str, Sequence[Term]]]) -> list[Expr]:
        """Φ at a point."""
        sums = [ZERO] * len(constraints)
        for i, (_, terms) in enumerate(constraints):
            for term in terms:
                sums[i] = add(sums[i], term_value(term))
        return self._put(at_point(sums, self._coordinates, point))

    @cached_property
    def row_residuals(self) -> list[Expr]:
        """Φ(q₁), Ā (q₁ − q₀) and b(q₁) − γ(t₁); Ā is that of the mean coordinates, whatever the point at which its multipliers act."""
        p = self.packing
        moved = [sub(b, a) for a, b in zip(p.q0, p.q1, strict=True)]
        rows = self._values_at(p.q1, self.holonomic) + [dot(self._row(entries), moved) for _, entries in self.rolling]
        # conditions on accelerations are scaled to displacements, like the balance
        scale = [p.scalars[2] if self._on_accelerations(v) else ONE for v in self.servo]
        return rows + [mul(f, e) for f, e in zip(scale, self._put([v.constraint for v in self.servo]), strict=True)]

    def mass_times(self, x: Sequence[Expr]) -> list[Expr]:
        """M x."""
        total = [ZERO] * self.element.size
        for (b, i, c, j), m in self.masses.items():
            k = self.index[b, i]
            total[k] = add(total[k], mul(m, x[self.index[c, j]]))
        return total

    def _inertia_times(self, x: Sequence[Expr]) -> list[Expr]:
        """M x, first-order coordinates as they are."""
        total = self.mass_times(x)
        for c in self._rates:
            total[self.index[c]] = x[self.index[c]]
        return total

    @cached_property
    def first_order_rates(self) -> dict[int, Expr]:
        """f of the first-order coordinates by local index, where forces are evaluated."""
        values = self._put(list(self._rates.values()), self._theta_point)
        return {self.index[c]: f for c, f in zip(self._rates, values, strict=True)}

    # -- null spaces -------------------------------------------------------------------------------------------------------

    @cached_property
    def unknowns(self) -> list[tuple[str, int]]:
        """Local unknowns in order: (block, index) of coordinates or increments, then ("", row)."""
        sizes = {b: self.reduced[b].size if b in self.reduced and not self.projected else n for b, n in self.element.blocks.items()}
        return [(b, i) for b, n in sizes.items() for i in range(n)] + [("", i) for i in range(len(self.row_names))]

    def _basis(self, point: Sequence[Expr]) -> list[list[tuple[int, Expr]]]:
        """Columns of the block-diagonal null-space matrix at a point: for each unknown its (coordinate, entry) pairs."""
        columns: list[list[tuple[int, Expr]]] = []
        first = 0
        for b, n in self.element.blocks.items():
            if b in self.reduced:
                basis = self.reduced[b].basis(point[first : first + n])
                columns += [[(first + i, basis[i][a]) for i in range(n) if basis[i][a] is not ZERO] for a in range(self.reduced[b].size)]
                if self.projected:  # places for the constraints
                    columns += [[] for _ in range(n - self.reduced[b].size)]
            else:
                columns += [[(first + i, ONE)] for i in range(n)]
            first += n
        return columns

    @cached_property
    def _left(self) -> list[list[tuple[int, Expr]]]:
        """The discrete null space: orthogonal to the rows as the scheme evaluates them."""
        p = self.packing
        point = {"discrete": midpoint(p.q0, p.q1), "midpoint": midpoint(p.q0, p.q1), "start": p.q0, "end": self._theta_point}[
            self.evaluation
        ]
        return self._basis(point)  # type: ignore[arg-type]

    @cached_property
    def _right(self) -> list[list[tuple[int, Expr]]]:
        """Changes of q₁ with the unknowns."""
        return [[(i, ONE)] for i in range(self.element.size)] if self.projected else self._basis(self.packing.q1)

    @property
    def _inner_places(self) -> range:
        """Local places of the constraints behind the projected balances of their body."""
        r = self.element.reduction
        if r is None or not self._inner:
            return range(0)
        first = self.index[r.block, 0] + r.size
        return range(first, first + len(self._inner))

    def _project(self, columns: Sequence[Sequence[tuple[int, Expr]]], r: Sequence[Expr]) -> list[Expr]:
        return [_sum(mul(e, r[i]) for i, e in column) for column in columns]

    def _chain(self, jacobian: Mapping[tuple[int, int], Expr], right: Sequence[Sequence[tuple[int, Expr]]]) -> dict[tuple[int, int], Expr]:
        """∂/∂unknowns from ∂/∂q₁: the columns combined by the null space at q₁."""
        by_row: dict[int, dict[int, Expr]] = {}
        for (i, j), e in jacobian.items():
            by_row.setdefault(i, {})[j] = e
        entries: dict[tuple[int, int], Expr] = {}
        for i, row in by_row.items():
            for a, column in enumerate(right):
                e = _sum(mul(row[j], f) for j, f in column if j in row)
                if e is not ZERO:
                    entries[i, a] = e
        return entries

    # -- functions ----------------------------------------------------------------------------------------------------------

    @cached_property
    def residual_expressions(self) -> list[Expr]:
        """The residual of the step by local unknowns."""
        p = self.packing
        _, _, kappa, theta, factor = p.scalars
        r = self.mass_times(p.excess)
        for i in range(self.element.size):
            r[i] = add(r[i], mul(kappa, add(self._potential_gradient[i], self.other_forces[i])))
        for i, f in self.first_order_rates.items():  # κ · factor/θ is the part h, or h γ (1 − α_f)/(1 − α_m), of f in z₁
            r[i] = sub(p.excess[i], mul(mul(kappa, factor) / theta, f))
        for row, multiplier in zip(self.acting_rows, p.multipliers, strict=True):
            for i, g in enumerate(row):
                if g is not ZERO:
                    r[i] = add(r[i], mul(g, multiplier))
        balances = self._project(self._left, r)
        for place, value in zip(self._inner_places, self._values_at(p.q1, self._inner), strict=True):
            balances[place] = value
        return balances + self.row_residuals

    @cached_property
    def tangent_entries(self) -> dict[tuple[int, int], Expr]:
        """Structurally non-zero entries of the residual's derivative by the unknowns."""
        p, n = self.packing, len(self.unknowns) - len(self.row_names)
        by_position = sparse_jacobian(self.residual_expressions, p.q1)
        for at, e in sparse_jacobian(self.residual_expressions, p.excess).items():
            by_position[at] = add(by_position.get(at, ZERO), e)
        entries = self._chain(by_position, self._right)
        for (i, j), e in sparse_jacobian(self.residual_expressions, p.multipliers).items():
            entries[i, n + j] = e
        return dict(sorted(entries.items()))

    def _function(self, name: str, *outputs: tuple[str, Sequence[Expr]]) -> SymbolicFunction:
        s = self.s
        constants: list[Expr] = []
        for c in self.element.constants:
            value = getattr(s, c)
            constants += [value] if isinstance(value, Expr) else list(value)
        results = tuple(Result(n, tuple(e), (len(e),)) for n, e in outputs)
        inputs = (Argument("x", self.packing.symbols), Argument("constants", tuple(constants)))
        return SymbolicFunction(name, inputs if constants else inputs[:1], results, f"{self.element.name}: {name}")

    def residual(self) -> SymbolicFunction:
        """The residual alone."""
        return self._function("residual", ("residual", self.residual_expressions))

    def tangent(self) -> SymbolicFunction:
        """Residual and non-zero entries of its derivative."""
        return self._function("tangent", ("residual", self.residual_expressions), ("entries", list(self.tangent_entries.values())))

    @cached_property
    def projection_entries(self) -> tuple[list[Expr], dict[tuple[int, int], Expr]]:
        """Right-hand side and matrix of M (y − excess) + θ (∇V(mid) + F − Q) + G(q₁)ᵀΛ = 0, G(q₁) y = 0, for rates y = P(q₁) ν.

        Right of the rolling and servo rows stands −γ̇, the rate of what is prescribed.
        """
        p, n = self.packing, len(self.unknowns) - len(self.row_names)
        weight, left, right = p.scalars[3], self._basis(p.q1), self._right
        load = [mul(weight, add(a, b)) for a, b in zip(self._potential_gradient, self.other_forces, strict=True)]
        r = [sub(a, b) for a, b in zip(load, self._inertia_times(p.excess), strict=True)]
        rows = self.rate_rows
        entries: dict[tuple[int, int], Expr] = {}
        for a, column in enumerate(right):
            unit = [ZERO] * self.element.size
            for i, e in column:
                unit[i] = e
            for b, e in enumerate(self._project(left, self._inertia_times(unit))):
                if e is not ZERO:
                    entries[b, a] = e
        for k, (row, _) in enumerate(rows):
            entries |= {(a, n + k): e for a, e in enumerate(self._project(left, row)) if e is not ZERO}
            entries |= {(n + k, a): e for a, e in enumerate(self._project(right, row)) if e is not ZERO}
        for place, (name, terms) in zip(self._inner_places, self._inner, strict=True):
            entries |= {(place, a): e for a, e in enumerate(self.slopes(terms, name, "end")) if e is not ZERO}
        return self._project(left, r) + [rest for _, rest in rows], dict(sorted(entries.items()))

    @cached_property
    def rate_rows(self) -> list[tuple[list[Expr], Expr]]:
        """Rows G(q₁) y + rest = 0 that rates meet."""
        p = self.packing
        rows = [(self.slopes(terms, name, "end"), ZERO) for name, terms in self.holonomic]
        for row in self.acting_rows[len(self.holonomic) : len(self.holonomic) + len(self.rolling)]:
            rows.append((at_point(row, p.q0, p.q1), ZERO))
        at1 = self._flat(self.s.at1)
        for v in self.servo:
            slope = self._put(gradient(v.constraint, at1))
            rows.append((slope, self._put(jvp([v.constraint], {self.s.t1: 1.0}))[0]))
        return rows

    def projection(self) -> SymbolicFunction:
        """Right-hand side and matrix of the projection of rates."""
        r, entries = self.projection_entries
        return self._function("projection", ("residual", r), ("entries", list(entries.values())))

    def audit(self) -> SymbolicFunction:
        """Energies, work and momenta at the end of the step (the excess holds v₁), and the new history."""
        p, s, e = self.packing, self.s, self.element
        x, v = self._coordinates, list(p.excess)
        kinetic = mul(HALF, dot(v, self.mass_times(v)))
        potential = self._put(at_point([_sum(map(term_value, self.potential))], x, p.q1))[0]
        stored = dissipated = supplied = ZERO
        history: list[Expr] = list(p.history)
        moved = [sub(b, a) for a, b in zip(p.q0, p.q1, strict=True)]
        if self.internal is not None:
            stored, dissipated = self._put([as_expr(self.internal.stored), as_expr(self.internal.dissipated)])
            new = [as_expr(f) for name in e.history for f in self.internal.history.get(name, getattr(s.history, name))]
            history = self._put(new)
        if self._external:
            keys = list(self._external)
            forces = self._put(list(map(as_expr, self._external.values())), self._theta_point)
            supplied = _sum(mul(f, moved[self.index[c]]) for c, f in zip(keys, forces, strict=True))
        first = len(self.holonomic) + len(self.rolling)
        for servo, row, multiplier in zip(self.servo, self.acting_rows[first:], p.multipliers[first:], strict=True):
            if servo.works:
                supplied = sub(supplied, mul(multiplier / p.scalars[2], dot(row, moved)))
        linear, angular = e.momenta(s) or (NULL, NULL)
        values = dict(zip(x, p.q1, strict=True)) | dict(zip(self._flat(s.velocity), v, strict=True))
        momenta = self._put(substitute([*linear, *angular], values))
        astray = _sum(map(absolute, self._put(at_point([q for _, q in e.audit(s)], x, p.q1))))
        if "angle" in e.augments:  # a whole turn away is the same direction
            astray = add(astray, where(absolute(moved[self.index["angle", 0]]) > as_expr(math.pi), ONE, ZERO))
        outputs = [kinetic, potential, stored, dissipated, supplied, *momenta, astray]
        return self._function("audit", ("audit", outputs), ("history", history)) if history else self._function("audit", ("audit", outputs))


def _sum(parts: object) -> Expr:
    total = ZERO
    for e in parts:  # type: ignore[attr-defined]
        total = add(total, e)
    return total


def dot(a: Sequence[Expr], b: Sequence[Expr]) -> Expr:
    return _sum(mul(x, y) for x, y in zip(a, b, strict=True))
