"""The coordinates of a model in the energy-consistent engine as functions of its joint coordinates, with their derivatives.

    x(q, t),   ẋ = X v + x_t,   ẍ = X v̇ + Ẋ v + …        X = ∂x/∂q along the velocities

By them results of the one are translated into the language of the other: modes, equilibria, forces along a motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...symbolic.derivatives import jvp, sparse_jacobian
from ...symbolic.expr import ONE, Expr
from ...symbolic.graph import evaluate

if TYPE_CHECKING:
    from ...analysis.equations.residual import Point
    from .from_model import DirectorAssembly


class DirectorMotion:
    """Coordinates of a model's assembled system by time, positions, velocities and accelerations of its tree."""

    def __init__(self, built: DirectorAssembly) -> None:
        self.built = built
        self.reference = built.own.reference
        self.eq = self.reference.equations_of_motion
        self.n = sum(h.size for h in built.system.handles)
        self._offsets = {h.name: h.offset for h in built.system.handles}
        #: Places of the user's states.
        self.states = [self._offsets[f"state {name}"] for name in self.reference.model.states]
        self.bodies = [self._offsets[name] for name in self.reference.model.bodies]

    def known(self, point: Point) -> dict[Expr, Any]:
        """Numbers of the tree's symbols at a point."""
        eq = self.eq
        values: dict[Expr, Any] = dict(zip(eq.p, self.reference.parameter_vector, strict=True)) | {eq.t: point.t}
        for symbols, array in ((eq.q, point.q), (eq.v, point.v), (eq.a, point.a), (eq.z, point.z), (eq.u, point.u)):
            values |= dict(zip(symbols, array, strict=True))
        return values

    @cached_property
    def _tied(self) -> list[tuple[list[int], list[Expr]]]:
        """Coordinates beside those of bodies: their places, and values, rates and accelerations as expressions of the tree."""
        eq, tied = self.eq, self.built.tied
        places = [self._offsets[name] + i for name, (x, _) in tied.items() for i in range(len(x))]
        values, rates = (eq.resolve([e for item in tied.values() for e in item[k]]) for k in range(2))
        flow = {**dict(zip(eq.q, eq.position_rates, strict=True)), **dict(zip(eq.v, eq.a, strict=True)), eq.t: ONE}
        return [(places, values), (places, rates), (places, jvp(rates, flow))]

    # -- values ---------------------------------------------------------------------------------------------------

    def at(self, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, ẋ and ẍ; inputs that are held stand among x."""
        p, R, v, w, J, bias = self.reference.function("bodies_motion")(np.array([point.t]), point.q, point.v)
        acceleration = (J @ point.a + bias).reshape(-1, 6)
        x, xd, xdd = np.zeros((3, self.n))
        for k, at in enumerate(self.bodies):
            d = R[k].T
            rate = np.cross(w[k], d)
            x[at : at + 12] = np.concatenate([p[k], d.ravel()])
            xd[at : at + 12] = np.concatenate([v[k], rate.ravel()])
            turned = np.cross(acceleration[k, 3:], d) + np.cross(w[k], rate)
            xdd[at : at + 12] = np.concatenate([acceleration[k, :3], turned.ravel()])
        values = self.known(point)
        for target, (places, expressions) in zip((x, xd, xdd), self._tied, strict=True):
            target[places] = evaluate(expressions, values) if places else 0.0
        x[self.states] = point.z
        for name, value in zip(self.reference.model.inputs, point.u, strict=True):
            if (block := f"input {name}") in self._offsets:
                x[self._offsets[block]] = value
        return x, xd, xdd

    def accelerations(self, x: np.ndarray, xdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v̇ of the origins and ω̇ of all bodies from ẍ: ω̇ = ½ Σ dᵢ × d̈ᵢ."""
        rows = [
            (xdd[at : at + 3], 0.5 * np.cross(x[at + 3 : at + 12].reshape(3, 3), xdd[at + 3 : at + 12].reshape(3, 3)).sum(axis=0))
            for at in self.bodies
        ]
        return np.array([r[0] for r in rows]), np.array([r[1] for r in rows])

    # -- derivatives ----------------------------------------------------------------------------------------------

    def changes(self, point: Point, dq: np.ndarray, dv: np.ndarray, da: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """δx, δẋ, δẍ for columns of changes δq (along the velocities), δv, δv̇."""
        _, R, _, w, J, bias = self.reference.function("bodies_motion")(np.array([point.t]), point.q, point.v)
        wd = (J @ point.a + bias).reshape(-1, 6)[:, 3:]
        moved, twist, acceleration = J @ dq, J @ dv, J @ da
        if np.any(point.v) or np.any(point.a) or np.any(w):
            by_q, by_v = self._twist_slopes(point)
            n = len(J)
            twist = twist + by_q[:n] @ dq
            acceleration = acceleration + by_q[n:] @ dq + by_v[n:] @ dv
        found = np.zeros((3, self.n, dq.shape[1]))
        for k, at in enumerate(self.bodies):
            rows, spins = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            for target, change in zip(found, (moved, twist, acceleration), strict=True):
                target[at : at + 3] = change[rows]
            for i, d in enumerate(R[k].T):
                place = slice(at + 3 + 3 * i, at + 6 + 3 * i)
                first = -skew(d) @ moved[spins]
                second = -skew(d) @ twist[spins] + skew(w[k]) @ first
                rate = np.cross(w[k], d)
                found[0, place], found[1, place] = first, second
                found[2, place] = -skew(d) @ acceleration[spins] + skew(wd[k]) @ first - skew(rate) @ twist[spins] + skew(w[k]) @ second
        if self._tied[0][0]:
            self._tied_changes(point, found, dq, dv, da)
        return found[0], found[1], found[2]

    def rates(self, point: Point, v: np.ndarray) -> np.ndarray:
        """X v for columns of velocities."""
        return self.changes(point, v, 0.0 * v, 0.0 * v)[0]

    def _turning(self, q: np.ndarray) -> np.ndarray:
        """N with q̇ = N v."""
        c = self.reference.configuration
        return np.asarray(c.rate(np.broadcast_to(q, (c.nv, c.nq)), np.eye(c.nv)).T)

    @cached_property
    def _twists(self) -> list[Expr]:
        """Velocities and accelerations of all bodies (6 rows each), as expressions of the tree."""
        results: Mapping[str, Sequence[Expr]] = {r.name: r.expressions for r in self.reference.symbolic("bodies_motion").outputs}
        n, nv = len(self.bodies), len(self.eq.v)
        pairs = [(results["v"][3 * k : 3 * k + 3], results["w"][3 * k : 3 * k + 3]) for k in range(n)]
        twists = [e for v, w in pairs for e in (*v, *w)]
        accelerations = []
        for i, b in enumerate(results["bias"]):
            total = b
            for e, a in zip(results["J"][i * nv : (i + 1) * nv], self.eq.a, strict=True):
                total = total + e * a
            accelerations.append(total)
        return twists + accelerations

    def _twist_slopes(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        values = self.known(point)
        return (
            _table(self._twists, self.eq.q, values) @ self._turning(point.q), _table(self._twists, self.eq.v, values),
        )  # fmt: skip

    def _tied_changes(self, point: Point, found: np.ndarray, dq: np.ndarray, dv: np.ndarray, da: np.ndarray) -> None:
        values, N = self.known(point), self._turning(point.q)
        for target, (places, expressions) in zip(found, self._tied, strict=True):
            by_q, by_v, by_a = (_table(expressions, s, values) for s in (self.eq.q, self.eq.v, self.eq.a))
            target[places] = by_q @ (N @ dq) + by_v @ dv + by_a @ da


def skew(v: np.ndarray) -> np.ndarray:
    """The matrix of v ×."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def _table(expressions: Sequence[Expr], wrt: Sequence[Expr], values: Mapping[Expr, Any]) -> np.ndarray:
    """Numbers of ∂fᵢ/∂xⱼ."""
    entries = sparse_jacobian(expressions, wrt)
    table = np.zeros((len(expressions), len(wrt)))
    for (i, j), x in zip(entries, evaluate(list(entries.values()), values), strict=True):
        table[i, j] = x
    return table


__all__ = ["DirectorMotion", "skew"]
