"""Joint-level null spaces: the relative motions of a pair at mean and at end coordinates, and the reduction of closed loops.

A tree of pairs moves with the twists t = Σ (v_j + ω_j × (φ − p_j), ω_j) ẇ_j of its joints; with the vectors of a joint at the *mean*
coordinates of a step the discrete gradients of all its constraints vanish along it exactly (Uhlar, Secs. 4.2, 5.2; Betsch &
Leyendecker 2006).  Closed loops reduce it further, ẇ = P^oc ν, by variable reduction or, for planar legs of three hinges, explicitly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import ZERO, Expr, add, mul, sub, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import substitute
from ...symbolic.vectors import Vector
from ..augmentation import Screw
from ..carriers import Directors, Ground, PlanarDirectors
from ..element import Element, Reduction, Symbols, symbols_of
from ..pairs import Freedom, Pair, numbers

#: Where between q₀ and q₁ the rows of a scheme are evaluated.
_THETA = symbol("theta", "time")


def freedoms_of(element: Element) -> int | None:
    """Number of relative motions of an element that is a pair between director bodies (or the ground); None if it is no such pair."""
    if not isinstance(element, Pair) or not all(isinstance(side, (Directors, PlanarDirectors, Ground)) for side in (element.a, element.b)):
        return None
    try:
        return len(element.freedoms(symbols_of(element)))
    except (NotImplementedError, ValueError):
        return None


@dataclass(frozen=True)
class PairMotion:
    """The motions of a pair as functions of the coordinates at both ends of a step.

    ``mean(q₀, q₁, θ)`` gives the joint point p of body b and (ω, v) of every freedom at the coordinates q₀ + θ (q₁ − q₀), ``end(q₀, q₁)``
    those of the configuration q₁, along which finite motions keep the pair.  ``slope(q₀, q₁, θ, F, M, P)`` gives for every freedom the
    derivative of v·F + ω·(M − (p − P) × F) by the local unknowns: increments of the blocks in ``reduced`` (spaces of bodies), coordinates
    otherwise.  ``discrete`` says whether rows are discrete gradients (θ = ½) or gradients at the point.
    """

    pair: Pair
    reduced: tuple[tuple[str, Reduction], ...] = ()
    discrete: bool = True

    @cached_property
    def _symbols(self) -> tuple[Symbols, tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
        """Symbols of the declaration, of q₀, of q₁, and of the constants."""
        s, n = symbols_of(self.pair), self.pair.size
        q0, q1 = (tuple(symbol(f"{name}[{i}]", "position") for i in range(n)) for name in ("q0", "q1"))
        return s, q0, q1, tuple(e for c in self.pair.constants for e in numbers(s, c))

    def _written(self, freedoms: Sequence[Freedom], mid: Sequence[Expr]) -> list[Expr]:
        """p, then ω and v of every freedom, with the mean coordinates ``mid``."""
        pair, (s, q0, q1, _) = self.pair, self._symbols
        expressions = list(pair.b.point(s.mid, "b", numbers(s, "point_b")))
        for omega, v in freedoms:
            expressions += [*omega, *v]
        values: dict[Expr, Expr] = {}
        for names, at in ((s.at0, q0), (s.at1, q1), (s.mid, mid)):
            values |= dict(zip([e for b in pair.blocks for e in getattr(names, b)], at, strict=True))
        return substitute(expressions, values)

    @cached_property
    def _mean(self) -> list[Expr]:
        s, q0, q1, _ = self._symbols
        point = [add(a, mul(_THETA, sub(b, a))) for a, b in zip(q0, q1, strict=True)]
        pair = self.pair
        return self._written(pair.freedoms(s, self.discrete) if isinstance(pair, Screw) else pair.freedoms(s), point)

    @property
    def count(self) -> int:
        """Number of freedoms."""
        return len(self._mean) // 6

    @property
    def unknowns(self) -> list[tuple[str, int]]:
        """Local unknowns (block, index) in the order of the derivatives."""
        reduced = dict(self.reduced)
        return [(b, i) for b, n in self.pair.blocks.items() for i in range(reduced[b].size if b in reduced else n)]

    def _function(self, name: str, inputs: Sequence[Expr], outputs: Sequence[Expr]) -> SymbolicFunction:
        constants = self._symbols[3]
        arguments = (Argument("x", tuple(inputs)), Argument("constants", constants))
        return SymbolicFunction(
            name, arguments if constants else arguments[:1], (Result("y", tuple(outputs), (len(outputs),)),), self.pair.name
        )

    def mean(self) -> SymbolicFunction:
        """p, then ω and v of every freedom."""
        _, q0, q1, _ = self._symbols
        return self._function("mean", (*q0, *q1, _THETA), self._mean)

    def end(self) -> SymbolicFunction:
        """The same at q₁; the pitch of a screw is there the one of its bodies, whatever its coordinates are in an iteration."""
        s, q0, q1, _ = self._symbols
        freedoms = self.pair.freedoms(s)
        if isinstance(self.pair, Screw):
            axis = freedoms[0][0]
            freedoms = [(axis, axis * s.pitch)]
        return self._function("end", q0 + q1, self._written(freedoms, q1))

    def slope(self) -> SymbolicFunction:
        """Derivatives by the local unknowns, one freedom after the other."""
        (_, q0, q1, _), values = self._symbols, self._mean
        given = tuple(symbol(f"{letter}[{i}]", "velocity") for letter in "FMP" for i in range(3))
        F, M, P = (Vector(*given[k : k + 3]) for k in (0, 3, 6))
        p = Vector(*values[:3])
        moments = []
        for k in range(self.count):
            omega, v = (Vector(*values[a : a + 3]) for a in (6 * k + 3, 6 * k + 6))
            moments.append(v.dot(F) + omega.dot(M - (p - P).cross(F)))
        entries = sparse_jacobian(moments, q1)
        outputs: list[Expr] = []
        for k in range(self.count):
            first = 0
            for block, n in self.pair.blocks.items():
                row = [entries.get((k, first + i), ZERO) for i in range(n)]
                outputs += _chained(row, q1[first : first + n], dict(self.reduced).get(block))
                first += n
        return self._function("slope", (*q0, *q1, _THETA, *given), outputs)


def _chained(row: Sequence[Expr], q: Sequence[Expr], reduction: Reduction | None) -> list[Expr]:
    """∂/∂δ from ∂/∂q: the row times the null space at q."""
    if reduction is None:
        return list(row)
    basis, found = reduction.basis(q), []
    for a in range(reduction.size):
        total = ZERO
        for e, line in zip(row, basis, strict=True):
            total = add(total, mul(e, line[a]))
        found.append(total)
    return found


# -- closed loops -----------------------------------------------------------------------------------------------------------------------


def variable_reduction(
    rows: NDArray[np.float64], independent: Sequence[int] | None = None, tolerance: float = 1e-10
) -> tuple[NDArray[np.float64], list[int]]:
    """P^oc with rows · P^oc = 0 whose independent rates are themselves joint rates, and their numbers (Uhlar, eqs. 5.98–5.104).

    Without a given set the dependent rates are chosen by QR with column pivoting, which also finds the rank of redundant rows.

    >>> P, chosen = variable_reduction(np.array([[3.0, 1.0]]))
    >>> P.ravel().tolist(), chosen
    ([-0.3333333333333333, 1.0], [1])
    """
    from scipy.linalg import lstsq, qr

    n = rows.shape[1]
    if independent is None:
        _, R, order = qr(rows, mode="economic", pivoting=True)
        d = np.abs(np.diag(R))
        rank = int((d > tolerance * max(1e-300, d.max(initial=0.0))).sum())
        independent = sorted(int(i) for i in order[rank:])
    dependent = [j for j in range(n) if j not in set(independent)]
    P = np.zeros((n, len(independent)))
    P[list(independent)] = np.eye(len(independent))
    if dependent:
        P[dependent] = -lstsq(rows[:, dependent], rows[:, list(independent)])[0]
    return P, list(independent)


def planar_transfer(to: NDArray[np.float64], of: NDArray[np.float64]) -> NDArray[np.float64]:
    """B of t(to) = B t(of): the planar twist (v, ω) of one point of a rigid body by that of another (eq. 5.60)."""
    r = np.asarray(to, float) - np.asarray(of, float)
    return np.array([[1.0, 0.0, -r[1]], [0.0, 1.0, r[0]], [0.0, 0.0, 1.0]])


def planar_hinge(at: NDArray[np.float64], hinge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twist of a body with the reference point ``at`` that turns about a hinge at unit rate (eq. 5.64)."""
    return planar_transfer(at, hinge)[:, 2].copy()


def leg_gradients(columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """g_I (rows) of a leg of three hinges, θ̇_I = g_I · (t_end − B t_base), and the indicators ζ_I, which vanish at singular legs.

    ``columns`` holds the twists P_I of the end body for unit rates of the three hinges; Ξ_I projects off those of the two others
    (eqs. 5.84–5.91).
    """
    gradients, indicators = np.zeros((3, 3)), np.zeros(3)
    for i in range(3):
        own, j, k = columns[:, i], columns[:, (i + 1) % 3], columns[:, (i + 2) % 3]
        off_k = np.eye(3) - np.outer(k, k) / (k @ k)
        p = off_k @ j
        xi = off_k - np.outer(p, p) / (p @ p)
        indicators[i] = own @ xi @ own
        gradients[i] = xi @ own / indicators[i]
    return gradients, indicators


@dataclass(frozen=True)
class PlanarPlatform:
    """A planar manipulator: a base and an end platform joined by legs of three hinges each (3-RRR machine; Uhlar, Sec. 5.2).

    ``base`` and ``end`` are the platforms' reference points, ``legs`` the three hinge places of every leg from the base to the end.
    """

    base: NDArray[np.float64]
    end: NDArray[np.float64]
    legs: Sequence[Sequence[NDArray[np.float64]]]

    def columns(self, leg: int) -> NDArray[np.float64]:
        """Twists of the end platform for unit rates of the hinges of a leg."""
        return np.column_stack([planar_hinge(self.end, x) for x in self.legs[leg]])

    @property
    def indicators(self) -> NDArray[np.float64]:
        """ζ of all hinges, leg by leg: a row near 0 belongs to a stretched or folded leg."""
        return np.array([leg_gradients(self.columns(i))[1] for i in range(len(self.legs))])

    def by_platforms(self) -> NDArray[np.float64]:
        """Rates (t_base, all hinges leg by leg) for independent (t_end, t_base): valid while no indicator vanishes (eqs. 5.89–5.90)."""
        rows = [np.hstack([np.zeros((3, 3)), np.eye(3)])]
        carried = planar_transfer(self.end, self.base)
        for i in range(len(self.legs)):
            g, _ = leg_gradients(self.columns(i))
            rows.append(np.hstack([g, -g @ carried]))
        return np.vstack(rows)

    def by_leg(self, leg: int) -> NDArray[np.float64]:
        """The same rates for independent (t_base, hinges of one leg), for configurations where that leg is singular (eqs. 5.92–5.97)."""
        rows, columns = [np.hstack([np.eye(3), np.zeros((3, 3))])], self.columns(leg)
        for i in range(len(self.legs)):
            part = np.eye(3) if i == leg else leg_gradients(self.columns(i))[0] @ columns
            rows.append(np.hstack([np.zeros((3, 3)), part]))
        return np.vstack(rows)

    def closure(self) -> NDArray[np.float64]:
        """Rows G of G (t_base, all hinges) = 0: every leg moves the end platform as the first does."""
        n = 3 + 3 * len(self.legs)
        rows = np.zeros((3 * (len(self.legs) - 1), n))
        for i in range(1, len(self.legs)):
            part = rows[3 * i - 3 : 3 * i]
            part[:, 3:6] = self.columns(0)
            part[:, 3 + 3 * i : 6 + 3 * i] = -self.columns(i)
        return rows


def choose(platform: PlanarPlatform, limit: float = 1e-2) -> tuple[NDArray[np.float64], Mapping[str, object]]:
    """P^oc by the platforms while all indicators are large, else by the leg nearest to its singularity, and what was chosen."""
    zeta = platform.indicators
    scale = float(zeta.max())
    if zeta.min() > limit * scale:
        return platform.by_platforms(), {"independent": "platforms", "indicator": float(zeta.min() / scale)}
    leg = int(np.argmin(zeta.min(axis=1)))
    return platform.by_leg(leg), {"independent": "leg", "leg": leg, "indicator": float(zeta.min() / scale)}


__all__ = [
    "PairMotion", "PlanarPlatform", "choose", "freedoms_of", "leg_gradients", "planar_hinge", "planar_transfer", "variable_reduction",
]  # fmt: skip
