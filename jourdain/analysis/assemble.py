"""Closing the loops: positions and velocities that meet all constraints, from fixed values, guesses and preferences.

*fixed* coordinates keep their value, *guess* says where to start, *preferred* names coordinates that should be independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..model.values import seconds
from ..reals import reals
from ..solvers.linear.sparse_rows import loses_rank, shortest_solution
from ..systems.constraints import constraint_function, jacobian, jacobian_at, velocity_column
from ..systems.start import Initial, initial_values, memories_in, user_states
from ..systems.state import State
from ..systems.tree.branches import ADMISSIBLE, BranchError, branch_names, branch_states, singular_position
from ..systems.tree.partition import Partition, null_space, partition, projective_criterion
from ..systems.tree.redundancy import redundant_names

if TYPE_CHECKING:
    from ..systems.system import System

CLOSED = 1e-11
#: Guesses that are left by more than this (rad, m) are told.
FAR = 0.1
ITERATIONS = 100
#: The weight of a guess among coordinates of which nothing was said.
GUESSED = 10.0
#: Sizes of the random displacements (rad, m) tried when a guess is stuck, such as a linkage guessed with all its bars in one line.
NUDGES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)


@dataclass(frozen=True)
class Assembly:
    """What assembling found out about the mechanism in this position."""

    residual: float
    iterations: int
    freedoms: int
    independent: list[str]
    dependent: list[str]
    redundant: list[str]
    condition: float
    #: in a singular position: the velocities of each branch of the motion that has those asked for (of length 1 where none were)
    branches: list[dict[str, float]] = field(default_factory=list)
    #: whether constraints have lost rank here that they have nearby
    singular: bool = False
    #: given guesses and where the loops could be closed instead, by name
    guessed: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: the coordinate that was given half a turn to begin with, because from nearer by the loops closed with frames the wrong way round
    turned: str = ""

    @property
    def notes(self) -> list[str]:
        """What may not be meant: guesses that were left, another assembly than that nearest to the start."""
        far = [f"{n} {a:.4g} → {b:.4g}" for n, (a, b) in self.guessed.items() if abs(b - a) > FAR]
        lines = [f"far from the guess: {', '.join(far)}; fixed= or weights= hold it there, if the loops allow it"] if far else []
        if self.turned:
            lines.append(
                f"closed with {self.turned} begun half a turn away: there may be another assembly nearer to what is meant; guess= says which"
            )
        return lines

    def __str__(self) -> str:
        lines = [
            f"closed to {self.residual:.1e} in {self.iterations} iterations; {self.freedoms} degrees of freedom",
            f"  independent: {', '.join(self.independent) or 'none'}",
            f"  dependent:   {', '.join(self.dependent) or 'none'}",
        ]
        lines += [f"  {note}" for note in self.notes]
        if self.redundant:
            lines.append(f"  redundant constraints (their reactions are not unique): {', '.join(self.redundant)}")
        if self.branches:
            lines.append(f"  singular position, where branches of the motion meet; {len(self.branches)} have these velocities")
        elif self.singular:
            lines.append(
                "  singular position: constraints lose rank here; branches may meet, which equations of second order do not tell apart"
            )
        elif self.condition < 1e-6:
            lines.append("  close to a singular position: the partition is badly conditioned")
        return "\n".join(lines)


@dataclass(frozen=True)
class AssembledState(State):
    """A state with closed loops and the report on how it was found."""

    report: Assembly | None = None

    @property
    def redundant(self) -> list[str]:
        """Names of constraints that follow from others."""
        return [] if self.report is None else self.report.redundant

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  {note}" for note in (self.report.notes if self.report else []))])


def assemble(
    system: System, fixed: Mapping[str, Any] | State | None = None, guess: Mapping[str, Any] | State | None = None,
    velocities: Mapping[str, Any] | None = None, preferred: Sequence[str] = (), weights: Mapping[str, float] | None = None,
    t: float = 0.0, initial: Mapping[str, Any] | None = None, branch: int | None = None,
) -> AssembledState:  # fmt: skip
    """Closes the loops from a guess with some coordinates held, then finds velocities that keep them closed.

    ``initial`` values (those of the model unless given) are kept where the loops can then be closed; otherwise they say where to begin,
    as ``guess`` does, which goes before them.  Where branches of the motion meet, and several have the velocities asked for, ``branch`` says
    by number on which one; without it such a position is refused by an error that lists them (its ``branches``).
    """
    c, t = system.configuration, seconds(t, f"assemble '{system.model.name}': t")
    held = fixed.x if isinstance(fixed, State) else None
    own = initial_values(system, initial)
    told = dict(fixed.memory) if isinstance(fixed, State) else memories_in(system, fixed or {})
    if fixed is not None and not isinstance(fixed, State):  # the user's states are nothing that loops move
        mine = {n: x for n, x in fixed.items() if n in system.model.states}
        fixed, own = {n: x for n, x in fixed.items() if n not in mine}, own._replace(states={**own.states, **mine})
    near = guess.q if isinstance(guess, State) else c.pack(guess or {}, c.pack(own.positions))
    if held is not None:
        near, fixed = fixed.q, {}  # type: ignore[union-attr]
    rates, fixed = _split_rates(system, {n: x for n, x in (fixed or {}).items() if n not in told})  # type: ignore[union-attr]
    columns = _held_columns(system, fixed)
    kept = [] if held is not None or isinstance(guess, State) else _kept_columns(system, own, [*fixed, *(guess or {})])
    guessed = [] if guess is None or isinstance(guess, State) else [c.index(n) for n in guess if n not in own.states]
    q, residual, iterations, turned = _close_near(system, c.pack(fixed, near), columns, kept, _scale(system, guessed, weights), t)
    v = _velocities(system, q, {**rates, **dict(velocities or {})}, own.rates, t)
    J = jacobian_at(system, q, t)
    wanted = [velocity_column(system, n) for n in preferred]
    parts = partition(J, preferred=sorted({*columns, *wanted}))
    _verify_choice(system, parts, preferred)
    z = user_states(system, own.states)
    redundant = redundant_names(system.reference, State(system, q, v, z, t))
    found = report(system, parts, redundant, residual, iterations)
    found = replace(found, guessed={c.position_names[i]: (float(near[i]), float(q[i])) for i in guessed}, turned=turned)
    state = AssembledState(system, q, v, z, t, own.memories | told, found)
    return _on_branch(state, {**rates, **dict(velocities or {})}, branch)


def _held_columns(system: System, fixed: Iterable[str]) -> list[int]:
    """Velocity columns of positions that are held; a quaternion that is given whole holds all three of its own."""
    c = system.configuration
    places = {c.index(n): n for n in fixed}
    whole = {iq: iv for iq, iv in c.quaternions if all(iq + k in places for k in range(4))}
    alone = [n for i, n in places.items() if not any(iq <= i < iq + 4 for iq in whole)]
    return [velocity_column(system, n) for n in alone] + [iv + k for iv in whole.values() for k in range(3)]


def _kept_columns(system: System, initial: Initial, given: Sequence[str]) -> list[int]:
    """Velocity columns of initial positions that nothing else is said about; a quaternion and the model's guesses say where to begin only."""
    c = system.configuration
    left = {c.index(n) for n in (*given, *system.model.guesses)} | _turned(system)
    return [velocity_column(system, n) for n in initial.positions if c.index(n) not in left]


def _turned(system: System) -> set[int]:
    """Places of quaternions among the positions: no velocity belongs to one of their components alone."""
    return {k for iq, _ in system.configuration.quaternions for k in range(iq, iq + 4)}


def _on_branch(state: AssembledState, wanted: Mapping[str, Any], branch: int | None) -> AssembledState:
    """The state itself, or in a singular position with the velocities of one branch of the motion."""
    system: Any = state.system
    place = singular_position(system, state)
    assert state.report is not None
    if place is None or place.is_trivial:
        if branch is not None:
            why = "is not singular" if place is None else "is singular, but equations of second order tell no branches"
            raise InputError(f"assemble '{system.model.name}': branch={branch} has no meaning here, for the position {why}")
        return state if place is None else replace(state, report=replace(state.report, singular=True))
    held = [system.configuration.index(_rate_name(system, n), system.velocity_names, "velocity") for n in wanted]
    found = branch_states(place, place.velocities(held, state.v[held].tolist(), None if held else 1.0))
    told = [dict(zip(system.velocity_names, b.v.tolist(), strict=True)) for b in found]
    state = replace(state, report=replace(state.report, branches=told, singular=True))
    if branch is None and place.left(state.v) < ADMISSIBLE and (len(found) == 1 or not held):
        return state
    here = f"assemble '{system.model.name}': a singular position, where branches of the motion meet"
    if not found:
        there = branch_states(place, place.velocities([], [], float(np.linalg.norm(state.v)) or 1.0))
        raise BranchError(f"{here}; none has the given velocities ({', '.join(wanted)}). There are {branch_names(system, there)}", there)
    if branch is None and len(found) > 1:
        raise BranchError(f"{here}; choose one by branch=: {branch_names(system, found)}", found)
    if branch is not None and not 0 <= branch < len(found):
        raise BranchError(f"{here}, but not number {branch}: {branch_names(system, found)}", found)
    return replace(state, v=found[branch or 0].v)


def _split_rates(system: System, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    names = set(system.velocity_names)
    return {n: x for n, x in values.items() if n in names}, {n: x for n, x in values.items() if n not in names}


def _scale(system: System, guessed: Sequence[int], weights: Mapping[str, float] | None) -> np.ndarray:
    """How freely each velocity direction may be moved while closing (1 by default, smaller is stiffer); what is guessed holds against what is not."""
    scale = np.ones(system.nv)
    for i in set(guessed) - _turned(system):
        scale[velocity_column(system, system.configuration.position_names[i])] = 1.0 / GUESSED
    for name, weight in (weights or {}).items():
        w = reals(weight, f"assemble: the weight of '{name}'")
        if w.ndim or not w > 0:
            raise InputError(f"assemble: the weight of '{name}' must be positive, got {short(weight)}")
        scale[velocity_column(system, name)] = 1.0 / w
    return scale


def _close_near(
    system: System, q: np.ndarray, held: Sequence[int], kept: Sequence[int], scale: np.ndarray, t: float
) -> tuple[np.ndarray, float, int, str]:
    """Closes from the guess with all kept columns, else without, else from places around it, always the same ones.

    The first failure without kept columns is the one to tell. Last comes the name of what was turned by half a turn, if anything.
    """
    if kept:
        try:
            closed, residual, iterations = close_positions(system, q, [*held, *kept], scale, t)
            _check_flips(system, closed, t)
        except SolverError:
            pass
        else:
            return closed, residual, iterations, ""
    free = np.ones(system.nv)
    free[list(held)] = 0.0
    directions = np.random.default_rng(0).uniform(-1.0, 1.0, (len(NUDGES), system.nv)) * free
    first: SolverError | None = None
    for move in chain([0.0 * free], (size * d for size, d in zip(NUDGES, directions, strict=True)), _half_turns(system, free * scale)):
        half = abs(move).max(initial=0.0) == np.pi
        if first is not None and half and not isinstance(first, Flipped):
            break
        start = system.configuration.integrate(q, move) if move.any() else q
        try:
            closed, residual, iterations = close_positions(system, start, held, scale, t)
            _check_flips(system, closed, t)
        except SolverError as error:
            first = first or error
        else:
            if not half:
                return closed, residual, iterations, ""
            turned = system.velocity_names[int(abs(move).argmax())].removesuffix("_rate").partition(".omega_")[0]
            return closed, residual, iterations, turned
    assert first is not None
    raise first


class Flipped(SolverError):
    """A closure was met with its frames turned by 180° against each other."""


def _half_turns(system: System, free: np.ndarray) -> Iterator[np.ndarray]:
    """Turns by π of single orientations that are neither held nor guessed: from there Newton's steps find the solution that is not turned."""
    first = 0
    for c in system.configuration.coordinates:
        last = first + len(c.velocity_names)
        for column in range(first, last) if c.is_quaternion or c.unit == "rad" else ():
            if free[column] == 1.0:
                yield np.pi * np.eye(system.nv)[column]
        first = last


def close_positions(system: System, q: np.ndarray, held: Sequence[int], scale: np.ndarray, t: float) -> tuple[np.ndarray, float, int]:
    """Gauss–Newton with the shortest (weighted) corrections and a line search; held columns do not move."""
    if not system.equations_of_motion.holonomic:
        return q, 0.0, 0
    f = constraint_function(system, "constraints")
    clock = np.array([t])
    free = np.setdiff1d(np.arange(system.nv), np.array(held, dtype=int))
    h, J = f(clock, q)
    _check_finite(system, h, J)
    best = float(np.abs(h).max())
    for iteration in range(ITERATIONS):
        if best < CLOSED:
            return _polished(system, f, clock, q, free, scale), best, iteration
        step = np.zeros(system.nv)
        step[free] = -scale[free] * shortest_solution(_scaled(J, free, scale), h)
        q, h, J, improved = _line_search(system, f, clock, q, step, h, J)
        best = float(np.abs(h).max())
        if not improved:
            break
    if best < 1e-9:
        return q, best, ITERATIONS
    raise SolverError(_cannot_close(system, h, J[:, free]))


def _scaled(J: Any, free: np.ndarray, scale: np.ndarray) -> Any:
    """Free columns of J, each times its scale."""
    return J[:, free] * scale[free] if isinstance(J, np.ndarray) else J[:, free].multiply(scale[free]).tocsr()


def _check_finite(system: System, h: np.ndarray, J: Any) -> None:
    """Refuses a position where constraints are singular, as those of a disk that lies flat."""
    sizes = np.asarray(abs(J).sum(axis=1)).ravel()
    bad = np.flatnonzero(~(np.isfinite(h) & np.isfinite(sizes)))
    if len(bad):
        raise SolverError(
            f"assemble '{system.model.name}': the constraint {system.equations_of_motion.rows[int(bad[0])].name} is not finite at this position; "
            f"begin elsewhere, as with guess={{'{system.coordinate_names[-1]}': 0.1}}"
        )


def _polished(system: System, f: Any, clock: np.ndarray, q: np.ndarray, free: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """One more step at the end brings the residual down to round-off."""
    h, J = f(clock, q)
    step = np.zeros(system.nv)
    step[free] = -scale[free] * shortest_solution(_scaled(J, free, scale), h)
    better = system.configuration.integrate(q, step)
    return better if np.abs(f(clock, better)[0]).max() <= np.abs(h).max() else q


def _line_search(system: System, f: Any, clock: np.ndarray, q: np.ndarray, step: np.ndarray, h: np.ndarray, J: Any) -> tuple:
    reference = float(h @ h)
    limit = np.abs(step).max()
    factor = min(1.0, 1.0 / limit) if limit > 0 else 1.0
    for _ in range(30):
        trial = system.configuration.integrate(q, factor * step)
        h1, J1 = f(clock, trial)
        if float(h1 @ h1) < reference * (1.0 - 1e-4 * factor):
            return trial, h1, J1, True
        factor *= 0.5
    return q, h, J, False


def _cannot_close(system: System, h: np.ndarray, J: Any) -> str:
    rows = system.equations_of_motion.rows
    worst = np.argsort(-np.abs(h))[:3]
    listed = ", ".join(f"{rows[i].name} (off by {h[i]:.3g})" for i in worst if abs(h[i]) > 1e-9)
    dependent = J.shape[0] > J.shape[1] or (loses_rank(J, 1e-7) if system.packed else np.linalg.matrix_rank(J) < len(h))
    reason = (
        "these constraints contradict each other or the fixed coordinates"
        if dependent
        else "the mechanism cannot reach this position with the fixed coordinates"
    )
    return (
        f"assemble '{system.model.name}': the loops cannot be closed: {listed}; {reason}. Change the fixed values, or give another guess=."
    )


def _check_flips(system: System, q: np.ndarray, t: float) -> None:
    """Orientation constraints have a second solution turned by π; it is refused."""
    for name, value in system.reference.orientation_checks(q, t).items():
        if value < 0:
            raise Flipped(
                f"assemble '{system.model.name}': the closure '{name}' was met with its frames turned by 180° against each other; "
                "give a guess= nearer to the wanted position"
            )


def _velocities(system: System, q: np.ndarray, wanted: Mapping[str, Any], initial: Mapping[str, Any], t: float) -> np.ndarray:
    """Velocities with the wanted ones held, and the initial ones too if the constraints allow it, otherwise near those."""
    held = {_rate_name(system, n) for n in wanted}
    more = {n: x for n, x in initial.items() if n not in held}
    try:
        return assemble_velocities(system, q, {**wanted, **more}, t)
    except SolverError:
        if not more:
            raise
    return assemble_velocities(system, q, wanted, t, system.configuration.pack_velocities(more))


def assemble_velocities(system: System, q: np.ndarray, wanted: Mapping[str, Any], t: float, near: np.ndarray | None = None) -> np.ndarray:
    """Velocities that meet the constraints, given ones held, the rest as near as possible to ``near`` or to zero."""
    c = system.configuration
    v = c.pack_velocities({_rate_name(system, n): x for n, x in wanted.items()}, near)
    if not system.equations_of_motion.rows:
        return v
    held = [c.index(_rate_name(system, n), c.velocity_names, "velocity") for n in wanted]
    f = constraint_function(system, "constraint_velocities")
    extra = [system.input_values() if n == "u" else np.zeros(size) for n, size in list(f.inputs.items())[3:]]
    free = np.setdiff1d(np.arange(system.nv), np.array(held, dtype=int))
    for _ in range(3):
        w, J = f(np.array([t]), q, v, *extra)
        _check_finite(system, w, J)
        v[free] -= shortest_solution(J[:, free], w)
    w, J = f(np.array([t]), q, v, *extra)
    if np.abs(w).max() > 1e-8 * (1.0 + np.abs(v).max()):
        i = int(np.argmax(np.abs(w)))
        raise SolverError(
            f"assemble '{system.model.name}': the given velocities ({', '.join(wanted)}) contradict the constraint "
            f"{system.equations_of_motion.rows[i].name} (off by {w[i]:.3g}); give at most as many as there are degrees of freedom"
        )
    return v


def _rate_name(system: System, name: str) -> str:
    if name in system.velocity_names:
        return name
    c = system.configuration
    if name in c.position_names or any(n.startswith(name + ".") for n in c.position_names):
        return c.velocity_names[velocity_column(system, name)]
    return name


def _verify_choice(system: System, parts: Partition, preferred: Sequence[str]) -> None:
    for name in preferred:
        if velocity_column(system, name) in parts.dependent:
            good = ", ".join(system.velocity_names[j].removesuffix("_rate") for j in parts.independent)
            raise SolverError(
                f"assemble: '{name}' cannot be independent in this position (the others would be singular); independent are {good}"
            )


def report(system: System, parts: Partition, redundant: list[str], residual: float, iterations: int) -> Assembly:
    """The assembly in names."""
    names = [n.removesuffix("_rate") for n in system.velocity_names]
    return Assembly(
        residual, iterations, len(parts.independent), [names[j] for j in parts.independent], [names[j] for j in parts.dependent],
        redundant, parts.condition,
    )  # fmt: skip


def assembly_modes(system: System, fixed: Mapping[str, Any], tries: int = 60, seed: int = 0, t: float = 0.0) -> dict[str, State]:
    """Different closed positions with the same fixed coordinates, found from random guesses; named A, B, C, …

    All freedoms are to be held: where others are open, there are as many positions as guesses, and none of them means anything.
    """
    for name, given, least in (("tries", tries, 1), ("seed", seed, 0)):
        if not isinstance(given, int | np.integer) or given < least:
            raise InputError(f"assembly_modes: {name} = {short(given)} must be a whole number from {least} on")
    t = seconds(t, f"assembly_modes '{system.model.name}': t")
    rng = np.random.default_rng(seed)
    c = system.configuration
    columns = _held_columns(system, fixed)
    found: list[np.ndarray] = []
    for _ in range(tries):
        guess = c.pack(fixed, c.random(rng))
        try:
            q, *_ = close_positions(system, guess, columns, np.ones(system.nv), t)
            _check_flips(system, q, t)
        except SolverError:
            continue
        if all(_distance(system, q, other) > 1e-6 for other in found):
            found.append(q)
    if found:
        _refuse_open(system, fixed, columns, found, t)
    found.sort(key=lambda q: np.round(q, 6).tolist())
    z = user_states(system, initial_values(system).states)
    return {_letter(i): State(system, q, np.zeros(system.nv), z, t) for i, q in enumerate(found)}


def _refuse_open(system: System, fixed: Mapping[str, Any], columns: Sequence[int], found: Sequence[np.ndarray], t: float) -> None:
    """Refuses held coordinates that leave motions free in all positions found (in a singular one there are more than elsewhere)."""
    left: Sequence[int] = range(system.nv)
    for q in found:
        independent = partition(jacobian(system, q, t), fixed=columns).independent
        left = min(left, [j for j in independent if j not in columns], key=len)
        if not left:
            return
    c, names = system.configuration, system.configuration.displacement_names
    whole = {iv + k: c.position_names[iq].removesuffix("0") for iq, iv in c.quaternions for k in range(3)}
    told = list(dict.fromkeys(f"{whole[j]}0 … {whole[j][-1]}3" if j in whole else f"'{names[j]}'" for j in left))
    raise InputError(
        f"assembly_modes '{system.model.name}': with {', '.join(map(repr, fixed)) or 'nothing'} held, {len(left)} "
        f"{'freedom is' if len(left) == 1 else 'freedoms are'} open, and any position of theirs would be listed; hold {', '.join(told)}, too"
    )


def _letter(i: int) -> str:
    return chr(ord("A") + i) if i < 26 else f"M{i}"


def _distance(system: System, a: np.ndarray, b: np.ndarray) -> float:
    """Distance of configurations with angles taken modulo a turn."""
    d = system.configuration.difference(a, b)
    turning = np.array([system.configuration.coordinates[k].unit == "rad" for k in _owner(system)])
    d = np.where(turning, (d + np.pi) % (2 * np.pi) - np.pi, d)
    return float(np.abs(d).max()) if len(d) else 0.0


def _owner(system: System) -> list[int]:
    return [k for k, c in enumerate(system.configuration.coordinates) for _ in c.v]


def mobility(system: System, q: np.ndarray, t: float = 0.0) -> int:
    """Degrees of freedom in a position: columns of the null space of the constraints."""
    return int(null_space(jacobian(system, q, t)).shape[1])


def projective(system: System, state: State) -> dict[str, float]:
    """cos²α of every coordinate (see :mod:`jourdain.systems.tree.partition`)."""
    J, M = jacobian(system, state.q, state.t), system.mass_matrix(state.q, state.t)
    return dict(zip((n.removesuffix("_rate") for n in system.velocity_names), projective_criterion(J, M).tolist(), strict=True))
