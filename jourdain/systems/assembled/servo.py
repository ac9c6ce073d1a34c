"""Servo constraints of an assembled system: what the inputs can do, consistent starts, projection of under-actuated cases.

The directions in which constraints let the system move form a space with the mass as its metric.  How the outputs' directions C stand to
those of the inputs B there decides how a servo constraint is realised (Blajer & Kołodziejczyk 2004): orthogonally, when every output is
accelerated by the inputs directly (index 3); tangentially, when none is; mixed, when some are (index above 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eig, eigh, null_space, svd
from scipy.sparse import bmat, csc_matrix, csr_matrix, diags
from scipy.sparse.linalg import splu

from ...elements.discrete.schemes import Scheme
from ...elements.servo_projection import Projected
from ...errors import InputError
from .instant import Equations, Instant
from .jets import Jets
from .program import Instance
from .start import TOLERATED, InconsistentState

if TYPE_CHECKING:
    from .system import AssembledSystem

#: Cosine between the spaces of inputs and outputs below which an output counts as not actuated.
FLAT = 1e-8
#: Highest index that the projection handles.
HIGHEST = 5


@dataclass(frozen=True)
class ServoReport:
    """How the servo constraints of a system are realised, at one state.

    ``realisation`` is "orthogonal", "mixed" or "tangential"; ``rank`` counts the outputs (of ``outputs``) that inputs accelerate directly, and
    ``cosines`` measure how well (1: along the constraint, 0: not at all); ``unactuated`` are outputs without any direct actuation.  ``index`` is the
    differentiation index of the equations (None: the inputs cannot steer the outputs).  ``internal`` are the eigenvalues (1/s) of the motion
    that stays free when the outputs rest; with a positive real part it runs away, and no simulation forward in time can follow the outputs.
    ``minimum_phase`` is how far outputs may be moved from where the inputs act (0) to where they are (1) before that happens.
    """

    outputs: tuple[str, ...]
    rank: int
    cosines: np.ndarray
    realisation: str
    unactuated: tuple[str, ...]
    index: int | None
    internal: np.ndarray
    minimum_phase: float = 1.0

    @property
    def stable(self) -> bool:
        """Whether the internal motion stays bounded (none at all, or no eigenvalue to the right of the imaginary axis)."""
        return _bounded(self.internal)

    def __str__(self) -> str:
        index = "the inputs cannot steer the outputs" if self.index is None else f"index {self.index}"
        lacking = f"; no direct actuation of {', '.join(self.unactuated)}" if self.unactuated else ""
        inner = (
            f"{self.internal.size} internal eigenvalues, {'stable' if self.stable else 'unstable'}"
            if self.internal.size
            else "no internal motion"
        )
        if self.minimum_phase < 1.0:
            inner += f", minimum-phase up to {self.minimum_phase:.4g} of the way from the inputs to the outputs"
        return f"{self.realisation} realisation, {self.rank} of {len(self.outputs)} outputs actuated directly, {index}{lacking}; {inner}"


@dataclass(frozen=True)
class ServoStart:
    """A state that meets servo constraints and their hidden conditions: coordinates, rates, accelerations and their rates, multipliers by name.

    ``moved`` is the largest change of a coordinate or rate against what was given; it belongs to ``worst``.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    jerk: np.ndarray
    multipliers: dict[str, float]
    moved: float
    worst: str

    def rates(self, scheme: Scheme, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rates, the scheme's accelerations and true ones with which a run starts without a transient.

        Along exact positions the rates of a scheme differ from q̇ by its local error, and generalized-α keeps accelerations of an instant
        (α_m − α_f) h off the grid; inputs would answer a start from q̇ and q̈ themselves by a decaying oscillation.
        """
        if not scheme.has_acceleration:
            return self.v - 0.5 * h * self.a, self.a, self.a
        shift = scheme.alpha_m - scheme.alpha_f
        return self.v + h**2 * (1.0 / 6.0 - scheme.beta - 0.5 * shift) * self.jerk, self.a + shift * h * self.jerk, self.a


def servo_rows(equations: Equations) -> np.ndarray:
    """Which rows are servo constraints."""
    found = [
        k >= len(step.row_names) - len(step.servo)
        for step, members in equations.groups
        for _ in members
        for k in range(len(step.row_names))
    ]
    return np.array(found, bool)


def _kept(system: AssembledSystem) -> tuple[np.ndarray, np.ndarray]:
    """Rows of constraints and of servo constraints that are not left out as redundant."""
    equations, dropped = system.equations, system.dropped or frozenset()
    kept, servo = np.array([name not in dropped for name in equations.row_names], bool), servo_rows(equations)
    return np.flatnonzero(kept & ~servo), np.flatnonzero(kept & servo)


def actuation(system: AssembledSystem, q: np.ndarray, v: np.ndarray, t: float) -> tuple[tuple[str, ...], np.ndarray, int, tuple[str, ...]]:
    """Names of the outputs, cosines between their space and that of the inputs in the metric of mass, their rank, outputs without actuation.

    With S_xy = X P (PᵀMP)⁻¹ Pᵀ Yᵀ of rows X, Y ∈ {C, B} and P the null space of the constraints, they are the singular values of
    S_cc^(−1/2) S_cb S_bb^(−1/2).
    """
    equations = system.equations
    now = equations.at(q, v, t)
    free, (holonomic, servo) = np.flatnonzero(equations.free), _kept(system)
    C, B = now.rows[servo][:, free].toarray(), now.acting[servo][:, free].toarray()
    answer = _accelerated(now.mass[free][:, free], now.rows[holonomic][:, free], np.vstack([C, B]).T)
    S = np.vstack([C, B]) @ answer
    k = len(servo)
    names = tuple(".".join(equations.row_names[i]) for i in servo)
    left, right = _inverse_root(S[:k, :k]), _inverse_root(S[k:, k:])
    size = np.sqrt(np.maximum(np.diag(S)[:k], 0.0))
    single = np.linalg.norm(S[:k, k:] @ right, axis=1) / np.where(size > 0.0, size, 1.0)
    cosines = svd(left @ S[:k, k:] @ right, compute_uv=False)
    lacking = tuple(name for name, c in zip(names, single, strict=True) if c <= FLAT)
    return names, cosines, int((cosines > FLAT).sum()), lacking


def _accelerated(mass: csr_matrix, rows: csr_matrix, forces: np.ndarray) -> np.ndarray:
    """Accelerations by some forces (columns) under constraints, by one sparse factorisation; redundant constraints do no harm."""
    n, m = mass.shape[0], rows.shape[0]
    scale = max(1e-300, float(abs(mass).max()) if mass.nnz else 1.0)
    exact = csc_matrix(bmat([[mass, rows.T], [rows, None]])) if m else csc_matrix(mass)
    lu = splu(csc_matrix(exact + diags(np.concatenate([np.full(n, 1e-15 * scale), np.full(m, -1e-13 / scale)]))))
    b = np.vstack([forces, np.zeros((m, forces.shape[1]))])
    x = lu.solve(b)
    for _ in range(2):
        x = x + lu.solve(b - exact @ x)
    return np.asarray(x[:n])


def _inverse_root(S: np.ndarray) -> np.ndarray:
    """S^(−1/2) of a symmetric positive semi-definite matrix, on its range."""
    values, vectors = eigh(0.5 * (S + S.T))
    good = values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300)
    return np.asarray((vectors[:, good] / np.sqrt(values[good])) @ vectors[:, good].T)


def servo_report(system: AssembledSystem, t: float = 0.0, q: np.ndarray | None = None, v: np.ndarray | None = None) -> ServoReport:
    """How the servo constraints of a system are realised at a state (default: its initial one); dense, for systems of some hundred coordinates."""
    equations = system.equations
    if not servo_rows(equations).any():
        raise InputError(f"system '{system.name}' has no servo constraints; add an element such as CoordinateServo or OutputServo")
    q = system.q0 if q is None else np.asarray(q, float)
    v = np.zeros_like(q) if v is None else np.asarray(v, float)
    names, cosines, rank, lacking = actuation(system, q, v, t)
    words = "orthogonal" if rank == len(names) else "mixed" if rank else "tangential"
    internal = _ZeroDynamics(system, q, t)
    polynomial = internal.polynomial()
    values = finite_eigenvalues(*polynomial)
    reach = 1.0 if _bounded(values) else internal.minimum_phase()
    return ServoReport(names, rank, cosines, words, lacking, index_of(*polynomial), values, reach)


class _ZeroDynamics:
    """The small motion with resting outputs about a state that constraints and inputs hold as far as they can."""

    def __init__(self, system: AssembledSystem, q: np.ndarray, t: float) -> None:
        equations, still = system.equations, np.zeros_like(q)
        free = np.flatnonzero(equations.free)
        now = equations.at(q, still, t)
        self.rows, self.acting = now.rows[:, free].toarray(), now.acting[:, free].toarray()
        self.servo = servo_rows(equations)
        lam = np.linalg.lstsq(self.acting.T, -now.force[free], rcond=1e-10)[0] if len(self.acting) else np.zeros(0)
        self.K, D = (A[free][:, free].toarray() for A in equations.tangent(q, still, t, lam))
        mass = now.mass[free][:, free].toarray()
        first = np.diag(equations.first[free].astype(float))  # ż = f: no second derivatives
        self.M, self.D = mass - first @ mass, D + first @ mass
        self._left = _left_free(self.acting)

    def polynomial(self, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M', D', K', balanced in the directions that neither constraints nor inputs act on; ``rows`` other than the outputs' own."""
        N, L = _left_free(self.rows if rows is None else rows), self._left
        return _projected(self.M, L, N), _projected(self.D, L, N), _projected(self.K, L, N)

    def minimum_phase(self) -> float:
        """How far outputs may go from those that the inputs work on (0) to their own (1) before the internal motion runs away.

        Outputs between are (1 − s) α B + s C, where α B is moved by a slow input as C is; beyond 200 directions it is not looked for (NaN).
        """
        if self._left.shape[1] > 200:
            return float("nan")
        C, B = self.rows[self.servo], self.acting[self.servo]
        P = _left_free(self.rows[~self.servo])
        K, M = P.T @ self.K @ P, P.T @ self.M @ P
        squares = np.abs(eig(0.5 * (K + K.T), M + 1e-14 * np.abs(M).max() * np.eye(len(M)), right=False))
        slowest = squares[squares > 1e-9 * squares.max()].min(initial=squares.max())
        slow = P @ np.linalg.lstsq(K + 1e-6 * slowest * M, P.T @ B.T, rcond=1e-14)[0]
        near = np.linalg.lstsq((B @ slow).T, (C @ slow).T, rcond=None)[0].T @ B

        def bounded(s: float) -> bool:
            rows = self.rows.copy()
            rows[self.servo] = (1.0 - s) * near + s * C
            return _bounded(finite_eigenvalues(*self.polynomial(rows)))

        good, bad = 0.0, None
        for s in np.linspace(0.0, 1.0, 21):
            if not bounded(s):
                bad = float(s)
                break
            good = float(s)
        if bad is None or bad == 0.0:
            return good
        while bad - good > 1e-6:
            middle = 0.5 * (good + bad)
            good, bad = (middle, bad) if bounded(middle) else (good, middle)
        return good


def _left_free(rows: np.ndarray) -> np.ndarray:
    """Directions (columns) that some rows leave free."""
    return np.asarray(null_space(rows, rcond=1e-10)) if rows.size else np.eye(rows.shape[1])


def _bounded(internal: np.ndarray) -> bool:
    """Whether no eigenvalue lies to the right of the imaginary axis."""
    return bool(np.all(internal.real <= 1e-5 * (1.0 + np.abs(internal).max(initial=0.0))))


def _projected(A: np.ndarray, L: np.ndarray, N: np.ndarray) -> np.ndarray:
    """Lᵀ A N without what is rounding against A."""
    found = L.T @ A @ N
    return np.where(np.abs(found) > 1e-8 * np.abs(A).max(initial=0.0), found, 0.0)


def index_of(M: np.ndarray, D: np.ndarray, K: np.ndarray) -> int | None:
    """3, and one more for every derivative by which s² (M s² + D s + K)⁻¹ grows at high frequency s."""
    if M.shape[0] != M.shape[1]:
        return None
    if M.size == 0:
        return 3
    size = [float(np.abs(A).max()) for A in (M, D, K)]
    rate = max(np.sqrt(size[2] / size[0]) if size[0] > 0.0 else 0.0, size[2] / size[1] if size[1] > 0.0 else 0.0, 1.0)
    slopes = []
    for s in (30.0 * rate, 300.0 * rate):
        X = M * s**2 + D * s + K
        values = svd(X, compute_uv=False)
        if values[-1] <= 1e-15 * values[0]:
            return None
        slopes.append(np.log10(s**2 / values[-1]))
    return 3 + max(0, round(slopes[1] - slopes[0]))


def finite_eigenvalues(M: np.ndarray, D: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Eigenvalues of M s² + D s + K other than those at infinity, slowest first."""
    n = M.shape[0]
    if n == 0 or M.shape[0] != M.shape[1]:
        return np.zeros(0, complex)
    one, zero = np.eye(n), np.zeros((n, n))
    a, b = eig(np.block([[zero, one], [-K, -D]]), np.block([[one, zero], [zero, M]]), right=False, homogeneous_eigvals=True)
    finite = np.abs(b) > 1e-7 * (np.abs(a) + np.abs(b))
    values = a[finite] / b[finite]
    return values[np.argsort(np.abs(values))]


# -- starts and projection ----------------------------------------------------------------------------------------------------


def servo_start(system: AssembledSystem, t: float = 0.0) -> ServoStart:
    """The state nearest to the initial one that meets the servo constraints, their hidden conditions and the derivatives of both.

    Inputs of an under-actuated system depend on derivatives of the prescribed motion up to the fourth, so positions and rates of all bodies
    follow from it; ``system.set_state(start.q, start.v)`` takes them over.
    """
    equations = system.equations
    if equations.first.any():
        name = equations.coordinate_names[int(np.argmax(equations.first))]
        raise InputError(
            f"system '{system.name}': consistent starts of servo constraints are not offered with first-order coordinates such as '{name}'"
        )
    jets = Jets(equations, 3)
    q0, v0 = system.q0, system.v0
    x = jets.consistent(q0, v0, t, system.name)
    nq = equations.nq
    q, v, a, jerk = (x[k * nq : (k + 1) * nq] for k in range(4))
    lam = x[6 * nq : 6 * nq + jets.m]
    change = np.concatenate([q - q0, v - v0])
    k = int(np.argmax(np.abs(change)))
    worst = f"coordinate {equations.coordinate_names[k % nq]}" if k < nq else f"rate of {equations.coordinate_names[k % nq]}"
    names = [f"{i}.{r}" for i, r in equations.row_names]
    return ServoStart(q, v, a, jerk, dict(zip(names, lam.tolist(), strict=True)), float(abs(change[k])), worst)


def check_actuation(system: AssembledSystem, q: np.ndarray, v: np.ndarray, t: float, method: str) -> None:
    """Refuses servo constraints that a scheme without projection cannot solve."""
    if not servo_rows(system.equations).any():
        return
    names, _, rank, lacking = actuation(system, q, v, t)
    if rank < len(names):
        which = ", ".join(f"'{n}'" for n in lacking or names)
        raise InputError(
            f"simulate '{system.name}': the inputs do not accelerate the outputs {which} directly ({rank} of {len(names)} do), so the equations have an "
            f'index above 3 and \'{method}\' cannot solve them as they stand; use servo="projected" with method="generalized-alpha" or '
            '"backward-euler", or let inputs act on these outputs'
        )


def check_projection(system: AssembledSystem, chosen: Scheme, t: float) -> ServoStart:
    """The start of a projected run; refuses schemes and systems that it does not serve, and inconsistent states."""
    equations = system.equations
    if not servo_rows(equations).any():
        raise InputError(f"system '{system.name}' has no servo constraints to project; leave out servo=\"projected\"")
    if chosen.evaluation != "end" or chosen.theta != 1.0:
        raise InputError(
            f"simulate '{system.name}': servo=\"projected\" needs forces at the end of the step, '{chosen.name}' has them elsewhere; "
            'use method="generalized-alpha" (second order), "newmark" or "backward-euler"'
        )
    report = servo_report(system, t)
    if report.index is None or report.index > HIGHEST:
        what = "the inputs cannot steer the outputs" if report.index is None else f"the index is {report.index}"
        raise InputError(
            f"simulate '{system.name}': {what}; the projection serves an index up to {HIGHEST}: let inputs act nearer to {', '.join(report.outputs)}"
        )
    start = servo_start(system, t)
    limit = 10.0 * TOLERATED * max(1.0, float(np.abs(start.q).max()), float(np.abs(start.v).max()))
    if start.moved > limit:
        raise InconsistentState(
            f"simulate '{system.name}': the initial {start.worst} contradicts the servo constraints' derivatives by {start.moved:.3g}; "
            "start = system.servo_start() and system.set_state(start.q, start.v) give a consistent state"
        )
    return start


def even_step(name: str, span: float, step: float, adaptive: bool) -> float:
    """The step of a projected run, at most ``step``, that divides the span: inputs answer every change of it by an oscillation."""
    if adaptive:
        raise InputError(f"simulate '{name}': servo=\"projected\" needs steps of one size; leave out adaptive=True")
    return span / np.ceil(span / step * (1.0 - 1e-9)) if step > 0.0 and span > 0.0 else step


def projected_instances(system: AssembledSystem) -> list[Instance]:
    """The elements of a system with their servo constraints projected."""
    equations = system.equations
    now = equations.at(system.q0, system.v0, 0.0)
    with_servo = [i for i in system.instances if any(True for _ in _declared(i))]
    mass = now.mass.toarray()
    inverse = np.linalg.pinv(mass, rcond=1e-13, hermitian=True)
    _refuse_massless(system, now, mass, inverse)
    _refuse_coupled(system, now, inverse)
    found = []
    for instance in system.instances:
        if instance not in with_servo:
            found.append(instance)
            continue
        index = np.concatenate([np.arange(h.offset, h.offset + h.size) for b in instance.element.blocks for h in (instance.blocks[b],)])
        numbers = np.concatenate([instance.numbers, inverse[np.ix_(index, index)].ravel()])
        found.append(Instance(Projected(instance.element), instance.name, instance.blocks, numbers))
    return found


def _declared(instance: Instance) -> Sequence[object]:
    from ...elements.element import symbols_of

    return instance.element.servo(symbols_of(instance.element))


def _refuse_massless(system: AssembledSystem, now: Instant, mass: np.ndarray, inverse: np.ndarray) -> None:
    """Outputs must be functions of coordinates with mass."""
    equations = system.equations
    C = now.rows[servo_rows(equations)].toarray()
    lost = np.abs(C - C @ inverse @ mass) * equations.free
    if lost.size and lost.max() > 1e-8 * max(1.0, np.abs(C).max()):
        k = int(np.argmax(lost.max(axis=0)))
        raise InputError(
            f"system '{system.name}': a servo constraint prescribes '{equations.coordinate_names[k]}', which has no mass of its own; "
            "write the output with the coordinates of bodies to project it"
        )


def _refuse_coupled(system: AssembledSystem, now: Instant, inverse: np.ndarray) -> None:
    """Outputs that accelerate each other through a common mass must stand in one element."""
    equations = system.equations
    at = np.flatnonzero(servo_rows(equations))
    C = now.rows[at].toarray() * equations.free
    S = np.abs(C @ inverse @ C.T)
    owner = [equations.row_names[k][0] for k in at]
    for i, a in enumerate(owner):
        for j, b in enumerate(owner):
            if a < b and S[i, j] > 1e-12 * np.sqrt(S[i, i] * S[j, j]):
                raise InputError(
                    f"system '{system.name}': servo constraints '{a}' and '{b}' prescribe the same body; declare them in one element to project them"
                )


def at_instants(means: np.ndarray) -> np.ndarray:
    """Values at the ends of steps from means over the step before (the first row repeats the first mean).

    Averages of neighbours are free of the alternating error of first order that means of servo inputs have; the ends follow from those inside.
    """
    u = means[1:]
    if u.size < 4:
        return means
    inside = 0.5 * (u[1:] + u[:-1])
    return np.concatenate([[3.0 * (inside[0] - inside[1]) + inside[2]], inside, [3.0 * (inside[-1] - inside[-2]) + inside[-3]]])


__all__ = ["at_instants", "ServoReport", "ServoStart", "servo_report", "servo_start"]
