"""Equilibrium of bodies that touch: unilateral statics with Coulomb's friction, or what tips, slides or falls where there is none.

Rigid contacts hold a position where forces in their cones balance all others (:mod:`.holding`).  Where they do not, but springs or surfaces that give way can,
positions move by steps of Coulomb's law in displacements,

    (M/h² + K) d = −r + Jᵀp,   u = J d + g  with the law of contact for u and p,

with longer and longer h: at last these are Newton's steps, and d = 0 where the position is held.  Couples against rolling and spinning may be zero: what stands without them stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...model.contact.methods import touches
from ...model.contact.penalty_laws import Penalty
from ...results.touches import Touch
from ...solvers.complementarity.build import dense_problem
from ...solvers.complementarity.solve import solution as solved
from ...systems.pushed import pushed_system, touches_rigidly
from ...systems.state import State
from ...systems.touching import renewed_memories
from ...systems.tree.contact.instant import CLOSED, RigidContacts, Touching
from ..equations.residual import Point, Residual, close_loops
from .holding import LEFT, Cones, Held

if TYPE_CHECKING:
    from ...systems.system import System

#: First length of a step (s), its growth, and how far bodies may go in one, in parts of the smallest shape.
FIRST, GROWTH, FAR = 1e-2, 3.0, 0.1
#: Pieces of that length in which a longer way is looked at.
FARTHEST = 400
#: The longest step in parts of 1/ω of the stiffest spring.
LONGEST = 30.0
#: Stiffness along a fall, in parts of force over size, below which nothing holds it.
STIFF = 1e-6
#: Compliance of contacts in a step in parts of the others', and to what part of the largest way steps are found.
SOFT, ROUGH = 1e-10, 1e-6
#: What may be left of forces where springs and rigid contacts hold together, in parts of the largest.
NEARLY = 1e-8
#: The same where Newton's method goes on.
SETTLED = 1e-6
#: Rounds in which gaps are closed.
CLOSING = 3
#: Accelerations at contacts below this part of what forces of contacts make are rounding.
ROUNDING = 1e-12
#: Friction forces within this part of their bound slide.
BOUND = 1e-9


class Standing:
    """The statics of a system with contacts, position by position."""

    def __init__(self, system: System, state: State, u: np.ndarray) -> None:
        self.system, self.model = system, system.model
        self.residual = Residual(pushed_system(system))
        self.rigid = RigidContacts(system.reference, brakes=True, couples=True) if touches_rigidly(self.model) else None
        self.size = self.rigid.size if self.rigid is not None else 0.1
        weight = [system.parameters.get(n, 0.0) for n in ("gravity_x", "gravity_y", "gravity_z")]
        self.least = 0.1 * float(np.linalg.norm(weight))
        self.steps, self.redundant, self.balance = 0, False, np.zeros(system.nv)
        self.point = self.residual.point(state.with_values(v=np.zeros(system.nv)), np.r_[u, np.zeros(self.residual.system.nu - len(u))])
        self.loaded = self.point

    def _near(self) -> Touching | None:
        return None if self.rigid is None else self.rigid.find(self.point.t, self.point.q)

    def _matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """r, M, K and the constraints."""
        d = self.residual.derivatives(self.point, "qa")
        return self.residual.values(self.point)["r"], d["ra"], d["rq"], self.residual.jacobian(self.point)

    def hold(self) -> tuple[Held, Touching | None]:
        """The forces that hold the position, or what is left of it."""
        r, M, _, J = self._matrices()
        found = None if self.rigid is None else self.rigid.closed(self.point.t, self.point.q)
        return self._cones(found, J, M).hold(r, self.least), found

    def _cones(self, found: Touching | None, J: np.ndarray, M: np.ndarray) -> Cones:
        nv = len(M)
        if found is None or self.rigid is None:
            return Cones(np.zeros((0, 3, nv)), np.zeros(0), J.T, M)
        return Cones(found.J, self.rigid.static[found.law], J.T, M, brakes=found.brakes)

    def settle(self, iterations: int) -> tuple[Held, Touching | None]:
        """Moves until the position is held; an error names what tips, slides or falls."""
        h = FIRST
        for self.steps in range(iterations):
            r, M, K, J = self._matrices()
            closed = None if self.rigid is None else self.rigid.closed(self.point.t, self.point.q)
            cones = self._cones(closed, J, M)
            held = cones.hold(r, self.least, SETTLED if self.rigid is None else NEARLY if self.steps else LEFT)
            if held.stands:
                self._conclude(held, closed, cones, r)
                return held, closed
            if not self._stiff(held.left, K, M):
                raise SolverError(self._falls(cones, closed, r))
            before, size = self.point, float(np.linalg.norm(held.left))
            if self.rigid is not None:  # where contacts are solved with it, a matrix of moderate condition
                h = min(h, LONGEST / _slowest(M, K))
            while True:
                self.point = before
                try:
                    self.point = self._stepped(r, M, K, J, h)
                except SolverError:
                    h *= 0.25
                    if h < 1e-9:
                        raise
                    continue
                if (self._went(before) <= FAR * self.size or self._unhindered(before)) and self._left() <= 10.0 * size:
                    break
                h *= 0.25
                if h < 1e-9:
                    raise SolverError(self._falls(cones, closed, r))
            self._renew()
            h *= GROWTH
        raise SolverError(
            f"equilibrium '{self.model.name}': no position was found in {iterations} steps in which it stands; start nearer to it{self._creeping()}"
        )

    def _creeping(self) -> str:
        """A hint where friction holds nothing at rest."""
        creeps = [
            c.name for c in self.model.contacts.values() if isinstance(c.law, Penalty) and c.law.friction is not None and not c.law.bristles
        ]
        return f"; regularised friction, as that of '{creeps[0]}', holds nothing at rest: take jd.contact.bristle(…)" if creeps else ""

    def _conclude(self, held: Held, found: Touching | None, cones: Cones, r: np.ndarray) -> None:
        """What is told of a position that stands: the balance, whether its forces are determined, and the point with all that acts."""
        u = self.point.u.copy()
        if found is not None and self.rigid is not None:
            self.rigid.write(u, found, held.force)
        self.balance = r - cones.rows.T @ held.force.ravel() - cones.E @ held.free
        pushes = np.flatnonzero(held.force.any(axis=1))
        rows = cones.G.reshape(len(cones.G), -1, 3)[:, pushes].reshape(len(cones.G), -1)
        self.redundant = bool(rows.size) and int(np.linalg.matrix_rank(rows, tol=1e-9 * np.abs(rows).max())) < rows.shape[1]
        self.loaded = self.point.with_values(u=u, lam=held.free)

    def _left(self) -> float:
        return float(np.linalg.norm(self.hold()[0].left))

    def _stiff(self, a: np.ndarray, K: np.ndarray, M: np.ndarray) -> bool:
        """Whether something pushes back against the fall, or may after a way: springs, or surfaces that give way."""
        if touches(self.model):
            return True
        return bool(a @ K @ a > STIFF * (a @ M @ a))

    def _stepped(self, r: np.ndarray, M: np.ndarray, K: np.ndarray, J: np.ndarray, h: float) -> Point:
        """The point after a step of h seconds from rest; what pressed against each other touches."""
        A = M / h**2 + K
        low = np.linalg.eigvalsh(0.5 * (A + A.T)).min()
        if low <= 0.0:
            A = A + (1e-3 * np.abs(A).max() - low) * np.eye(len(A))
        n, m = len(A), len(J)
        inverse = np.linalg.pinv(np.block([[A, J.T], [J, np.zeros((m, m))]]))[:n, :n]
        d = -inverse @ r
        near = self._near()
        if near is None or self.rigid is None:
            return self._moved(self.point, d)
        if not len(near):
            return self._closed(self._moved(self.point, d), near.key, inverse)
        rows = near.J.reshape(-1, n)
        w = rows @ d
        w[::3] += near.gap
        W = rows @ inverse @ rows.T
        W = 0.5 * (W + W.T) + SOFT * float(np.trace(W)) / len(W) * np.eye(len(W))
        laws = ["friction" if brake else "contact" for brake in near.brakes]
        own = np.array([row == 0 or law == "contact" for law in laws for row in (0, 1, 2)], bool)
        mu, exact, p = self.rigid.static[near.law], ROUGH * max(float(np.abs(w).max()), 1e-300), np.zeros(len(own))
        for relaxed in (False, True):  # the convex problem has the same positions at rest
            try:
                p[own] = solved(dense_problem(W[np.ix_(own, own)], w[own], laws, mu, relaxed=relaxed), tolerance=exact)
                break
            except SolverError:
                if relaxed:
                    raise
        pressed = near.key[(p[::3] > 0.0) & ~near.brakes]
        return self._closed(self._moved(self.point, d + inverse @ rows.T @ p), pressed, inverse)

    def _closed(self, point: Point, pressed: np.ndarray, inverse: np.ndarray) -> Point:
        """The point with gaps of zero where bodies pressed against each other, and where they would have passed into each other on the way."""
        assert self.rigid is not None
        for _ in range(CLOSING):
            found = self.rigid.find(point.t, point.q)
            known = {tuple(k) for k in pressed.tolist()}
            inside = [tuple(k) not in known and gap < -CLOSED * self.size for k, gap in zip(found.key.tolist(), found.gap, strict=True)]
            pressed = np.vstack([pressed, found.key[np.array(inside, bool) & ~found.brakes]])
            if not len(pressed):
                break
            found = self.rigid.same(point.t, point.q, pressed)
            Y = inverse @ found.J[:, 0].T
            point = self._moved(point, -Y @ np.linalg.lstsq(found.J[:, 0] @ Y, found.gap, rcond=1e-10)[0])
        return point

    def _moved(self, point: Point, d: np.ndarray) -> Point:
        q = self.residual.system.configuration.integrate(point.q, d)
        if self.residual.holonomic:
            q = close_loops(self.system, q, (), point.t)
        return point.with_values(q=q)

    def _went(self, before: Point) -> float:
        """How far any coordinate went."""
        return float(np.abs(self.system.configuration.difference(before.q, self.point.q)).max(initial=0.0))

    def _unhindered(self, before: Point) -> bool:
        """Whether no other shapes come near each other along a long way than at its start, which go but little into each other, and no stop or rope is passed."""
        if self.rigid is None:
            return False
        known = {tuple(key[:2]) for key in self.rigid.find(before.t, before.q).key.tolist()}
        way, last = self.system.configuration.difference(before.q, self.point.q), self.point
        pieces = int(np.ceil(np.abs(way).max() / (FAR * self.size)))
        if pieces > FARTHEST:
            return False
        for k in range(pieces + 1):
            place = last if k == pieces else self._moved(before, k / pieces * way)
            near = self.rigid.find(place.t, place.q)
            for key, gap, stop in zip(near.key.tolist(), near.gap, near.stop, strict=True):
                if gap < -(CLOSED if stop else FAR) * self.size or not (stop or tuple(key[:2]) in known):
                    return False
        return True

    def _renew(self) -> None:
        """Memories of points as after a step that ended here."""
        if touches(self.model):
            own = len(self.model.inputs)
            self.point.u[:own] = renewed_memories(self.system.reference, self.state, self.point.u[:own])

    @property
    def state(self) -> State:
        """Where it is."""
        return self.point.state(self.system)

    def forces(self, held: Held, found: Touching | None) -> list[Touch]:
        """Forces of all rigid contacts that are closed, with the one that is of least norm where several do."""
        if found is None or self.rigid is None:
            return []
        listed = []
        for k, f in enumerate(held.force):
            if found.brakes[k]:
                continue
            pull = float(np.hypot(*(f[1:] / np.maximum(self.rigid.static[found.law[k]], 1e-300))))
            state = "open" if f[0] <= 0.0 else "slip" if pull > 0.0 and pull >= (1.0 - BOUND) * f[0] else "stick"
            a, b = self.rigid.bodies(found.key[k])
            listed.append(
                Touch(
                    self.rigid.name(int(found.law[k])),
                    a,
                    b,
                    found.point[k],
                    found.axes[k, 0],
                    float(found.gap[k]),
                    f @ found.axes[k],
                    state,
                )
            )
        return listed

    # -- what falls -----------------------------------------------------------------------------------------------

    def _falls(self, cones: Cones, found: Touching | None, r: np.ndarray) -> str:
        """Why it cannot stand: the body that moves most, and whether it slides, tips or falls."""
        told = self._without_couples(cones, found, r)
        resisting = self.rigid.resisting if self.rigid is not None else []
        return f"{told}; whether couples of '{resisting[0]}' against rolling and spinning hold it a simulation tells" if resisting else told

    def _without_couples(self, cones: Cones, found: Touching | None, r: np.ndarray) -> str:
        a, force = cones.fall(r)
        name = f"equilibrium '{self.model.name}': it cannot stand"
        if self.rigid is None or found is None:
            j = int(np.argmax(np.abs(a)))
            return f"{name}; nothing holds '{self.system.velocity_names[j].removesuffix('_rate')}'"
        body, shift, turn = self._moves_most(a)
        if body is None:
            j = int(np.argmax(np.abs(a)))
            return f"{name}: nothing holds '{self.system.velocity_names[j].removesuffix('_rate')}'"
        mine = [k for k in range(len(found)) if body in self.rigid.bodies(found.key[k]) and not found.stop[k]]
        pressed = [k for k in mine if force[k, 0] > 1e-9 * float(np.abs(force).max(initial=1e-300))]
        if not pressed:
            gaps = self._gaps(body)
            return f"{name}: '{body}' falls, for nothing carries it{gaps}"
        u = found.J @ a
        others = lambda ks: ", ".join(dict.fromkeys(f"'{b if a == body else a}'" for a, b in (self.rigid.bodies(found.key[k]) for k in ks)))  # type: ignore[union-attr]
        largest = float(np.abs(u).max())
        moves = max(1e-6 * largest, ROUNDING * float(np.abs(cones.W @ force.ravel()).max()))
        slides = [k for k in pressed if np.hypot(u[k, 1], u[k, 2]) > moves]
        if turn > 0.5 * shift and (not slides or any(u[k, 0] > moves for k in mine)):
            more = f" and slides on {others(slides)}" if slides else ""
            return f"{name}: '{body}' tips over on {others(pressed)}{more}"
        if slides:
            mu = ", ".join(
                dict.fromkeys(" and ".join(f"{x:g}" for x in dict.fromkeys(self.rigid.static[found.law[k]].tolist())) for k in slides)
            )
            return f"{name}: '{body}' slides on {others(slides)} (friction {mu} is too little)"
        return f"{name}: '{body}' moves away from {others(pressed)}"

    def _moves_most(self, a: np.ndarray) -> tuple[str | None, float, float]:
        """The body whose points accelerate most, how much by shift and by turn."""
        assert self.rigid is not None
        contacts = self.rigid.contacts
        h = 1e-6 * self.size / max(1e-300, float(np.abs(a).max(initial=0.0)))
        before, after = (
            contacts.poses_at(self.system.configuration.integrate(self.point.q, side * h * a), self.point.t) for side in (-1.0, 1.0)
        )
        R, origin = ((after[:, part] - before[:, part]) / (2.0 * h) for part in (slice(9), slice(9, 12)))
        best: tuple[str | None, float, float] = (None, 0.0, 0.0)
        for b, body in enumerate(contacts.movers.values()):
            turn = float(np.linalg.norm(R[b])) / np.sqrt(2.0) * float(contacts.rows.body_size[b])
            shift = float(np.linalg.norm(origin[b] + R[b].reshape(3, 3) @ self._centre(body)))
            if max(shift, turn) > (1.0 + 1e-9) * max(best[1:]):
                best = (body.name, shift, turn)
        return best

    def _centre(self, body: Any) -> np.ndarray:
        """The centre of mass in the body's axes; of a body that bends, whose nodes are looked at, the node."""
        assert self.rigid is not None
        mass, *moment = self.rigid.contacts._numbers([body.mass, *body.moment])
        return np.array(moment) / mass if mass > 0.0 and not body.modes else np.zeros(3)

    def _gaps(self, body: str) -> str:
        near = self._near()
        assert near is not None and self.rigid is not None
        listed = [(near.gap[k], self.rigid.bodies(near.key[k])) for k in range(len(near)) if body in self.rigid.bodies(near.key[k])]
        if not listed:
            return ""
        gap, (a, b) = min(listed)
        return f"; it is {gap:.3g} m away from '{b if a == body else a}'"


def _slowest(M: np.ndarray, K: np.ndarray) -> float:
    """The lowest natural frequency (rad/s) of what springs hold; tiny where they hold nothing."""
    size = np.sqrt(np.maximum(np.diag(M), 1e-300))
    squares = np.linalg.eigvalsh(0.5 * (K + K.T) / np.outer(size, size))
    held = squares[squares > 1e-9 * np.abs(squares).max(initial=0.0)]
    return float(np.sqrt(held.min(initial=np.inf))) if held.size else 1e-150


def standing(
    system: System, state: State, inputs: Mapping[str, float] | None, iterations: int
) -> tuple[Standing, list[Touch], dict[str, float]]:
    """The position near a state in which a system stands, forces of rigid contacts there, and multipliers of its constraints."""
    found = Standing(system, state, system.inputs_at(state, inputs))
    found._renew()
    held, touching = found.settle(iterations)
    return found, found.forces(held, touching), dict(zip(found.residual.rows, held.free.tolist(), strict=True))


def refuse_options(given: Mapping[str, Any], name: str) -> None:
    """What rigid contacts leave no room for."""
    for word, x in given.items():
        if x:
            raise InputError(
                f"equilibrium '{name}': {word}= is not for rigid contacts, whose forces follow from the laws; let surfaces give way: jd.contact.hertz(…)"
            )


__all__ = ["Standing", "refuse_options", "standing"]
