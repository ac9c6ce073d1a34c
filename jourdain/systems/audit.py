"""What a run must have kept when it ends: closed loops, and energy where nothing takes or gives any.

A run that breaks either does not end in "finished".  A few samples are looked at, with functions that are compiled anyway or only for ways to
run that have changed coordinates on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..model.elastic.bending import flexible_bodies
from ..solvers import ADAPTIVE
from ..symbolic.expr import KINDS, ZERO
from .constraints import by_entries
from .run import Outcome, Run

if TYPE_CHECKING:
    from ..model.elastic.flexible import FlexibleBody
    from ..results.solution import Solution
    from ..solvers.ode.events import Event
    from ..solvers.ode.trajectory import Trajectory
    from .compiled import Compiled

#: Constraints off by more than this (m, rad; as part of the largest coordinate where that is larger than 1) are broken.
OPEN = 1e-5
#: Steps are too long where so large a part of the energy that moves comes from nowhere or is lost.
TOO_LONG = 0.1
#: Steps that did not settle from which on books are looked at: one may be a spring that passes through rest, or a contact that begins to slide.
UNSETTLED = 3
#: Energy may change by so many times the tolerance in every step, as part of the energy that moves.
LOST = 1e3


def audited(system: Compiled, run: Run, outcome: Outcome) -> Outcome:
    """The outcome, "doubtful" where a run that reached its end has not kept what it must."""
    if outcome.status not in ("finished", "event") or callable(outcome.states) or not len(outcome.t):
        return outcome
    if run.settings.step is not None and run.settings.method not in ADAPTIVE and _strides(system, run.settings.step, outcome):
        told = _too_long(system, run, outcome)
        if told:
            return replace(outcome, status="doubtful", message=told)
    if not run.keeps_constraints or not system.equations_of_motion.rows:
        return outcome
    told = _open(system, outcome, _samples(outcome, 2)) or (_lost(system, run, outcome, _samples(outcome, 8)) if run.keeps_energy else "")
    return replace(outcome, status="doubtful", message=told) if told else outcome


class Limits:
    """Limits of joints that do not act by themselves, with the places of their coordinates."""

    def __init__(self, system: Compiled) -> None:
        model, names = system.model, system.coordinate_names
        acting = {joint.name for load in model.loads.values() if load.kind == "stop" for joint in load.joints} | set(model.rigid_stops)
        self.joints = [
            j
            for j in model.joints.values()
            if j.limits != (None, None) and j.name not in acting and len(j.coordinates) == 1 and len(j.coordinates[0].names) == 1
            if j.coordinates[0].names[0] in names
        ]
        self.places = np.array([names.index(j.coordinates[0].names[0]) for j in self.joints], dtype=np.int64)
        slack = 1e-6 * np.array([max(1.0, *(abs(e) for e in j.limits if e is not None)) for j in self.joints])
        self.low = np.array([-np.inf if j.limits[0] is None else j.limits[0] for j in self.joints]) - slack
        self.high = np.array([np.inf if j.limits[1] is None else j.limits[1] for j in self.joints]) + slack

    def left(self, rows: np.ndarray) -> bool:
        """Whether one of them is left by states in rows."""
        x = rows[:, self.places]
        return bool((x < self.low).any() or (x > self.high).any())


def beyond_limits(system: Compiled, solution: Solution) -> str:
    """Which joint has left limits that do not act, when first, and how far."""
    limits = Limits(system)
    rows = solution.states if limits.joints and solution.system is system else None
    if rows is not None and not limits.left(rows):
        return ""  # nothing asks for the table of channels
    for joint, least, most in zip(limits.joints, limits.low, limits.high, strict=True):
        name, (low, high) = joint.coordinates[0].names[0], joint.limits
        x = solution[name]
        out = (x < least) | (x > most)
        if out.any():
            k = int(np.argmax(out))
            shown = f"{'−∞' if low is None else f'{low:g}'} … {'∞' if high is None else f'{high:g}'} {joint.coordinates[0].unit}"
            return (
                f"'{name}' leaves its limits {shown} at t = {solution.t[k]:.4g} s (it is {x[k]:.4g} there); limits do not act by "
                f"themselves: m.stops() before compile(), or m.stop({joint.name}), makes them"
            )
    return ""


#: An angle (rad) that is known no better than this says nothing of where a body stands.
ANY_ANGLE = 1.0
#: Coordinates and speeds below this are known better, in angles, by any tolerance that runs are made with.
KNOWN = 1e7


def beyond_turns(system: Compiled, run: Run, outcome: Outcome) -> str:
    """Which angle has grown so large at the end of a run that its digits, or the tolerance relative to it, hold no part of a turn."""
    if not len(outcome.t) or callable(outcome.states):
        return ""
    q = np.abs(np.asarray(outcome.states)[-1, : system.nq])
    if not q.size or q.max() < KNOWN:
        return ""
    s, units = run.settings, np.array(system.configuration.units)
    allowed = s.atol + s.rtol * q if s.method in ADAPTIVE and s.step is None else 0.0
    lost = np.where(units == "rad", np.maximum(np.spacing(q), allowed), 0.0)
    if not lost.max() > ANY_ANGLE:
        return ""
    k = int(lost.argmax())
    return (
        f"'{system.configuration.position_names[k]}' is {q[k]:.4g} rad at t = {outcome.t[-1]:.6g} s and known to {lost[k]:.2g} rad there: where its body "
        "stands within a turn is noise; start from smaller speeds, go on from an angle within one turn, or tighten rtol"
    )


#: A contact that lasts fewer steps than this is not resolved by them.
FEW_STEPS = 2


def too_short(system: Compiled, run: Run, outcome: Outcome, solution: Solution) -> str:
    """Which contact that gives way is over within two fixed steps, so that its energy is a matter of luck; looked at only where velocities jump."""
    contacts, step = [c for c in system.model.contacts.values() if c.gives_way], run.settings.step
    if not contacts or step is None or run.settings.method in (*ADAPTIVE, "moreau") or len(outcome.t) < 4:
        return ""
    if np.abs(np.diff(outcome.t)).max() > 1.5 * step:  # samples that lie steps apart say nothing of single ones
        return ""
    names = system.reference.velocity_names
    if any(n not in solution for n in (*names, "energy.error")):
        return ""
    v = np.array([solution[n] for n in names])
    if not np.abs(v[:, 2:] - v[:, :-2]).max(initial=0.0) > 0.5 * np.abs(v).max(initial=0.0):
        return ""
    wrong, moved = np.abs(np.diff(solution["energy.error"])), solution["energy.kinetic"].max() + np.ptp(solution["energy.potential"])
    k = int(np.argmax(wrong))
    if not wrong[k] > TOO_LONG * moved:
        return ""
    told = f"energy changes by {wrong[k]:.3g} of {moved:.3g} J in the step of {step:g} s at t = {outcome.t[k]:.6g} s though nothing takes or gives it"
    remedy = "take shorter steps, a softer law, or a method that chooses its steps (method='dopri5')"
    seen = False
    for name, body in ((c.name, mover) for c in contacts for mover in c.carriers):
        closed = np.linalg.norm(solution[f"{name}.{body}.force"], axis=1) > 0.0
        first, last = k + 1 - int(np.argmin(np.r_[closed[k::-1], False])), k + int(np.argmin(np.r_[closed[k + 1 :], False]))
        if closed[k : k + 2].any():
            seen = True
            if last - first < FEW_STEPS:
                return f"contact '{name}' of body '{body}' is over within two steps: {told}; {remedy}"
    if seen or system.model.events:
        return ""
    return f"a contact ({', '.join(repr(c.name) for c in contacts)}) may be touched and left within one step: {told}; {remedy}"


def too_stiff(run: Run, outcome: Outcome, solution: Solution, told_of: Callable[[Outcome], Solution]) -> str:
    """When books say that dampers are too strong for fixed steps with rigid contacts; looked at only where velocities did not settle in some of these.

    Books need every step: a run that kept some instants alone is done once more, and ``told_of`` gives its solution.
    """
    if run.unsettled < UNSETTLED:
        return ""
    if run.settings.times is not None:
        again = run.with_every_step(outcome)
        if again is None:
            return (
                f"velocities did not settle in {run.unsettled} steps of {run.settings.step:g} s: what follows them (a damper, a gyroscope) may be too "
                "strong for such steps; books of energy tell where every step is kept (without times= and outputs=), or take shorter ones"
            )
        if again.status == "interrupted":
            raise KeyboardInterrupt
        outcome, solution = again, told_of(again)
    if len(outcome.t) < 2 or "energy.error" not in solution:
        return ""
    wrong, moved = np.abs(solution["energy.error"]), solution["energy.kinetic"].max() + np.ptp(solution["energy.potential"])
    k = int(np.argmax(~(wrong <= TOO_LONG * moved)))
    if wrong[k] <= TOO_LONG * moved:
        return ""
    return (
        f"at t = {outcome.t[k]:.6g} s books of energy miss {wrong[k]:.3g} of {moved:.3g} J: what follows velocities (a damper, a gyroscope) is too strong for "
        f"steps of {run.settings.step:g} s, and did not settle in {run.unsettled} of them; take shorter ones"
    )


def too_bent(system: Compiled, outcome: Outcome) -> str:
    """Which flexible body has left what a linear one is, when first, and by how much; a hundred samples are looked at."""
    if not len(outcome.t) or not any(b.bends for b in system.model.bodies.values()):
        return ""
    bodies = list(flexible_bodies(system.model))
    if all(b.linearity is None and b.part.fields is not None for b in bodies):
        return ""
    rows = _samples(outcome, 100)
    states = np.asarray(outcome.states() if callable(outcome.states) else outcome.states)[rows]
    names = system.reference.configuration.position_names
    for body in bodies:
        e = states[:, [names.index(c.names[0]) for c in body.modes]]
        told = (
            body.linearity.complaint(e, outcome.t[rows])
            if body.linearity is not None
            else _overbent(system, body, e, outcome.t[rows], states)
        )
        if told:
            return told
    return ""


def _overbent(system: Compiled, body: FlexibleBody, e: np.ndarray, t: np.ndarray, states: np.ndarray) -> str:
    """When a body of second order is bent so far that the whole system has a motion without inertia; one that others hold may be bent further."""
    from .diagnose import singular_mass

    for k in sorted({0, len(e) - 1, *(int(i) for i in np.abs(e).argmax(axis=0))}):
        if body.overbent(e[k]):
            told = singular_mass(system.reference, float(t[k]), states[k])
            if told is not None and f"'{body.name}'" in told:
                return f"at t = {t[k]:.6g} s {told}"
    return ""


def _samples(outcome: Outcome, parts: int) -> list[int]:
    """Rows at equal distances, the last one among them."""
    last = len(outcome.t) - 1
    return sorted({last * k // parts for k in range(1, parts + 1)} | ({0} if parts > 2 else set()))


def _open(system: Compiled, outcome: Outcome, rows: list[int]) -> str:
    """Which constraint is broken first, and by how much."""
    eq = system.equations_of_motion
    if not eq.holonomic:
        return ""
    f, x, nq = system.function("constraints", **by_entries(system)), np.asarray(outcome.states), system.nq
    for k in rows:
        h, _ = f(outcome.t[k : k + 1], x[k, :nq])
        if not max(h.max(), -h.min()) <= OPEN * max(1.0, float(np.abs(x[k, :nq]).max())):
            i = int(np.argmax(np.abs(h)))
            return f"at t = {outcome.t[k]:.6g} s the constraint {eq.rows[i].name} is broken by {h[i]:.3g}; tighten rtol, or use reduction='projected'"
    return ""


def _strides(system: Compiled, step: float, outcome: Outcome) -> bool:
    """Whether fixed steps are long enough to be looked at: more than half a radian, or a fifth of the whole motion, in one of them."""
    x, nq, nv = np.asarray(outcome.states), system.nq, system.nv
    if not nv:
        return False
    whole = float(np.ptp(x[:, :nq], axis=0).max())
    return not step * float(np.abs(x[:, nq : nq + nv]).max()) <= min(0.5, 0.2 * whole)


def _too_long(system: Compiled, run: Run, outcome: Outcome) -> str:
    """When the energy books say that fixed steps are far too long for the motion."""
    if not conservative(system):
        return ""
    rows = _samples(outcome, 16)
    total, moved = _energies(system, outcome, rows)
    wrong = np.flatnonzero(~(np.abs(total - total[0]) <= TOO_LONG * moved))
    if not wrong.size:
        return ""
    k = rows[wrong[0]]
    return (
        f"at t = {outcome.t[k]:.6g} s energy has changed by {total[wrong[0]] - total[0]:.3g} of {moved:.3g} J though nothing takes or gives any: "
        f"steps of {run.settings.step:g} s are far too long for this motion; take shorter ones, or a method that chooses them (method='dopri5')"
    )


def _energies(system: Compiled, outcome: Outcome, rows: list[int]) -> tuple[np.ndarray, float]:
    """Total energy at some rows, and the energy that moves."""
    f, x, nq, nv = system.function("energy"), np.asarray(outcome.states), system.nq, system.nv
    extra = {"z": np.zeros(system.nz), "u": system.input_values()}
    found = np.array([f(outcome.t[k : k + 1], *np.split(x[k, : nq + nv], [nq]), *(extra[n] for n in list(f.inputs)[3:])) for k in rows])
    return found.sum(axis=1), float(found[:, 0].max() + np.ptp(found[:, 1]))


def _lost(system: Compiled, run: Run, outcome: Outcome, rows: list[int]) -> str:
    """When energy that nothing took or gave has changed beyond what the tolerance allows."""
    if not conservative(system):
        return ""
    total, moved = _energies(system, outcome, rows)
    allowed = LOST * (run.settings.rtol * moved + run.settings.atol) * max(1, int(outcome.statistics().get("steps", 1)))
    wrong = np.flatnonzero(np.abs(total - total[0]) > allowed)
    if not wrong.size:
        return ""
    k = rows[wrong[0]]
    return (
        f"at t = {outcome.t[k]:.6g} s energy has changed by {total[wrong[0]] - total[0]:.3g} of {moved:.3g} J though nothing takes or gives any: "
        "the motion may have changed its branch at a singular position; use reduction='projected', or a tighter rtol"
    )


def passed_over(events: Sequence[Event], trajectory: Trajectory) -> str:
    """Which event's guard changes its sign more often within a step than the event was seen: it is faster than the steps."""
    s = trajectory.segments
    if s is None or not events or not len(s.start):
        return ""
    from ..solvers.ode.inside import INSIDE, LOOKS

    looks = sorted({(len(s.start) - 1) * i // (LOOKS - 1) for i in range(LOOKS)})
    start, end = s.start[looks], s.end[looks]
    times = start[:, None] + (end - start)[:, None] * np.array(INSIDE)
    x = np.ascontiguousarray(trajectory.at(times.ravel()))
    flat, width = np.ascontiguousarray(times.ravel()), len(INSIDE)
    first: tuple[int, str] | None = None
    for event, values in _guarded(events, flat, x, width):
        seen = np.array([e.t for e in trajectory.events if e.name == event.name])
        for k, crossed in enumerate(_crossings(values.reshape(len(looks), width, -1), event.directions).tolist()):
            if crossed and crossed > np.count_nonzero((times[k, 0] <= seen) & (seen <= times[k, -1])):
                first = (k, event.name) if first is None or k < first[0] else first
                break
    if first is None:
        return ""
    k, name = first
    return (
        f"event '{name}' was passed over: its guard changes its sign there and back within the step at t = {times[k, 0]:.6g} s; "
        f"give max_step= (the step was {times[k, -1] - times[k, 0]:.3g} s)"
    )


def _crossings(values: np.ndarray, directions: Sequence[int]) -> np.ndarray:
    """How often guards cross zero in their directions within each step, where one of them crosses it more than once."""
    steps, width, size = values.shape
    total = np.zeros(steps, dtype=int)
    side, up, down = np.zeros((steps, size)), np.zeros((steps, size), dtype=int), np.zeros((steps, size), dtype=int)
    for j in range(width):
        now = np.sign(values[:, j])
        up += (side < 0) & (now > 0)
        down += (side > 0) & (now < 0)
        side = np.where(now == 0, side, now)
    for i, direction in enumerate(directions):
        total += np.where(up[:, i] + down[:, i] > 1, (direction >= 0) * up[:, i] + (direction <= 0) * down[:, i], 0)
    return total


def _guarded(events: Sequence[Event], t: np.ndarray, x: np.ndarray, width: int) -> Iterator[tuple[Event, np.ndarray]]:
    """Events with the values of their guards at states in rows, ``width`` of a step; of steps where a guard cannot be asked zeros."""
    from ..solvers.ode.events import sources
    from ..solvers.rows import at_rows

    for row in sources(events):
        guard, size = row[0].guard, sum(event.size for event in row)
        values = np.zeros((len(t), size))
        if at_rows(guard, t, x, values):
            for k in range(0, len(t), width):
                part = slice(k, k + width)
                if at_rows(guard, t[part].copy(), x[part].copy(), found := np.zeros((width, size))):
                    found[:] = 0.0
                values[part] = found
        for event in row:
            yield event, values[:, event.place : event.place + event.size]


def conservative(system: Compiled) -> bool:
    """Whether no law, drive, input or event takes or gives energy."""
    eq, model = system.equations_of_motion, system.model
    if eq.tree.prescribed or model.inputs or model.events or model.callbacks or model.states or model.contacts:
        return False
    if any(r.nonholonomic or r.expression.deps & KINDS["time"] for r in eq.rows):
        return False
    return all(e is ZERO for result in system.symbolic("load_powers").outputs for e in result.expressions)


__all__ = [
    "KNOWN",
    "Limits",
    "audited",
    "beyond_limits",
    "beyond_turns",
    "conservative",
    "passed_over",
    "too_bent",
    "too_short",
    "too_stiff",
]
