"""Self-stresses: reactions that balance each other in every body, and what joints share where constraints are redundant.

A self-stress is a set of multipliers with Jᵀλ = 0; rows that hold by themselves take part with any multiplier.  The wrenches
w = (F, T) that joints transmit are then known only up to a sum of self-stresses, w = w₀ + S c, and of all of them

    min_c  Σ over joints  |F|² + |T|²/ℓ²

is taken.  By the theorem of least work (Menabrea, Castigliano) this is what stiff equal springs at the joints carry, of stiffness k against
displacement and kℓ² against rotation along the directions that a joint holds, in the limit k → ∞.  The result does not depend on
coordinates, on the joints that were cut or on the order of rows; what is determined is not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...symbolic.graph import evaluate
from ..constraints import look_at_start
from ..state import State
from .redundancy import redundant_rows

if TYPE_CHECKING:
    from ..compiled import Compiled

#: Length ℓ of a joint as a part of the mean distance between the joints of a body.
SLENDER = 0.01
#: Self-stresses and reactions below this part of the largest are rounding error.
ROUNDING = 1e-9


class Share(NamedTuple):
    """Reactions (nt, joints, 6) with the least-norm share, all multipliers that go with them (added to those given), and whose they are."""

    wrenches: np.ndarray
    #: (nt, rows and rows that hold by themselves): what the share adds to the multipliers
    multipliers: np.ndarray
    #: (joints, 6): which components of reactions depend on how stiff the joints are, at any of the times
    open: np.ndarray

    @property
    def indeterminate(self) -> np.ndarray:
        """For each joint whether its reactions depend on how stiff the joints are."""
        return np.asarray(self.open.any(axis=1))


def joint_length(system: Compiled) -> float:
    """ℓ (m): a hundredth of the root mean square distance between the joints of one body (1 cm where all coincide)."""
    found: float = _kept(system, "joint length", lambda: _joint_length(system))
    return found


def _joint_length(system: Compiled) -> float:
    eq = system.equations_of_motion
    frames = [f for j in eq.model.joints.values() for f in (j.parent, j.child)]
    frames += [f for c in eq.closures if c.name not in eq.model.joints for f in (c.a, c.b)]
    by_body: dict[str, list[int]] = {}
    for i, frame in enumerate(frames):
        by_body.setdefault(frame.body.name, []).append(i)
    known = dict(zip(eq.p, system.parameter_vector, strict=True))
    places = np.array([float(x) for x in evaluate([e for f in frames for e in f.position], known)]).reshape(-1, 3)
    squares = [float(np.sum((places[i] - places[j]) ** 2)) for own in by_body.values() for i, j in combinations(own, 2)]
    apart = [x for x in squares if x > 0.0]
    return SLENDER * (float(np.sqrt(np.mean(apart))) if apart else 1.0)


def _kept(system: Compiled, name: str, find: Callable[[], Any]) -> Any:
    """Something that depends on the parameters alone, found once for their present values."""
    values, idle = system.parameter_vector, system.reference._idle
    known = idle.get(name)
    if known is None or known[0] is not values:
        known = idle[name] = values, find()
    return known[1]


def _idle_components(system: Compiled, axes: str) -> np.ndarray:
    """Which components of all wrenches (joints · 6) rows that hold by themselves can load, in any position.

    Where those of a motion are zero, as across a plane mechanism, there is nothing to share: Sᵀw = 0.
    """

    def find() -> np.ndarray:
        q = system.configuration.random(np.random.default_rng(0), 2)
        slopes = system.function("reaction_slopes", axes=axes)(np.zeros(1), q)
        return np.asarray((slopes[..., len(system.equations_of_motion.rows) :] != 0.0).any(axis=(0, -1))).ravel()

    found: np.ndarray = _kept(system, f"components of idle rows in {axes} axes", find)
    return found


def first_state(system: Compiled, t: np.ndarray, x: np.ndarray) -> State:
    """The first of some states in rows."""
    nq, nv = system.nq, system.nv
    return State(system, x[0, :nq], x[0, nq : nq + nv], x[0, nq + nv :], float(t[0]))


def self_stresses(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Multipliers λ with Jᵀλ = 0 at states in rows, (nt, rows and rows that hold by themselves, self-stresses)."""
    eq, nq, nv = system.equations_of_motion, system.nq, system.nv
    m, idle = len(eq.rows), len(eq.idle_rows)
    # how many there are is decided once: off the constraints by rounding, redundant rows look independent
    count, left = 0, np.zeros((len(t), m, 0))
    if len(t) and loses_rank_here(system, first_state(system, t, x)):
        f = system.function("constraint_velocities")
        extra = {"z": x[:, nq + nv :], "u": u}
        _, J = f(t[:, None], x[:, :nq], x[:, nq : nq + nv], *(extra[n] for n in list(f.inputs)[3:]))
        left, values, _ = np.linalg.svd(J)
        # those of a singular position count where the motion stays in such positions
        lost = m - int((values > ROUNDING * values[:, :1]).sum(axis=1).max())
        count = max(len(redundant_rows(system.reference, first_state(system, t, x))), lost)
    found = np.zeros((len(t), m + idle, count + idle))
    found[:, m:, count:] = np.eye(idle)
    found[:, :m, :count] = left[:, :, m - count :] if count else 0.0
    return found


def loses_rank_here(system: Compiled, state: State) -> bool:
    """Whether constraints are, or may be, dependent at a state: redundant, or in a singular position."""
    return bool(system.equations_of_motion.rows) and not look_at_start(system.reference, state)[0]


def share(
    system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, wrenches: np.ndarray, axes: str = "world", length: float | None = None
) -> Share:
    """The least-norm share of reactions (nt, joints, 6) that balance the bodies at states in rows; ``length`` is ℓ in m."""
    nt, joints = wrenches.shape[:2]
    N = self_stresses(system, t, x, u)
    own = len(system.equations_of_motion.idle_rows)
    if not N.shape[2] or not nt or (N.shape[2] == own and not wrenches.reshape(nt, -1)[:, _idle_components(system, axes)].any()):
        return Share(wrenches, np.zeros(N.shape[:2]), np.zeros((joints, 6), dtype=bool))
    slopes = system.function("reaction_slopes", axes=axes)(t[:, None], x[:, : system.nq])
    weight = np.repeat([1.0, 1.0 / (joint_length(system) if length is None else length)], 3)
    S = (slopes @ N).reshape(nt, joints, 6, -1) * weight[:, None]
    flat = S.reshape(nt, 6 * joints, -1)
    P = np.linalg.pinv(flat, rcond=ROUNDING)
    c = -(P @ (wrenches * weight).reshape(nt, -1, 1))
    shared = wrenches + (flat @ c).reshape(wrenches.shape) / weight
    return Share(shared, (N @ c)[..., 0], _depends_on_stiffness(S, P, shared * weight))


def _depends_on_stiffness(S: np.ndarray, P: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
    """Components (joints, 6) of reactions that would change if the springs of any joint were stiffer.

    With springs of stiffness 1 + ε at one joint, Sᵀ(1 − ε)(w + S δc) = 0 gives S δc = ε Pᵀ(Sᵀw of that joint), P = (SᵀS)⁻¹Sᵀ.
    """
    nt, joints, _, k = S.shape
    parts, loads = S.reshape(nt, joints, 2, 3, k), wrenches.reshape(nt, joints, 2, 3)
    work = np.einsum("tjpik,tjpi->tkjp", parts, loads).reshape(nt, k, -1)
    change = np.abs(np.swapaxes(P, 1, 2) @ work).reshape(nt, joints, 6, -1).max(axis=3)
    return np.asarray((change > ROUNDING * np.abs(wrenches).max(axis=(1, 2))[:, None, None]).any(axis=0))


__all__ = ["Share", "first_state", "joint_length", "loses_rank_here", "self_stresses", "share"]
