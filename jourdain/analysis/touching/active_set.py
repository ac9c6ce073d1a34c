"""The equations of a system about a state with a given set of rigid contacts: those that stick, slide or are open.

A contact that sticks holds its gap and its sliding velocity at zero, as rolling does; one that slides holds its gap, and its force λ (n − μ u_T/‖u_T‖) is that of
one multiplier, so that the directions F of forces are not those J of constraints.  Points of contact move over the surfaces: derivatives of their rows and
wrenches are differences of order four over the search for contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, SolverError, nearest
from ...symbolic.expr import Expr
from ...systems.pushed import pushed_system
from ...systems.tree.contact.instant import RigidContacts, Touching, joined
from ...systems.tree.contact.patches import Patches, patches
from ..equations.residual import Point, Residual

if TYPE_CHECKING:
    from ...systems.state import State
    from ...systems.system import System

#: What a contact may do.
STICKING, SLIDING, OPEN = "sticking", "sliding", "open"
#: Speeds below this (m/s) are none, and differences in radians and in parts of the smallest shape.
SLOW, STEP = 1e-9, 1e-4
#: Accelerations up to this part of the largest are rounding.
LEAVES = 1e-7
#: Weights of differences of order four.
STENCIL = ((-2, 1.0 / 12.0), (-1, -8.0 / 12.0), (1, 8.0 / 12.0), (2, -1.0 / 12.0))


class ActiveSet:
    """The closed contacts of a state and what they do: as the state has it, or as given by names of contacts (``floor`` or ``floor.ball``)."""

    def __init__(
        self, system: System, state: State, given: Mapping[str, str] | None = None, contacts: RigidContacts | None = None
    ) -> None:  # fmt: skip
        self.contacts = contacts = RigidContacts(system.reference) if contacts is None else contacts
        reach = float(contacts.contacts.reaches[np.isfinite(contacts.contacts.reaches)].max(initial=contacts.size))
        contacts.contacts.rows.slack = max(contacts.contacts.slack, 8.0 * STEP * max(1.0, reach))
        found = contacts.closed(state.t, state.q)
        u = found.J @ state.v + found.drift
        does = [self._does(found, k, u[k]) for k in range(len(found))]
        if given:
            does = self._as_given(system, found, does, given)
        kept = np.array([k for k, word in enumerate(does) if word != OPEN], dtype=int)
        self.first, self.does = found.only(kept), [does[k] for k in kept]
        smooth = [word == STICKING or not contacts.friction[law].any() for word, law in zip(self.does, self.first.law, strict=True)]
        self._flat = patches(contacts, self.first, np.array(smooth, bool))
        whole = self.first.only(np.flatnonzero(self._flat))
        self._patches = Patches(system.reference, contacts, state.t, state.q, whole) if len(whole) else None

    def _does(self, found: Touching, k: int, u: np.ndarray) -> str:
        if u[0] > SLOW:
            return OPEN
        slides = bool(np.hypot(u[1], u[2]) > SLOW) or not self.contacts.friction[found.law[k]].any()
        return SLIDING if slides or found.stop[k] else STICKING

    def _as_given(self, system: System, found: Touching, does: list[str], given: Mapping[str, str]) -> list[str]:
        names = [self.names(found, k) for k in range(len(found))]
        for name, word in given.items():
            if word not in (STICKING, SLIDING, OPEN):
                raise InputError(f"contacts: '{name}' = {word!r} is unknown; a contact is 'sticking', 'sliding' or 'open'")
            if not any(name in known for known in names):
                every = sorted({n for known in names for n in known})
                near = nearest(name, every, 2)
                raise InputError(
                    f"contacts: no contact '{name}' of '{system.model.name}' is closed in this state; "
                    + (f"did you mean {' or '.join(near)}?" if near else f"closed are {', '.join(every) or 'none'}")
                )
            does = [word if name in known else now for known, now in zip(names, does, strict=True)]
        return does

    def names(self, found: Touching, k: int) -> tuple[str, ...]:
        """By which names contact k is known: that of the contact, with either body; of a stop that of its joint."""
        contact, bodies = self.contacts.name(int(found.law[k])), self.contacts.bodies(found.key[k])
        return (bodies[0], f"{bodies[0]}.stop") if found.stop[k] else (contact, *(f"{contact}.{b}" for b in bodies))

    def at(self, t: float, q: np.ndarray) -> Touching:
        """The same contacts in a position nearby."""
        if self._patches is None:
            return self.contacts.same(t, q, self.first.key) if len(self.first) else self.first
        found = self._patches.at(t, q)
        if self._flat.all():
            return found
        others = self.contacts.same(t, q, self.first.key[~self._flat])
        return joined(found, others, np.r_[np.flatnonzero(self._flat), np.flatnonzero(~self._flat)])


class TouchedResidual(Residual):
    """Values and derivatives with an active set: rows of closed contacts stand among those of constraints, normals behind the holonomic ones."""

    def __init__(self, owner: System, active: ActiveSet, parameters: Sequence[str] = (), extra: Mapping[str, Expr] | None = None) -> None:
        self.base = Residual(pushed_system(owner), parameters, extra)
        self.owner, self.system, self.active = owner, self.base.system, active
        self.parameters, self.extra = self.base.parameters, self.base.extra
        n, m, held = self.base.holonomic, len(self.base.rows), len(active.first)
        sticks = [k for k, word in enumerate(active.does) if word == STICKING]
        #: Rows of model constraints, normals and tangents (contact, row) among all rows.
        self._own = np.r_[0:n, n + held : m + held].astype(int)
        self._normal = np.arange(n, n + held)
        self._tangent = [(k, row, m + held + 2 * i + row - 1) for i, k in enumerate(sticks) for row in (1, 2)]
        self.holonomic = n + held
        names: list[str] = [""] * (m + held + len(self._tangent))
        for i, name in zip(self._own, self.base.rows, strict=True):
            names[i] = name
        for k in range(held):
            names[n + k] = f"{active.names(active.first, k)[-1]}.{k + 1}[1]"
        for k, row, place in self._tangent:
            names[place] = f"{active.names(active.first, k)[-1]}.{k + 1}[{row + 1}]"
        self.rows = names
        more = len(names)
        self.sizes = self.base.sizes | {"h": self.holonomic, "w": more, "g": more}
        self.widths = self.base.widths | {"l": more}

    # -- contacts -------------------------------------------------------------------------------------------------

    def _rows(self, found: Touching, table: np.ndarray) -> np.ndarray:
        """Rows of a table (contacts, 3, …) among all rows; zero where constraints of the model stand."""
        out = np.zeros((len(self.rows), *table.shape[2:]))
        out[self._normal] = table[:, 0]
        for k, row, place in self._tangent:
            out[place] = table[k, row]
        return out

    def _slip(self, found: Touching, k: int, v: np.ndarray) -> np.ndarray:
        """Directions of the force of a sliding contact for a unit of its normal force: (1, −μ u_T/‖u_T‖)."""
        u = found.J[k, 1:] @ v + found.drift[k, 1:]
        speed, mu = float(np.hypot(*u)), self.active.contacts.friction[found.law[k]]
        if found.stop[k] or not mu.any():
            return np.array([1.0, 0.0, 0.0])
        if speed <= SLOW:
            a, b = self.active.contacts.bodies(found.key[k])
            raise InputError(
                f"contacts: '{a}' and '{b}' are to slide, but rest against each other in this state, so that friction has no direction"
            )
        return np.r_[1.0, drag(mu, u)]

    def _forces(self, found: Touching, v: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """Forces (contacts, 3) that belong to multipliers."""
        force = np.zeros((len(found), 3))
        for k, word in enumerate(self.active.does):
            force[k] = lam[self._normal[k]] * (self._slip(found, k, v) if word == SLIDING else np.array([1.0, 0.0, 0.0]))
        for k, row, place in self._tangent:
            force[k, row] = lam[place]
        return force

    def _pushed(self, point: Point) -> Point:
        """The point of the equations below, with forces of contacts among its inputs."""
        u = point.u.copy()
        u[len(self.owner.model.inputs) :] = 0.0
        found = self.active.at(point.t, point.q)
        self.active.contacts.write(u, found, self._forces(found, point.v, point.lam))
        return point.with_values(u=u, lam=point.lam[self._own])

    def _moved(self, point: Point, d: np.ndarray) -> Point:
        return point.with_values(q=self.system.configuration.integrate(point.q, d))

    def _accelerated(self, point: Point) -> np.ndarray:
        """u̇ = J v̇ + d(J v + d)/dt of all contacts (contacts, 3), tangents in the axes as they are."""
        found = self.active.at(point.t, point.q)
        total = found.J @ point.a
        if not np.abs(point.v).max(initial=0.0) > SLOW and not np.abs(found.drift).max(initial=0.0) > SLOW:
            return total
        h = STEP / max(1.0, float(np.abs(point.v).max(initial=0.0)))
        change = np.zeros((len(found), 3))
        for side, weight in STENCIL:
            there = self.active.at(point.t + side * h, self._moved(point, side * h * point.v).q)
            u = there.J @ point.v + there.drift
            change[:, 0] += weight * u[:, 0]
            change[:, 1:] += weight * np.einsum("kri,ki->kr", found.axes[:, 1:], np.einsum("kri,kr->ki", there.axes, u))
        return np.asarray(total + change / h)

    # -- values and derivatives -----------------------------------------------------------------------------------

    def values(self, point: Point) -> dict[str, np.ndarray]:
        """r, h, w, g, f, y, c and e at a point."""
        found = self.active.at(point.t, point.q)
        below = self.base.values(self._pushed(point))
        values = dict(below)
        h = np.zeros(self.holonomic)
        h[self._own[: self.base.holonomic]], h[self._normal] = below["h"], found.gap
        for word, table in (("w", found.J @ point.v + found.drift), ("g", self._accelerated(point))):
            values[word] = self._rows(found, table)
            values[word][self._own] = below[word]
        return values | {"h": h}

    def derivatives(self, point: Point, wrt: str = "qvazup") -> dict[str, np.ndarray]:
        """Matrices by names such as "rq" = ∂r/∂q."""
        at = self._pushed(point)
        below = self.base.derivatives(at, "".join(dict.fromkeys(wrt + "u")))
        found = {o + k: np.zeros((m, n)) for o, m in self.sizes.items() for k, n in self.widths.items()}
        for name, table in below.items():
            rows = {"h": self._own[: self.base.holonomic], "w": self._own, "g": self._own}.get(name[0], slice(None))
            columns = self._own if name[1] == "l" else slice(None)
            part = found[name][rows]
            part[:, columns] = table
            found[name][rows] = part
        if not len(self.active.first):
            return found
        first = len(self.owner.model.inputs)
        pushes = {o: below[o + "u"][:, first:] for o in "rfyec"}
        moving = float(max(np.abs(point.v).max(initial=0.0), np.abs(point.a).max(initial=0.0))) > SLOW
        for kind in "qv":
            if kind in wrt:
                wrench = self._slopes(point, kind, lambda p: self._pushed(p).u[first:])
                for o, push in pushes.items():
                    found[o + kind] += push @ wrench
                if moving:
                    found["g" + kind] += self._contact_rows(self._slopes(point, kind, self._accelerated))
        touching = self.active.at(point.t, point.q)
        if "q" in wrt:
            if moving:
                found["wq"] += self._contact_rows(self._slopes(point, "q", lambda p: self._speeds(p, touching)))
            found["hq"][self._normal] = touching.J[:, 0]
        if "v" in wrt:
            found["wv"] += self._rows(touching, touching.J)
        if "a" in wrt:
            found["ga"] += self._rows(touching, touching.J)
        if "l" in wrt:
            for o, push in pushes.items():
                found[o + "l"] += push @ self._per_multiplier(point, touching, first)
        return found

    def _speeds(self, point: Point, axes: Touching) -> np.ndarray:
        found = self.active.at(point.t, point.q)
        return np.asarray(found.J @ point.v + found.drift)

    def _contact_rows(self, table: np.ndarray) -> np.ndarray:
        return self._rows(self.active.first, table)

    def _slopes(self, point: Point, kind: str, f: Callable[[Point], np.ndarray]) -> np.ndarray:
        """∂f/∂q or ∂f/∂v by differences, the last axis over the velocities."""
        nv, scale = self.system.nv, STEP * max(self.active.contacts.size, 1e-3) if kind == "q" else STEP
        columns = []
        for j in range(nv):
            h = STEP if kind == "q" and self._turns[j] else scale
            d, total = np.zeros(nv), None
            for side, weight in STENCIL:
                d[j] = side * h
                there = self._moved(point, d) if kind == "q" else point.with_values(v=point.v + d)
                part = weight / h * f(there)
                total = part if total is None else total + part
            columns.append(total)
        return np.stack(columns, axis=-1)  # type: ignore[arg-type]

    @property
    def _turns(self) -> np.ndarray:
        """Which velocities are angular."""
        c, turns = self.system.configuration, np.ones(self.system.nv, bool)
        for i, j in zip(c._scalar_q, c._scalar_v, strict=True):
            turns[j] = c.units[i] != "m"
        return turns

    def _per_multiplier(self, point: Point, found: Touching, first: int) -> np.ndarray:
        """Wrenches among the inputs for a unit of each multiplier."""
        out = np.zeros((self.system.nu - first, len(self.rows)))
        for i in {*self._normal.tolist(), *(place for *_, place in self._tangent)}:
            u, lam = np.zeros(self.system.nu), np.zeros(len(self.rows))
            lam[i] = 1.0
            self.active.contacts.write(u, found, self._forces(found, point.v, lam))
            out[:, i] = u[first:]
        return out

    # -- points ---------------------------------------------------------------------------------------------------

    def point(self, state: State, inputs: Mapping[str, float] | np.ndarray | None = None) -> Point:
        """A state with inputs, accelerations, multipliers and forces of contacts still zero."""
        u = inputs if isinstance(inputs, np.ndarray) else self.owner.inputs_at(state, inputs)
        wide = np.r_[u, np.zeros(self.system.nu - len(u))]
        nv = self.system.nv
        return Point(state.t, state.q.copy(), state.v.copy(), np.zeros(nv), state.z.copy(), wide, np.zeros(len(self.rows)))

    def jacobian(self, point: Point) -> np.ndarray:
        """J of all constraints, closed contacts among them."""
        found = self.active.at(point.t, point.q)
        J = self._rows(found, found.J)
        J[self._own] = self.base.jacobian(point.with_values(lam=point.lam[self._own]))
        return J

    def force_directions(self, point: Point) -> np.ndarray:
        """F: generalised forces Fᵀλ; friction of what slides goes with its normal force."""
        found, F = self.active.at(point.t, point.q), self.jacobian(point)
        for k, word in enumerate(self.active.does):
            if word == SLIDING:
                F[self._normal[k]] = self._slip(found, k, point.v) @ found.J[k]
        return F

    def solve_motion(self, point: Point) -> Point:
        """Accelerations and multipliers; contacts that would have to pull are refused."""
        found = super().solve_motion(point)
        lam = found.lam[self._normal]
        k = int(np.argmin(lam)) if len(lam) else 0
        if len(lam) and lam[k] < -1e-6 * float(np.abs(found.lam).max()):
            contact, (a, b) = self.active.names(self.active.first, k)[0], self.active.contacts.bodies(self.active.first.key[k])
            raise SolverError(
                f"'{self.owner.model.name}': with these contacts closed '{contact}' would have to pull '{a}' and '{b}' together by {-lam[k]:.4g} N; "
                f"say which are open: contacts={{'{contact}': 'open'}}"
            )
        return found

    def drive_forces(self, point: Point) -> dict[str, float]:
        """λ_c of every driven or locked coordinate."""
        return self.base.drive_forces(self._pushed(point))


def drag(mu: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Tangential forces for a unit of the normal force, where it slides: of all in the elliptic cone the one that takes most energy."""
    size = float(np.hypot(*(mu * along)))
    return -(mu**2) * along / size if size > 0.0 else np.zeros(2)


@dataclass(frozen=True)
class Pushing:
    """Contacts that may push at an instant of a motion: directions of forces (n, 3, nv), coefficients, and which of them slide (one direction each)."""

    found: Touching
    directions: np.ndarray
    friction: np.ndarray
    slides: np.ndarray
    #: force for a unit of the first direction of what slides
    slip: np.ndarray

    def forces(self, amounts: np.ndarray) -> np.ndarray:
        """Forces (n, 3: normal and tangents) of amounts along the directions."""
        force = amounts.copy()
        for k in np.flatnonzero(self.slides):
            force[k] = amounts[k, 0] * self.slip[k]
        return force


def pushing(system: System, contacts: RigidContacts, state: State, a: np.ndarray) -> Pushing:
    """The contacts of a motion that may push: what leaves does not, what slides or begins to is braked."""
    active = ActiveSet(system, state, contacts=contacts)
    residual = TouchedResidual(system, active)
    found, point = active.first, residual.point(state).with_values(a=a)
    rate = residual._accelerated(point)
    size = max(1.0, float(np.abs(rate).max(initial=0.0)))
    kept = np.flatnonzero(rate[:, 0] <= LEAVES * size)
    found, rate = found.only(kept), rate[kept]
    u = found.J @ state.v + found.drift
    mu, n = contacts.friction[found.law], len(found)
    slides, slip, directions = np.zeros(n, bool), np.zeros((n, 3)), found.J.copy()
    for k in range(n):
        along = u[k, 1:] if np.hypot(*u[k, 1:]) > SLOW else rate[k, 1:] if np.hypot(*rate[k, 1:]) > LEAVES * size else np.zeros(2)
        if along.any() or found.stop[k]:
            slides[k] = True
            slip[k] = np.r_[1.0, drag(mu[k], along)]
            directions[k, 0] = slip[k] @ found.J[k]
    return Pushing(found, directions, contacts.static[found.law], slides, slip)


def touched_residual(
    system: System, state: State, given: Mapping[str, str] | None = None, extra: Mapping[str, Expr] | None = None
) -> Residual:  # fmt: skip
    """The equations about a state: with its rigid contacts where a model has any."""
    from ...systems.pushed import touches_rigidly

    if touches_rigidly(system.model):
        return TouchedResidual(system, ActiveSet(system, state, given), extra=extra)
    if given:
        raise InputError(f"contacts: '{system.model.name}' has no rigid contacts that could stick, slide or be open")
    return Residual(system, extra=extra)


__all__ = ["ActiveSet", "Pushing", "TouchedResidual", "pushing", "touched_residual"]
