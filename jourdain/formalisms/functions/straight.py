"""Constrained equations as straight-line code: dependent velocities eliminated in an order that is known before, with a number that says whether it is sure.

The order suits most positions of a mechanism.  Whether it suits the present one is told by the leading minors of each block's square part against the lengths of
its rows (Hadamard), columns weighed by 1/√M_jj so that units do not count: where a minor Δ has Δ² ≥ ε² ∏ |row|², no entry of Z in J Z = 0 is above 1/ε in this
measure, and what rounding spoils stays bounded.  A row that vanishes is one of rounding: none counts as shorter than a third of the longest that hangs together with it.
Elsewhere (near dead points of the dependent coordinates, near singular positions) kernels with pivoting take over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import prod

from ...symbolic.expr import ONE, ZERO, Expr, binary, div, mul, neg, sub
from ...symbolic.function import SymbolicFunction
from ..equations import Equations
from ..loops.elimination import Block, NullSpace, leading_minors
from ..tree.acceleration_loads import explicit_forces, symmetric_mass_matrix
from ..tree.mass_factor import SparseFactor
from .registry import assemble, builder, vector_result

#: Square of the fraction of the longest row that hangs together with it as which a shorter row counts.
SHORT = 0.1


def least_minor(size: int) -> float:
    """ε² for a leading minor of so many rows: larger ones are smaller by nature."""
    return float(0.1 ** (size + 2))


class _Eliminated:
    """The null space of all constraints in a given order, with the mass matrix reduced to it."""

    def __init__(self, eq: Equations, order: Sequence[Block]) -> None:
        self.eq, self.order = eq, order
        dependent = {j for _, columns in order for j in columns}
        self.space = NullSpace(eq.constraint_jacobian, order, [j for j in range(eq.tree.nv) if j not in dependent], eq.tree.nv)
        self.M = symmetric_mass_matrix(eq)

    def solution(self, M: Sequence[Sequence[Expr]], forces: Sequence[Expr], g: Sequence[Expr]) -> list[Expr]:
        """a with M a = f + Jᵀλ, J a = g."""
        a0 = self.space.particular(dict(enumerate(g)))
        rest = list(forces)
        for i, row in enumerate(M):
            for entry, a in zip(row, a0, strict=True):
                if entry is not ZERO and a is not ZERO:
                    rest[i] = sub(rest[i], mul(entry, a))
        return self.space.extend(SparseFactor(self.space.reduce(M)).solve(self.space.project(rest)), a0)

    def accelerations(self) -> list[Expr]:
        """v̇ under all loads."""
        return self.solution(self.M, explicit_forces(self.eq), [neg(g) for g in self.eq.constraint_accelerations])

    def shortest(self, h: Sequence[Expr]) -> list[Expr]:
        """The shortest d with J d = h."""
        n = self.eq.tree.nv
        return self.solution([[ONE if i == j else ZERO for j in range(n)] for i in range(n)], [ZERO] * n, h)

    def impulse(self, w: Sequence[Expr]) -> list[Expr]:
        """The change of velocity M c = Jᵀμ with J c = −w."""
        return self.solution(self.M, [ZERO] * self.eq.tree.nv, [neg(e) for e in w])

    def sure(self) -> Expr:
        """Above zero where the order suits."""
        J, weight, found = self.eq.constraint_jacobian, [div(ONE, self.M[j][j]) for j in range(self.eq.tree.nv)], ONE
        length: dict[int, Expr] = {}
        for (i, j), e in J.items():
            length[i] = length.get(i, ZERO) + mul(mul(e, e), weight[j])
        for group in components(J, len(self.eq.rows)):
            longest = length[group[0]]
            for i in group[1:]:
                longest = binary("max", longest, length[i])
            for i in group:
                length[i] = binary("max", length[i], mul(longest, ONE * SHORT))
        for rows, columns in self.order:
            minors = leading_minors([[J.get((i, j), ZERO) for j in columns] for i in rows])
            bound, scale = accumulate((length[i] for i in rows), mul), accumulate((weight[j] for j in columns), mul)
            for k, (minor, b, w) in enumerate(zip(minors, bound, scale, strict=True), 1):
                if len(rows) == 2 and k == 1:
                    continue  # Cramer's rule has no pivot
                found = binary("min", found, sub(mul(mul(minor, minor), w), mul(b, ONE * least_minor(k))))
        return found


def components(pattern: Iterable[tuple[int, int]], m: int) -> list[list[int]]:
    """Rows that hang together by their columns."""
    own = list(range(m))  # of each row one that it hangs together with

    def root(i: int) -> int:
        while own[i] != i:
            i = own[i]
        return i

    first: dict[int, int] = {}
    for i, j in pattern:
        own[root(i)] = root(first.setdefault(j, i))
    found: dict[int, list[int]] = {}
    for i in range(m):
        found.setdefault(root(i), []).append(i)
    return list(found.values())


def _eliminated(eq: Equations, order: Sequence[Block]) -> _Eliminated:
    """The elimination, derived once."""
    known: dict[tuple[Block, ...], _Eliminated] = eq.__dict__.setdefault("_straight_eliminations", {})
    key = tuple(order)
    if key not in known:
        known[key] = _Eliminated(eq, order)
    return known[key]


@builder
def straight_rates_function(eq: Equations, order: tuple[Block, ...]) -> SymbolicFunction:
    """ẋ of a system with constraints; ``sure`` is above zero where the order of elimination suits."""
    e = _eliminated(eq, order)
    xdot = [*eq.position_rates, *e.accelerations(), *eq.explicit_state_rates]
    return assemble(eq, "straight_rates", "t x u", [vector_result("xdot", xdot), vector_result("sure", [e.sure()])])


@builder
def straight_closing_function(eq: Equations, order: tuple[Block, ...]) -> SymbolicFunction:
    """Residuals h of positions, and what puts a state back onto its constraints: the shortest displacement d with J d = h, and the change c of velocity by an
    ideal impulse; ``sure`` as in the rates.  All constraints are holonomic."""
    e, h = _eliminated(eq, order), [r.expression for r in eq.rows]
    results = [vector_result("h", h), vector_result("d", e.shortest(h)), vector_result("c", e.impulse(eq.constraint_velocities))]
    return assemble(eq, "straight_closing", "t x u", [*results, vector_result("sure", [e.sure()])])


def surety(J: Sequence[Sequence[float]], pattern: Sequence[Sequence[bool]], mass: Sequence[float], order: Sequence[Block]) -> float:
    """The least Δ²/(ε² ∏ |row|²) of an order in one position: it suits where this is above one."""
    n = len(mass)
    length = [sum(row[j] * row[j] / mass[j] for j in range(n)) for row in J]
    for group in components([(i, j) for i, row in enumerate(J) for j in range(n) if pattern[i][j]], len(J)):
        longest = max(length[i] for i in group)
        for i in group:
            length[i] = max(length[i], SHORT * longest)
    found = float("inf")
    for rows, columns in order:
        minors = leading_minors([[J[i][j] for j in columns] for i in rows])
        for k, minor in enumerate(minors, 1):
            if not (len(rows) == 2 and k == 1):
                bound = prod(length[i] for i in rows[:k]) * prod(mass[j] for j in columns[:k])
                found = min(found, minor * minor / (bound * least_minor(k)) if bound > 0.0 else 0.0)
    return found
