"""Inputs that move outputs of a system whose internal motion would run away: the bounded solution as a boundary-value problem.

    M q̈ + f(q, q̇, t) + Gᵀλ + Bᵀu = 0,   Φ(q) = 0,   b(q) = γ(t)   on (t₀ − before, t₁ + after)

The internal motion (that which stays free when outputs follow γ) has directions that decay forwards in time and others that decay backwards.  The
solution that stays bounded leaves its first rest along the second ones, before the outputs move, and comes to its last rest along the first
ones (Devasia, Chen & Paden 1996).  Central differences on even steps have positions alone as unknowns, so that constraints of any index hold at every node and no
alternating error arises; a correction by higher differences makes the result one of fourth order (deferred correction).  Conditions at the ends
are on the stable and unstable subspaces of the *discrete* equations about the rests, exact for linear systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import null_space, ordqz
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from ....errors import InputError, SolverError
from ..servo import finite_eigenvalues, index_of
from .along import Along, Balances, Triplets

if TYPE_CHECKING:
    from ..system import AssembledSystem

#: Part of a motion's size to which it is to have decayed at the ends of the interval: asked for, and taken where nothing is asked.
ENOUGH, DEFAULT = 0.05, 1e-4
#: |z| of directions from one node to the next within which they neither grow nor decay.
ON_THE_CIRCLE = 1e-6
#: Free coordinates up to which subspaces are found by dense matrices.
MOST = 1500


@dataclass(frozen=True)
class Rest:
    """An equilibrium under given outputs: coordinates, multipliers, directions that constraints leave, and M, D, K of the internal motion there."""

    t: float
    q: np.ndarray
    lam: np.ndarray
    directions: np.ndarray
    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray

    @property
    def eigenvalues(self) -> np.ndarray:
        """Those of the internal motion (1/s), slowest first."""
        return finite_eigenvalues(self.mass, self.damping, self.stiffness)

    def conditions(self, h: float, growing: bool) -> np.ndarray:
        """Rows W of W (ηₙ, ηₙ₊₁) = 0 that leave only internal motions that grow from node to node, or only those that do not."""
        k = len(self.mass)
        A2, A1 = self.mass / h**2 + self.damping / (2.0 * h), self.stiffness - 2.0 * self.mass / h**2
        A0 = self.mass / h**2 - self.damping / (2.0 * h)
        one, zero = np.eye(k), np.zeros((k, k))

        def left(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return (np.abs(a) > (1.0 + ON_THE_CIRCLE) * np.abs(b)) == growing

        *_, alpha, beta, _, Z = ordqz(np.block([[zero, one], [-A0, -A1]]), np.block([[one, zero], [zero, A2]]), sort=left, output="real")
        return np.asarray(Z[:, int(left(alpha, beta).sum()) :].T)


@dataclass(frozen=True)
class Inverse:
    """A motion with the inputs that bring it about: times, all coordinates, rates, inputs (columns as ``names``), the rests it joins, how many
    steps Newton's method took, and what the last correction changed in the coordinates."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    inputs: np.ndarray
    names: list[str]
    rests: tuple[Rest, Rest]
    iterations: int
    error: float


def rest_at(along: Along, t: float, q: np.ndarray, lam: np.ndarray | None = None) -> Rest:
    """The equilibrium near coordinates with the outputs as they are at an instant; where it is not alone, the nearest one."""
    name, n = along.system.name, along.size
    x = np.concatenate([q[along.free], np.zeros(along.count) if lam is None else lam])
    still, when = np.zeros((1, n)), np.array([t])
    size = max(1.0, float(np.abs(q).max(initial=0.0)))
    for step in range(60):
        here = along(x[None, :n], still, when, x[None, n:])
        K, A, G = here.stiffness.at(0, (n, n)), here.acting.at(0, (along.count, n)), here.rows.at(0, (along.count, n))
        J = np.block([[K.toarray(), A.toarray().T], [G.toarray(), np.zeros((along.count, along.count))]])
        scale = 1.0 / np.maximum(np.abs(J).max(axis=1), 1e-300)
        change = np.linalg.lstsq(scale[:, None] * J, -scale * np.concatenate([here.force[0], here.value[0]]), rcond=1e-11)[0]
        moved = float(np.abs(change[:n]).max(initial=0.0))
        x += change * min(1.0, 0.5 * size / max(moved, 1e-300))
        if not np.isfinite(moved):
            break
        if moved <= 1e-12 * size or (step > 20 and moved <= 1e-9 * size):
            N, L = (null_space(x, rcond=1e-10) if along.count else np.eye(n) for x in (G.toarray(), A.toarray()))
            if N.shape != L.shape:
                raise InputError(f"system '{name}': the inputs act on fewer directions than outputs are prescribed in; prescribe others")
            here = along(x[None, :n], still, when, x[None, n:])
            D = here.damping.at(0, (n, n)).toarray()
            K = here.stiffness.at(0, (n, n)).toarray()
            return Rest(t, x[:n].copy(), x[n:].copy(), N, L.T @ (along.mass @ N), L.T @ D @ N, L.T @ K @ N)
    raise SolverError(f"system '{name}': no equilibrium near the start holds the outputs of t = {t:g} s; let courses begin and end at rest")


def grid(span: tuple[float, float], step: float, before: float, after: float) -> np.ndarray:
    """Even nodes, none further apart than ``step``, with the ends of the course among them."""
    h = (span[1] - span[0]) / np.ceil((span[1] - span[0]) / step * (1.0 - 1e-9))
    first, last = (int(np.ceil(x / h * (1.0 - 1e-9))) for x in (before, after))
    return span[0] + h * np.arange(-first, round((span[1] - span[0]) / h) + last + 1)


def stable_inverse(
    system: AssembledSystem, span: tuple[float, float], step: float, before: float | None = None, after: float | None = None
) -> Inverse:
    """The bounded solution for the servo constraints of a system, whose courses lie in ``span`` (s); by default it decays to 1e-4 at its ends."""
    along = Along(system, f"stable inversion of '{system.name}'")
    if along.size > MOST:
        raise InputError(
            f"stable inversion of '{system.name}': {along.size} coordinates; subspaces are found by dense matrices of up to {MOST}: take a coarser mesh"
        )
    first = rest_at(along, span[0], system.q0)
    before, after = _lengths(system.name, first.eigenvalues, before, after)
    t = grid(span, step, before, after)
    check_course(along, t, first)
    path = _rests_along(along, t, first)
    bvp = BoundaryValue(along, t, (path[0], path[-1]))
    times = [r.t for r in path]
    Q, lam = (CubicSpline(times, [getattr(r, part) for r in path])(t) for part in ("q", "lam"))
    Q, lam, steps, error = bvp.solve(Q, lam[1:-1])
    u = lam[:, along.count - along.inputs :]
    inputs = np.vstack([3.0 * (u[0] - u[1]) + u[2], u, 3.0 * (u[-1] - u[-2]) + u[-3]])
    return told(along, t, Q, inputs, (path[0], path[-1]), steps, error)


def told(along: Along, t: np.ndarray, Q: np.ndarray, inputs: np.ndarray, rests: tuple[Rest, Rest], steps: int, error: float) -> Inverse:
    """A motion of free coordinates on even nodes, with rates of fourth order."""
    v = np.zeros((len(t), along.equations.nq))
    v[:, along.free] = np.gradient(Q, t, axis=0, edge_order=2)
    if len(t) > 4:
        v[2:-2, along.free] = (8.0 * (Q[3:-1] - Q[1:-3]) - (Q[4:] - Q[:-4])) / (12.0 * (t[1] - t[0]))
    return Inverse(t, along.full(Q), v, inputs, along.names[along.count - along.inputs :], rests, steps, error)


def _lengths(name: str, internal: np.ndarray, before: float | None, after: float | None) -> tuple[float, float]:
    """How long before and after the course the solution is sought; refuses what is too short for the slowest internal motion."""
    far = 1e-5 * (1.0 + np.abs(internal).max(initial=0.0))
    rates = {"before": internal.real[internal.real > far], "after": -internal.real[internal.real < -far]}
    found = []
    for word, given in (("before", before), ("after", after)):
        slowest = float(rates[word].min()) if rates[word].size else 0.0
        length = (-np.log(DEFAULT) / slowest if slowest else 0.0) if given is None else float(given)
        if not (length >= 0.0 and np.isfinite(length)):
            raise InputError(f"stable inversion of '{name}': {word} = {given!r} s must be a number that is not negative")
        needed = -np.log(ENOUGH) / slowest if slowest else 0.0
        if length < needed * (1.0 - 1e-9):
            raise InputError(
                f"stable inversion of '{name}': {word} = {length:g} s is too short for the slowest internal motion ({slowest:.3g} 1/s), which has to decay to "
                f"{ENOUGH:.0%} there; take {word} = {needed:.3g} s at least, {-np.log(DEFAULT) / slowest:.3g} s for {DEFAULT:g}"
            )
        found.append(length)
    return found[0], found[1]


def _rests_along(along: Along, t: np.ndarray, first: Rest, count: int = 24) -> list[Rest]:
    """Equilibria under the outputs of some instants, one from the other: a first guess of the motion."""
    path = [rest_at(along, float(t[0]), along.full(first.q[None])[0], first.lam)]
    for when in np.linspace(t[0], t[-1], count + 1)[1:]:
        path.append(_rest_after(along, path[-1], float(when)))
    return path


def _rest_after(along: Along, last: Rest, when: float, halvings: int = 7) -> Rest:
    """The equilibrium at an instant from one before; where Newton's method does not come so far, over one half-way."""
    try:
        return rest_at(along, when, along.full(last.q[None])[0], last.lam)
    except SolverError:
        if halvings == 0:
            raise
    middle = _rest_after(along, last, 0.5 * (last.t + when), halvings - 1)
    return _rest_after(along, middle, when, halvings - 1)


def check_course(along: Along, t: np.ndarray, rest: Rest) -> None:
    """Refuses courses that do not begin and end at rest, and such as are not smooth enough for the index of their equations."""
    name, q = along.system.name, along.full(rest.q[None])[0]
    index = index_of(rest.mass, rest.damping, rest.stiffness)
    if index is None:
        raise InputError(f"inversion of '{name}': the inputs cannot steer the outputs; prescribe outputs that they act on")
    order = max(index - 2, 2)
    rates = along.course_rates(q, t, order)
    for k in (1, 2):
        for end, word in ((0, "begins"), (-1, "ends")):
            if np.abs(rates[k, end]).max(initial=0.0) > 1e-6 * np.abs(rates[k]).max(initial=0.0):
                raise InputError(
                    f"inversion of '{name}': a course {word} in motion at t = {t[end]:.6g} s; it has to be at rest there, with its first two derivatives zero"
                )
    for k in range(index - 1):
        if (jump := _jump(along, q, k, t, rates[k])) is not None:
            what = "jumps" if k == 0 else f"has a derivative of order {k} that jumps"
            raise InputError(
                f"inversion of '{name}': a course {what} at t = {jump:.6g} s; equations of index {index} need courses with {index - 2} continuous derivatives"
            )


def _jump(along: Along, q: np.ndarray, k: int, t: np.ndarray, values: np.ndarray) -> float | None:
    """An instant at which a derivative of a course jumps: a change between neighbours that stays when they come together."""

    def f(times: np.ndarray) -> np.ndarray:
        return along.course_rates(q, times, k)[k]

    change = np.abs(np.diff(values, axis=0)).max(axis=1, initial=0.0)
    looked = np.argsort(change)[-4:]
    looked = looked[change[looked] > 1e-6 * float(np.abs(values).max(initial=0.0))]
    a, b = t[looked], t[looked + 1]
    for _ in range(40):
        first, middle, last = np.split(f(np.concatenate([a, 0.5 * (a + b), b])), 3)
        left = np.abs(middle - first).max(axis=1) > np.abs(last - middle).max(axis=1)
        a, b = np.where(left, a, 0.5 * (a + b)), np.where(left, 0.5 * (a + b), b)
    first, last = np.split(f(np.concatenate([a, b])), 2)
    jumps = np.abs(last - first).max(axis=1, initial=0.0) > 0.1 * change[looked]
    return float(a[jumps].min()) if jumps.any() else None


class BoundaryValue:
    """The equations at all nodes of an even grid, and Newton's method on them."""

    def __init__(self, along: Along, t: np.ndarray, rests: tuple[Rest, Rest]) -> None:
        self.along, self.t, self.rests, self.h = along, t, rests, float(t[1] - t[0])
        n, m, N = along.size, along.count, len(t) - 1
        #: Where the coordinates of each node and the multipliers of those inside are among the unknowns.
        self.at_q = np.concatenate([[0], n + (n + m) * np.arange(N)])
        self.at_lam = self.at_q[1:N] + n
        self.size = (N + 1) * n + (N - 1) * m
        self._ends = tuple((rest.conditions(self.h, first), rest.directions) for rest, first in zip(rests, (True, False), strict=True))
        away = [2 * len(rests[0].mass) - len(self._ends[0][0]), len(self._ends[1][0])]
        if away[0] != away[1]:
            raise InputError(
                f"system '{along.system.name}': {away[0]} directions of the internal motion run away at the start of the course and {away[1]} at its end, "
                "so that no bounded motion is determined between; prescribe other outputs"
            )
        self._corrections = np.zeros((2, N + 1, n))
        #: Part of the inertia that acts.
        self._inertia = 1.0

    # -- pieces ------------------------------------------------------------------------------------------------------------

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates at all nodes and multipliers at those inside."""
        n, m = self.along.size, self.along.count
        return x[self.at_q[:, None] + np.arange(n)], x[self.at_lam[:, None] + np.arange(m)]

    def joined(self, Q: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """The vector of unknowns."""
        x = np.zeros(self.size)
        x[self.at_q[:, None] + np.arange(self.along.size)] = Q
        x[self.at_lam[:, None] + np.arange(self.along.count)] = lam
        return x

    def evaluate(self, x: np.ndarray, matrix: bool = True) -> tuple[np.ndarray, csc_matrix | None]:
        """Residuals: first rest, rows of node 0, balance and rows of the nodes inside, rows of the last node, last rest; and their derivative."""
        Q, lam = self.split(x)
        h, (two, one) = self.h, self._corrections
        a = (Q[2:] - 2.0 * Q[1:-1] + Q[:-2]) / h**2 + two[1:-1]
        v = (Q[2:] - Q[:-2]) / (2.0 * h) + one[1:-1]
        padded = np.vstack([np.zeros((1, lam.shape[1])), lam, np.zeros((1, lam.shape[1]))])
        here = self.along(Q, np.vstack([np.zeros_like(v[:1]), v, np.zeros_like(v[:1])]), self.t, padded)
        balance = here.force[1:-1] + self._inertia * (self.along.mass @ a.T).T
        start, end = self._end_values(Q)
        inside = np.hstack([balance, here.value[1:-1]]).ravel()
        r = np.concatenate([start, here.value[0], inside, here.value[-1], end])
        return r, self._matrix(here) if matrix else None

    def _end_values(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = []
        for (W, N), rest, pair in zip(self._ends, self.rests, (Q[:2], Q[-2:]), strict=True):
            found.append(W @ ((pair - rest.q) @ N).ravel())
        return found[0], found[1]

    def _matrix(self, here: Balances) -> csc_matrix:
        n, m, N, h = self.along.size, self.along.count, len(self.t) - 1, self.h
        found = Triplets((self.size, self.size))
        put = found.put
        (W0, N0), (WN, NN) = self._ends
        begin = len(W0) + m + (n + m) * np.arange(N - 1)[:, None]  # of the balances of the nodes inside
        inside = slice(1, N)
        M = self.along.mass.tocoo()
        for shift, factor, rate in ((-1, 1.0, -0.5), (0, -2.0, 0.0), (1, 1.0, 0.5)):
            at = self.at_q[1 + shift : N + shift, None]
            put(self._inertia * factor / h**2 * M.data, begin + M.row, at + M.col)
            if rate:
                put(rate / h * here.damping.values[inside], begin + here.damping.rows, at + here.damping.columns)
        at = self.at_q[inside, None]
        put(here.stiffness.values[inside], begin + here.stiffness.rows, at + here.stiffness.columns)
        put(here.acting.values[inside], begin + here.acting.columns, self.at_lam[:, None] + here.acting.rows)
        put(here.rows.values[inside], begin + n + here.rows.rows, at + here.rows.columns)
        last = len(W0) + m + (n + m) * (N - 1)
        put(here.rows.values[0], len(W0) + here.rows.rows, here.rows.columns)
        put(here.rows.values[-1], last + here.rows.rows, self.at_q[-1] + here.rows.columns)
        k = N0.shape[1]
        for W, basis, row, nodes in ((W0, N0, 0, (0, 1)), (WN, NN, last + m, (N - 1, N))):
            for part, node in enumerate(nodes):
                block = W[:, part * k : (part + 1) * k] @ basis.T
                put(block, row + np.arange(len(W))[:, None], self.at_q[node] + np.arange(n)[None, :])
        return found.matrix()

    # -- Newton's method ---------------------------------------------------------------------------------------------------

    def solve(self, Q: np.ndarray, lam: np.ndarray, tolerance: float = 1e-11) -> tuple[np.ndarray, np.ndarray, int, float]:
        """Coordinates and multipliers at all nodes from a guess; damped by the natural monotonicity test, then corrected to fourth order."""
        x, steps = self._approached(self.joined(Q, lam), tolerance)
        error = 0.0
        for _ in range(3):
            before = x
            self._correct(self.split(x)[0])
            x, more = self._newton(x, tolerance)
            steps += more
            error = float(np.abs(self.split(x)[0] - self.split(before)[0]).max())
        return *self.split(x), steps, error

    def _approached(self, x: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
        """Newton's method from a guess at rest; where that is too far, with inertia that grows from a tenth."""
        try:
            return self._newton(x, tolerance)
        except SolverError:
            steps = 0
            for self._inertia in (0.1, 0.3, 0.6, 1.0):
                x, more = self._newton(x, tolerance)
                steps += more
            return x, steps
        finally:
            self._inertia = 1.0

    def _newton(self, x: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
        name, size, last = self.along.system.name, max(1.0, float(np.abs(self.split(x)[0]).max())), np.inf
        r, J = self.evaluate(x)
        for steps in range(1, 61):
            try:
                solve = splu(J).solve  # type: ignore[arg-type]
            except RuntimeError:
                raise SolverError(
                    f"system '{name}': outputs and inputs do not determine the internal motion; an input without effect on the outputs?"
                ) from None
            change = -solve(r)
            length, part = self._length(change), 1.0
            if not np.isfinite(length):
                break
            if length <= tolerance * size or (length <= 1e-8 * size and length > 0.3 * last):
                return x + change, steps
            while True:
                tried = x + part * change
                r = self.evaluate(tried, matrix=False)[0]
                then = self._length(solve(r)) if np.isfinite(r).all() else np.inf
                if then <= (1.0 - 0.25 * part) * length or part < 1e-4:
                    break
                part *= 0.5
            if part < 1e-4:
                break
            x, last = tried, length
            r, J = self.evaluate(x)
        raise SolverError(
            f"system '{name}': the boundary-value problem of the inversion does not converge; take smaller steps or a slower course"
        )

    def _length(self, change: np.ndarray) -> float:
        return float(np.abs(self.split(change)[0]).max(initial=0.0))

    def _correct(self, Q: np.ndarray) -> None:
        """What differences of fourth order add to those of second, at the nodes where they reach."""
        h, (two, one) = self.h, self._corrections
        fourth = Q[4:] - 4.0 * Q[3:-1] + 6.0 * Q[2:-2] - 4.0 * Q[1:-3] + Q[:-4]
        third = Q[4:] - 2.0 * Q[3:-1] + 2.0 * Q[1:-3] - Q[:-4]
        two[2:-2], one[2:-2] = -fourth / (12.0 * h**2), -third / (12.0 * h)


__all__ = ["BoundaryValue", "Inverse", "Rest", "check_course", "grid", "rest_at", "stable_inverse", "told"]
