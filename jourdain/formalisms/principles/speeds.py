"""Independent velocities: v = B(q) u + b(q, t), chosen among the velocities or given as quasi-velocities.

The columns of B are the directions in which the constraints let the system move: J B = 0.  A quasi-velocity is any combination of
velocities that, with the constraints, determines them all; it need not be the derivative of a coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ...errors import InputError
from ...symbolic.derivatives import jacobian, jvp
from ...symbolic.expr import KINDS, ONE, PARAMETER, ZERO, Expr, add, as_expr, div, mul, neg, sub
from ...symbolic.graph import evaluate, operations, substitute
from ..equations import Equations
from ..explicit import shortened
from .free_bodies import Mechanics, combination, shared_symbol, total

#: Expressions with more operations than this are left as they are derived.
MOST_SIMPLIFIED = 400
#: Positions on the constraints at which the choice of independent velocities is tried.
POINTS = 3
#: A determinant below this part of the largest one is taken as singular.
WEAKEST = 0.1


def tidy(e: Expr) -> Expr:
    """The readable form of an expression, or itself where that would take long."""
    if operations([e]).flops > MOST_SIMPLIFIED:
        return e
    try:
        return shortened(e)
    except InputError:
        return e


class Speeds:
    """Independent velocities u with v = B u + b and v̇ = B u̇ + β."""

    def __init__(self, mechanics: Mechanics, quasi: Mapping[str, Any] | Sequence[str] | None = None) -> None:
        self.mechanics = mechanics
        n = len(mechanics.v)
        self.points = consistent_points(mechanics.eq)
        #: constraints in use, and those that follow from them
        self.rows = self._independent_rows()
        self.redundant = [r for i, r in enumerate(mechanics.constraint_names) if i not in self.rows]
        self.quasi = isinstance(quasi, Mapping)
        if quasi is None:
            self._choose(self._simplest(n - len(self.rows)))
        elif isinstance(quasi, Mapping):
            self._define(quasi)
        else:
            self._choose([self._velocity_index(name) for name in quasi])
        if len(self.u) != n - len(self.rows):
            raise InputError(
                f"model '{mechanics.model.name}' has {n} velocities and {len(self.rows)} independent constraints: "
                f"give {n - len(self.rows)} quasi-velocities, not {len(self.u)}"
            )
        self.velocities = self._solve()

    # -- choice ---------------------------------------------------------------------------------------------------

    def _independent_rows(self) -> list[int]:
        """Rows of J that are independent where the constraints are met; the first ones are kept."""
        values = [self._at(self.mechanics.jacobian, p) for p in self.points]
        chosen: list[int] = []
        for i in range(len(self.mechanics.rows)):
            trial = [*chosen, i]
            if any(_rank(J[trial]) == len(trial) for J in values):
                chosen = trial
        return chosen

    def _at(self, table: Sequence[Sequence[Expr]], point: Mapping[Expr, float]) -> np.ndarray:
        flat = [e for row in table for e in row]
        return np.array([float(x) for x in evaluate(flat, point)]).reshape(len(table), len(table[0]) if table else 0)

    def _simplest(self, count: int) -> list[int]:
        """Independent velocities: a determinant without positions where there is one, then the first velocities."""
        n = len(self.mechanics.v)
        if count == n:
            return list(range(n))
        J = [self.mechanics.jacobian[i] for i in self.rows]
        numbers = [self._at(J, p) for p in self.points]
        sizes = {d: min(abs(float(np.linalg.det(N[:, d]))) for N in numbers) for d in combinations(range(n), n - count)}
        enough = [d for d, size in sizes.items() if size >= WEAKEST * max(sizes.values())]
        constant = [d for d in enough if not tidy(determinant([[row[k] for k in d] for row in J])).deps & ~PARAMETER]
        dependent = max(constant or enough)
        return [k for k in range(n) if k not in dependent]

    def _velocity_index(self, name: str) -> int:
        for k, (c, i) in enumerate(velocity_places(self.mechanics)):
            if name in (c.velocity_names[i], c.names[i] if not c.is_quaternion else "", c.names[0].split(".")[0] if len(c.v) == 1 else ""):
                return k
        known = ", ".join(velocity_names(self.mechanics))
        raise InputError(f"quasi-velocities: there is no velocity '{name}'; there are {known}")

    def _choose(self, indices: Sequence[int]) -> None:
        self.u = tuple(self.mechanics.v[k] for k in indices)
        self.u_dot = tuple(self.mechanics.a[k] for k in indices)
        self.definitions = list(self.u)
        self.names = [velocity_names(self.mechanics)[k] for k in indices]

    def _define(self, quasi: Mapping[str, Any]) -> None:
        self.names = list(quasi)
        self.u = tuple(shared_symbol(self.mechanics.model, name, "velocity") for name in quasi)
        self.u_dot = tuple(shared_symbol(self.mechanics.model, f"{name}_dot", "acceleration") for name in quasi)
        self.definitions = self.mechanics.eq.resolve([self._given(e) for e in quasi.values()])
        rate = KINDS["velocity"]
        for name, e, row in zip(quasi, self.definitions, jacobian(self.definitions, self.mechanics.v), strict=True):
            if not e.deps & rate or any(c.deps & rate for c in row):
                raise InputError(f"quasi-velocity '{name}' = {e} is not linear in the velocities")

    def _given(self, e: Any) -> Expr:
        return self.mechanics.v[self._velocity_index(e)] if isinstance(e, str) else as_expr(e)

    # -- v = B u + b ----------------------------------------------------------------------------------------------

    def _solve(self) -> list[Expr]:
        """All velocities as expressions of the independent ones: constraints and definitions solved together."""
        v = self.mechanics.v
        if not self.rows and not self.quasi and self.u == v:
            return list(v)
        rates = [self.mechanics.eq.constraint_velocities[i] for i in self.rows]
        rows = [self.mechanics.jacobian[i] for i in self.rows] + jacobian(self.definitions, v)
        still = substitute([*rates, *self.definitions], dict.fromkeys(v, ZERO))
        right = [neg(e) for e in still[: len(rates)]] + [sub(u, e) for u, e in zip(self.u, still[len(rates) :], strict=True)]
        numbers = [self._at(rows, p) for p in self.points]
        if len(rows) != len(v) or all(_rank(N) < len(v) for N in numbers):
            raise InputError(f"the quasi-velocities {', '.join(self.names)} and the constraints do not determine the velocities")
        return solve(rows, right)

    @cached_property
    def basis(self) -> list[list[Expr]]:
        """B, row by row: one row for each velocity, one column for each independent one."""
        return [[tidy(e) for e in row] for row in jacobian(self.velocities, self.u)]

    @cached_property
    def accelerations(self) -> list[Expr]:
        """v̇ = B u̇ + β."""
        return [add(combination(row, self.u_dot), e) for row, e in zip(self.basis, self.remainder, strict=True)]

    @cached_property
    def remainder(self) -> list[Expr]:
        """β: the accelerations that remain when u is constant."""
        return [tidy(e) for e in jvp(self.velocities, self.flow)]

    @cached_property
    def flow(self) -> dict[Expr, Expr]:
        """Directions of a time derivative at constant u: q → N v(u), t → 1."""
        rates = self.motion(self.mechanics.eq.position_rates)
        return {**dict(zip(self.mechanics.q, rates, strict=True)), self.mechanics.t: ONE}

    def motion(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Expressions of v and v̇ written with u and u̇."""
        if self.is_trivial:
            return list(expressions)
        known = dict(zip(self.mechanics.v, self.velocities, strict=True))
        if any(e.deps & KINDS["acceleration"] for e in expressions):
            known |= dict(zip(self.mechanics.a, self.accelerations, strict=True))
        return substitute(expressions, known)

    @property
    def is_trivial(self) -> bool:
        """Whether all velocities are independent and taken themselves."""
        return self.u == self.mechanics.v

    def project(self, forces: Sequence[Expr]) -> list[Expr]:
        """Bᵀ applied to generalised forces."""
        if self.is_trivial:
            return list(forces)
        return [combination(column, forces) for column in zip(*self.basis, strict=True)]


def _rank(J: np.ndarray) -> int:
    """Rank with rows brought to length one."""
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    return int(np.linalg.matrix_rank(J / np.where(lengths > 1e-9 * lengths.max(initial=0.0), lengths, 1.0), tol=1e-8))


def velocity_places(mechanics: Mechanics) -> list[tuple[Any, int]]:
    """(coordinate, index within it) of every velocity."""
    return [(c, i) for c in mechanics.tree.coordinates for i in range(len(c.v))]


def velocity_names(mechanics: Mechanics) -> list[str]:
    """Names of the velocities in order."""
    return [c.velocity_names[i] for c, i in velocity_places(mechanics)]


# --- small linear algebra on expressions ---------------------------------------------------------------------------


def determinant(table: Sequence[Sequence[Expr]]) -> Expr:
    """Determinant by expansion along the first row, minors shared."""
    known: dict[tuple[int, ...], Expr] = {(): ONE}

    def minor(columns: tuple[int, ...]) -> Expr:
        if columns not in known:
            row = table[len(table) - len(columns)]
            known[columns] = total(
                mul(row[k] if i % 2 == 0 else neg(row[k]), minor((*columns[:i], *columns[i + 1 :])))
                for i, k in enumerate(columns) if row[k] is not ZERO
            )  # fmt: skip
        return known[columns]

    return minor(tuple(range(len(table))))


def solve(rows: Sequence[Sequence[Expr]], right: Sequence[Expr]) -> list[Expr]:
    """Unknowns of a linear system: equations with one unknown first, then Cramer's rule for what is left."""
    n = len(rows)
    found: dict[int, Expr] = {}
    left = list(range(n))
    while True:
        single = [(i, [k for k in range(n) if k not in found and rows[i][k] is not ZERO]) for i in left]
        ready = [(i, ks[0]) for i, ks in single if len(ks) == 1]
        if not ready:
            break
        i, k = min(ready, key=lambda x: operations([rows[x[0]][x[1]]]).flops)
        found[k] = tidy(div(_without_known(rows[i], right[i], found), rows[i][k]))
        left.remove(i)
    unknown = [k for k in range(n) if k not in found]
    if unknown:
        A = [[rows[i][k] for k in unknown] for i in left]
        b = [_without_known(rows[i], right[i], found) for i in left]
        D = tidy(determinant(A))
        for j, k in enumerate(unknown):
            replaced = [[*row[:j], e, *row[j + 1 :]] for row, e in zip(A, b, strict=True)]
            found[k] = tidy(div(tidy(determinant(replaced)), D))
    return [found[k] for k in range(n)]


def _without_known(row: Sequence[Expr], right: Expr, found: Mapping[int, Expr]) -> Expr:
    return sub(right, total(mul(row[k], e) for k, e in found.items()))


# --- positions that meet the constraints ---------------------------------------------------------------------------


def default_values(eq: Equations) -> dict[Expr, float]:
    """Parameters, inputs and states at the model's values, t = 0."""
    values = dict(zip(eq.p, eq.model.parameter_set.values().tolist(), strict=True)) | {eq.t: 0.0}
    values |= {i.symbol: float(i.value) for i in eq.model.inputs.values()}
    return values | {s.symbol: float(s.initial) for s in eq.model.states.values()}


def consistent_points(eq: Equations, count: int = POINTS) -> list[dict[Expr, float]]:
    """Values of all symbols at random positions on the constraints (Newton's method with shortest corrections)."""
    rng = np.random.default_rng(7)
    given = default_values(eq)
    points = []
    for _ in range(40):
        q = rng.uniform(0.2, 1.2, len(eq.q))
        q, residual = _closed(eq, q, given)
        if residual < 1e-8:
            points.append(given | dict(zip(eq.q, q.tolist(), strict=True)) | dict(zip(eq.v, rng.normal(size=len(eq.v)), strict=True)))
        if len(points) == count:
            return points
    if not points:
        raise InputError(f"model '{eq.model.name}': no position was found that closes its loops; check lengths and signs")
    return points


def _closed(eq: Equations, q: np.ndarray, given: Mapping[Expr, float]) -> tuple[np.ndarray, float]:
    quaternions = []
    at = 0
    for c in eq.tree.coordinates:
        if c.is_quaternion:
            quaternions.append(at)
        at += len(c.q)
    h = [r.expression for r in eq.rows if not r.nonholonomic]
    columns = jacobian(jvp(h, eq.flow), eq.v) if h else []
    rates = jacobian(eq.position_rates, eq.v)
    residual = 0.0
    for _ in range(30):
        for i in quaternions:
            q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
        if not h:
            return q, 0.0
        values = {**given, **dict(zip(eq.q, q.tolist(), strict=True)), **dict.fromkeys(eq.v, 0.0)}
        error = np.array([float(x) for x in evaluate(h, values)])
        residual = float(np.abs(error).max())
        if not np.isfinite(residual) or residual < 1e-12:
            break
        J = np.array([[float(x) for x in evaluate(row, values)] for row in columns])
        N = np.array([[float(x) for x in evaluate(row, values)] for row in rates])
        step = np.linalg.lstsq(J, -error, rcond=1e-10)[0]
        q = q + N @ step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300))
    return q, residual if np.isfinite(residual) else np.inf
