"""Hidden switches: laws that jump on a surface without an event of the model, which plain differentiation would not see.

``where(v > 0, F, -F)`` is constant on both sides of v = 0; its derivative misses that the surface is met earlier or later.  In gradient runs
such surfaces become located events.  Laws that only bend there (a continuous ``where``, ``abs``, ``minimum``) need none, unless the model has memories:
curves of crush devices are polygons, and a bend inside a step costs their slopes three digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...native.function import Function, compile_function
from ...symbolic.expr import KINDS, Expr, brief, neg, sub
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import free_symbols, topological
from .runs import Differentiable

#: A rate that changes by more than this part of its largest value within a tiny time jumps.
JUMP = 1e-6
#: Slopes on both sides of a surface that differ by more than this part bend; how far beside it they are taken, in parts of the way between two rows.
BEND, BESIDE = 1e-2, 1e-4
#: How many crossings of a surface are looked at.
MOST = 20


@dataclass(frozen=True)
class Switch:
    """A law that was switched: when, and the expression that was zero."""

    t: float
    surface: str


def surfaces(expressions: Sequence[Expr], bends: bool = False) -> list[Expr]:
    """Expressions whose zeros switch branches or signs of others; with ``bends`` also those where ``abs``, ``minimum`` and ``maximum`` turn."""
    found: dict[int, Expr] = {}
    for e in topological(expressions):
        if e.op == "where":
            for c in topological([e.args[0]]):
                if c.op in ("lt", "le"):
                    _add(found, sub(c.args[0], c.args[1]))
        elif e.op == "sign" or (bends and e.op == "abs"):
            _add(found, e.args[0])
        elif bends and e.op in ("min", "max"):
            _add(found, sub(e.args[0], e.args[1]))
    return list(found.values())


def _add(found: dict[int, Expr], e: Expr) -> None:
    if e.deps & ~KINDS["parameter"]:
        found.setdefault(e.id, e)


class Surfaces:
    """Surfaces of the laws of a run, read along its steps."""

    def __init__(
        self, run: Differentiable, laws: Sequence[Expr], integrands: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
        bends: bool = False,
    ) -> None:  # fmt: skip
        """``bends`` looks for surfaces where laws bend, too."""
        eq, self.integrands = run.eq, integrands
        self.run, self.laws = run, list(laws)
        bad = KINDS["acceleration"]
        self.items = [e for e in surfaces(self.laws, bends or run.renews) if not e.deps & bad]
        #: Where crossings count in one direction only.
        self.directions: dict[int, int] = {}
        if run.renews:
            known = {x.id for g in eq.resolve([e.guard for e in run.system.model.events.values()]) for x in (g, neg(g))}
            self.items = [e for e in self.items if e.id not in known]
        self._function: Function | None = None
        self._p = run.system.parameter_vector
        if self.items:
            inputs = [Argument(n, tuple(a)) for n, a in run.arrays.items()]
            inputs += [Argument("a", eq.a), Argument("lam", run.multipliers)]
            if eq.p:
                inputs.append(Argument("p", eq.p))
            result = Result("g", tuple(self.items), (len(self.items),))
            self._function = compile_function(
                SymbolicFunction("surfaces", tuple(inputs), (result,)), run.system.parameter_vector if eq.p else None
            )

    def read(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """All surfaces at rows of states."""
        assert self._function is not None
        run, n = self.run, len(t)
        if self._function.signature.parameters and self._p is not run.system.parameter_vector:
            self._p = run.system.parameter_vector
            self._function.set_parameters(self._p)
        u = np.tile(run.u[: len(run.eq.u)], (n, 1))
        nothing = np.zeros((n, run.system.nv)), np.zeros((n, len(run.multipliers)))
        return np.asarray(self._function(t[:, None].copy(), x, u, *nothing)).reshape(n, -1)

    def jumping(self, t: np.ndarray, x: np.ndarray) -> list[int]:
        """Which surfaces were crossed inside steps with a jump of rates or integrands; with memories, also those with a bend."""
        if not self.items:
            return []
        if self.run.renews:
            return self._bending(t, x)
        crossings = self._crossings(t, x)
        return self._jumps(crossings, t, x) if len(crossings) else []

    def bent(self, t: np.ndarray, x: np.ndarray) -> list[Switch]:
        """Where surfaces were crossed with a bend of rates or integrands: their slopes along the way differ on both sides."""
        crossings = self._crossings(t, x) if self.items else np.zeros((0, 3), dtype=int)
        if not len(crossings):
            return []
        which = crossings[:, 0]
        low, high, on_line = self._brackets(crossings, t, x)
        width = np.minimum(BESIDE, 0.25 * np.maximum(np.minimum(low, 1.0 - high), 1e-9))
        sides = [
            [self._rates(*on_line(part)) for part in (a, b)]
            for a, b in ((low - 2.0 * width, low - width), (high + width, high + 2.0 * width))
        ]
        before, after = ((b - a) / width[:, None] for a, b in sides)
        size = np.maximum(np.abs(before), np.abs(after))
        size = np.maximum(size, 1e-3 * size.max(axis=0)) + 1e-300
        found: dict[int, Switch] = {}
        for i in np.flatnonzero((np.abs(after - before) > BEND * size).any(axis=1)).tolist():
            found.setdefault(int(which[i]), Switch(float(on_line(low)[0][i]), brief(self.items[which[i]])))
        return list(found.values())

    def _crossings(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Surfaces that were crossed, each with the last row before and the first behind it."""
        g = self.read(t, x)
        low, high = g.min(axis=0), g.max(axis=0)
        far = 1e-9 * np.maximum(np.abs(low), np.abs(high))
        both = np.flatnonzero((low < -far) & (high > far)).tolist()
        piece = np.concatenate([[0], np.cumsum(np.diff(t) == 0)]) if both else np.zeros(0)
        crossings: list[tuple[int, int, int]] = []
        for j in both:
            positive = g[:, j] > 0.0
            sure = np.flatnonzero(np.abs(g[:, j]) > far[j])
            changed = (positive[sure[:-1]] != positive[sure[1:]]) & (piece[sure[:-1]] == piece[sure[1:]])
            pairs = zip(sure[:-1][changed].tolist(), sure[1:][changed].tolist(), strict=True)
            crossings += [(j, low, high) for low, high in list(pairs)[:MOST]]
        return np.array(crossings, dtype=int).reshape(-1, 3)

    def _bending(self, t: np.ndarray, x: np.ndarray) -> list[int]:
        """Which surfaces were crossed inside steps, at whose ends memories are still those of their beginnings."""
        inside = np.flatnonzero(np.diff(t) > 0)
        ends, n = x[inside + 1].copy(), x.shape[1] - len(self.run.held)
        ends[:, n:] = x[inside, n:]
        first, last = self.read(t[inside], x[inside]), self.read(t[inside + 1], ends)
        far = 1e-9 * np.maximum(np.abs(first), np.abs(last)).max(axis=0)
        rising, falling = ((first < -far) & (last > far)).any(axis=0), ((first > far) & (last < -far)).any(axis=0)
        found: list[int] = np.flatnonzero(rising | falling).tolist()
        held = set(self.run.held)
        for j in found:  # renewals put what they follow back to zero, which is no crossing
            if rising[j] != falling[j] and held.intersection(free_symbols([self.items[j]])):
                self.directions[j] = 1 if rising[j] else -1
        return found

    def _brackets(self, crossings: np.ndarray, t: np.ndarray, x: np.ndarray) -> Any:
        """Where surfaces cut the straight lines between points on their two sides: parts just before and behind, and points by parts."""
        which, first, last = crossings.T
        rows = np.arange(len(which))
        low, high = np.zeros(len(which)), np.ones(len(which))
        side = np.sign(self.read(t[first], x[first])[rows, which])

        def on_line(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return t[first] + part * (t[last] - t[first]), x[first] + part[:, None] * (x[last] - x[first])

        def values(part: np.ndarray) -> np.ndarray:
            return self.read(*on_line(part))[rows, which]

        return *_bracketed(values, low, high, side), on_line

    def _jumps(self, crossings: np.ndarray, t: np.ndarray, x: np.ndarray) -> list[int]:
        """Surfaces that are crossed with a jump."""
        which = crossings[:, 0]
        low, high, on_line = self._brackets(crossings, t, x)
        before, after = (self._rates(*on_line(part)) for part in (low, high))
        inside = np.diff(t) > 0
        most = np.abs(np.diff(x, axis=0)[inside] / np.diff(t)[inside, None]).max(axis=0, initial=0.0)
        if self.integrands is not None:
            most = np.concatenate([most, np.abs(self.integrands(t, x)).max(axis=0)])
        n = x.shape[1]
        most[:n] = np.maximum(most[:n], 1e-6 * most[:n].max())
        size = np.maximum(np.maximum(np.abs(before), np.abs(after)), most)
        jumped = (np.abs(after - before) > JUMP * size).any(axis=1)
        return sorted(set(which[jumped].tolist()))

    def _rates(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Rates and switched integrands in rows."""
        found = np.zeros_like(x)
        for now, row, out in zip(t, x, found, strict=True):
            self.run.rate(float(now), row, out)
        return found if self.integrands is None else np.hstack([found, self.integrands(t, x)])


def _bracketed(
    values: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, side: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points close together on both sides of zeros in [0, 1]: secants, a small interval around what they found, and halving where that is not enough."""
    a, b, fa, fb = low, high, values(low), values(high)
    x = a
    for _ in range(6):
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(fb != fa, b - fb * (b - a) / (fb - fa), b)
        x = np.clip(np.nan_to_num(x, nan=0.5), low, high)
        a, b, fa, fb = b, x, fb, values(x)
    near = 1e-13
    while True:
        begin, end = np.maximum(x - near, low), np.minimum(x + near, high)
        left = (np.sign(values(begin)) != side) | (np.sign(values(end)) == side)
        if not left.any():
            return begin, end
        near *= 100.0
        if near > 1e-6:
            break
    begin, end = np.where(left, low, begin), np.where(left, high, end)
    for _ in range(48):
        middle = 0.5 * (begin + end)
        same = np.sign(values(middle)) == side
        begin, end = np.where(same, middle, begin), np.where(same, end, middle)
    return begin, end


__all__ = ["Surfaces", "Switch", "surfaces"]
