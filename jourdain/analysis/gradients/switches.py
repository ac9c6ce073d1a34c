"""Hidden switches: laws that jump on a surface without an event of the model, which plain differentiation would not see.

``where(v > 0, F, -F)`` is constant on both sides of v = 0; its derivative misses that the surface is met earlier or later.  In gradient runs
such surfaces become located events.  Where laws only bend (a continuous ``where``, ``abs``, ``minimum``) rates are the same on both sides and moving the
instant changes nothing, but steps over a sharp bend have wrong slopes, however small their own error is: steps end there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...native.function import Function, compile_function
from ...symbolic.expr import KINDS, Expr, brief, neg, sub
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import free_symbols, topological
from ...systems.touching import PairOfShapes
from .contact.meetings import Meeting
from .runs import Differentiable

#: A rate that changes by more than this part of its largest value within a tiny time jumps.
JUMP = 1e-6
#: Slopes on both sides of a surface that differ by more than this part bend; how far beside it they are taken, in parts of the way between two rows.
BEND, BESIDE = 1e-2, 1e-4
#: Slopes whose differences at these two distances are in such a proportion, as those of x^p with 0 < p < 2, have infinite ones beside the surface; those of a
#: kink are the same at both.
STEEP, KINK, STEEP_BESIDE = 0.27, 0.93, (0.08, 0.02)
#: A bend that changes a rate within a step by less than this part of its largest value does not matter to slopes.
SHARP = 1e-5
#: How many crossings of a surface are looked at.
MOST = 20


def surface_text(surface: Expr | PairOfShapes | Meeting) -> str:
    """What is zero on a surface, for messages."""
    return brief(surface) if isinstance(surface, Expr) else "the gap of two shapes"


@dataclass(frozen=True)
class Switch:
    """A law that was switched: when, and the expression that was zero."""

    t: float
    surface: str


@dataclass(frozen=True, eq=False)
class Crossings:
    """Where surfaces cut lines between two rows: which surface, the parts of its line just before and behind it, and points by parts."""

    which: np.ndarray
    low: np.ndarray
    high: np.ndarray
    at: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def surfaces(expressions: Sequence[Expr]) -> list[Expr]:
    """Expressions whose zeros switch branches or signs of others, or where ``abs``, ``minimum`` and ``maximum`` turn."""
    found: dict[int, Expr] = {}
    for e in topological(expressions):
        if e.op == "where":
            for c in topological([e.args[0]]):
                if c.op in ("lt", "le"):
                    _add(found, sub(c.args[0], c.args[1]))
        elif e.op in ("sign", "abs"):
            _add(found, e.args[0])
        elif e.op in ("min", "max"):
            _add(found, sub(e.args[0], e.args[1]))
    return list(found.values())


def _add(found: dict[int, Expr], e: Expr) -> None:
    if e.deps & ~KINDS["parameter"]:
        found.setdefault(e.id, e)


class Surfaces:
    """Surfaces of the laws of a run, read along its steps."""

    def __init__(
        self, run: Differentiable, laws: Sequence[Expr], integrands: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    ) -> None:
        eq, self.integrands = run.eq, integrands
        self.run, self.laws = run, list(laws)
        bad = KINDS["acceleration"]
        self.items = [e for e in surfaces(self.laws) if not e.deps & bad]
        #: Surfaces beside which slopes are infinite, as those of x^(3/2) that has an end there.
        self.steep: set[int] = set()
        #: Where crossings count in one direction only.
        self.directions: dict[int, int] = {}
        if run.renews:
            known = {x.id for g in eq.resolve([e.guard for e in run.events.values()]) for x in (g, neg(g))}
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

    def crossed(self, t: np.ndarray, x: np.ndarray) -> tuple[list[int], list[int]]:
        """Which surfaces were crossed inside steps with a jump of rates or integrands, and which others with a sharp bend; with memories all count as jumps."""
        if self.items and self.run.renews:
            return self._with_memories(t, x), []
        found = self.crossings(t, x)
        if found is None:
            return [], []
        before, after = (self._rates(*found.at(part)) for part in (found.low, found.high))
        size = np.maximum(np.maximum(np.abs(before), np.abs(after)), self._sizes(t, x))
        jumped = (np.abs(after - before) > JUMP * size).any(axis=1)
        change, bent, steep = self._bends(found)
        sharp = (bent & (steep | (change > SHARP * size))).any(axis=1)
        self.steep |= set(found.which[(bent & steep).any(axis=1)].tolist())
        jumps, bends = (set(found.which[rows].tolist()) for rows in (jumped, sharp))
        return sorted(jumps), sorted(bends - jumps)

    def bent(self, t: np.ndarray, x: np.ndarray) -> list[Switch]:
        """Where surfaces were crossed with a bend of rates or integrands, each the first time."""
        found = self.crossings(t, x)
        if found is None:
            return []
        times, first = found.at(found.low)[0], dict[int, Switch]()
        for i in np.flatnonzero(self._bends(found)[1].any(axis=1)).tolist():
            j = int(found.which[i])
            first.setdefault(j, Switch(float(times[i]), brief(self.items[j])))
        return list(first.values())

    def _bends(self, found: Crossings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By how much slopes along the lines differ on both sides (change of a rate on a whole line), where that is more than curvature, and where it
        grows with the distance: their slopes have no slope."""
        size, change = self._slopes(found, BESIDE)
        far, near = (self._slopes(found, x) for x in STEEP_BESIDE)
        bent, steep = (c > BEND * (np.maximum(s, 1e-3 * s.max(axis=0)) + 1e-300) for s, c in ((size, change), far))
        nearer = near[1] / (far[1] + 1e-300)
        steep &= (nearer > STEEP) & (np.abs(nearer - 1.0) > 1.0 - KINK)
        return change, bent | steep, steep

    def _slopes(self, found: Crossings, beside: float) -> tuple[np.ndarray, np.ndarray]:
        """Slopes along the lines, the larger of both sides, and by how much they differ."""
        low, high = found.low, found.high
        width = np.minimum(beside, 0.25 * np.maximum(np.minimum(low, 1.0 - high), 1e-9) * beside / STEEP_BESIDE[0])
        sides = [
            [self._rates(*found.at(part)) for part in (a, b)]
            for a, b in ((low - 2.0 * width, low - width), (high + width, high + 2.0 * width))
        ]
        before, after = ((b - a) / width[:, None] for a, b in sides)
        return np.maximum(np.abs(before), np.abs(after)), np.abs(after - before)

    def crossings(self, t: np.ndarray, x: np.ndarray) -> Crossings | None:
        """Surfaces that were crossed, each where it cuts the line from the last row before to the first behind it."""
        if not self.items:
            return None
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
        if not crossings:
            return None
        which, first, last = np.array(crossings).T
        rows, none, one = np.arange(len(which)), np.zeros(len(which)), np.ones(len(which))

        def at(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return t[first] + part * (t[last] - t[first]), x[first] + part[:, None] * (x[last] - x[first])

        side = np.sign(g[first, which])
        return Crossings(which, *bracketed(lambda part: self.read(*at(part))[rows, which], none, one, side), at)

    def _with_memories(self, t: np.ndarray, x: np.ndarray) -> list[int]:
        """Which surfaces were crossed inside steps, at whose ends memories are still those of their beginnings."""
        inside = np.flatnonzero(np.diff(t) > 0)
        ends, n = x[inside + 1].copy(), x.shape[1] - len(self.run.held)
        ends[:, n:] = x[inside, n:]
        first, last = self.read(t[inside], x[inside]), self.read(t[inside + 1], ends)
        far = 1e-9 * np.maximum(np.abs(first), np.abs(last)).max(axis=0)
        first, last = (np.where(np.abs(g) > far, np.sign(g), 0.0) for g in (first, last))
        on = (last[:-1] == 0.0) & (first[1:] == 0.0) & (np.diff(inside) == 1)[:, None]
        for i in np.flatnonzero(on.any(axis=1)).tolist():  # steps that end on a surface, as those do that a jump has made ever shorter
            first[i + 1] = np.where(on[i], first[i], first[i + 1])
        rising, falling = (np.logical_or.reduce((way * first < 0.0) & (way * last > 0.0)) for way in (1.0, -1.0))
        found: list[int] = np.flatnonzero(rising | falling).tolist()
        held = set(self.run.held)
        for j in found:  # renewals put what they follow back to zero, which is no crossing
            if rising[j] != falling[j] and held.intersection(free_symbols([self.items[j]])):
                self.directions[j] = 1 if rising[j] else -1
        return found

    def _sizes(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """How large rates and switched integrands become."""
        inside = np.diff(t) > 0
        most = np.abs(np.diff(x, axis=0)[inside] / np.diff(t)[inside, None]).max(axis=0, initial=0.0)
        most = np.maximum(most, 1e-6 * most.max())
        return most if self.integrands is None else np.concatenate([most, np.abs(self.integrands(t, x)).max(axis=0)])

    def _rates(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Rates and switched integrands in rows."""
        found, modes = np.zeros_like(x), np.array([self.run.mode_at(now) for now in t.tolist()])
        for mode in np.unique(modes).tolist():
            rows = modes == mode
            here = np.zeros((int(np.count_nonzero(rows)), x.shape[1]))
            self.run.rate(t[rows], x[rows], here, mode)
            found[rows] = here
        return found if self.integrands is None else np.hstack([found, self.integrands(t, x)])


def bracketed(
    values: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, side: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points close together surely on both sides of zeros in [0, 1]: secants, a small interval around what they found, and halving where that is not enough."""
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
        left = (np.sign(values(begin)) != side) | (np.sign(values(end)) != -side)  # laws take a zero for one of the sides
        if not left.any():
            return begin, end
        near *= 100.0
        if near > 1e-6:
            break
    begin, end = np.where(left, low, begin), np.where(left, high, end)
    for k in range(56):
        middle = begin + (0.5 if k % 2 else 0.45) * (end - begin)
        sign = np.sign(values(middle))
        begin, end = np.where(sign == side, middle, begin), np.where(sign == -side, middle, end)
    return begin, end


__all__ = ["Surfaces", "Switch", "bracketed", "surfaces"]
