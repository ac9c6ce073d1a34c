"""How the loops of a system are closed: in closed form for which independent coordinates, or by Newton and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, SolverError
from ...formalisms.functions.reduced import closed_form
from ...formalisms.loops.closed_form import ClosedForm
from ...formalisms.loops.elimination import Block, elimination_order
from ...native.function import Function
from ...symbolic.graph import evaluate
from ..constraints import jacobian, velocity_column
from ..state import State
from .partition import null_space, partition, projective_partition
from .redundancy import redundant_names

if TYPE_CHECKING:
    from .system import TreeSystem

#: How many choices of independent coordinates are tried, and at how many positions their dead points are looked for.
TRIES, SWEEP = 200, 96
#: Margin of a closed form below which its root is a double one: found from it, positions have half the digits and velocities none.
DOUBLE_ROOT = 1e-8


@dataclass(frozen=True)
class ClosureReport:
    """How the loops are closed for a choice of independent coordinates."""

    model: str
    independent: list[str]
    #: "closed form", "Newton", "closed form and Newton" or "none" (no loops)
    method: str
    reason: str
    #: for each step: the constraints, the coordinates they give, the kind of the step, the branch (0 without a root)
    steps: list[tuple[list[str], list[str], str, int]] = field(default_factory=list)
    redundant: list[str] = field(default_factory=list)
    #: smallest distance of all roots from a dead point over a sweep of the independent coordinates (1 far, below 0 out of reach)
    margin: float = 1.0

    def __str__(self) -> str:
        if self.method == "none":
            held = f"; redundant: {', '.join(self.redundant)}" if self.redundant else ""
            return f"{self.model}: no loops to close{held}"
        head = f"{self.model}: {self.method} with {', '.join(self.independent) or 'nothing'} independent"
        lines = [head if self.method == "closed form" else f"{head}: {self.reason}"]
        for rows, found, kind, branch in self.steps:
            sign = f", branch {branch:+d}" if branch else ""
            lines.append(f"  {', '.join(rows)} → {', '.join(found)} ({kind}{sign})")
        if self.redundant:
            lines.append(f"  redundant: {', '.join(self.redundant)}")
        if self.method == "closed form":
            lines.append(f"  {self.reason}")
        return "\n".join(lines)


def closure_report(system: TreeSystem, independent: Sequence[str] | None = None, state: State | None = None) -> ClosureReport:
    """Which way the loops are closed and why, for given independent coordinates or for the best ones in a state."""
    state = None if state is None else system.state(state)
    eq = system.equations_of_motion
    if not eq.holonomic:
        return ClosureReport(system.model.name, system.coordinate_names, "none", "no loops", redundant=list(eq.idle_rows))
    state = closed_state(system) if state is None else state
    if independent is None:
        names, form, reading = best_closed_form(system, state)
    else:
        names = full_names(system, independent)
        form = closed_form(eq, names)
        reading = read(system, form, state)
    margin = reading.least
    rates = [n.removesuffix("_rate") for n in system.velocity_names]
    signs = iter(reading.choices)
    steps = [
        ([eq.rows[i].name for i in s.rows], [rates[j] for j in s.coordinates], s.kind, int(next(signs)) if s.branch is not None else 0)
        for s in form.steps
    ]
    redundant = redundant_names(system, state)
    if reading.vanishing:
        reason = f"the roots of {reading.vanishing} vanish in this position"
        return ClosureReport(system.model.name, names, "Newton", reason, [], redundant, margin)
    if not form.complete:
        method = "closed form and Newton" if steps else "Newton"
        return ClosureReport(system.model.name, names, method, form.reason, steps, redundant, margin)
    reach = (
        "no dead point found in a sweep of the independent coordinates"
        if margin > 1e-3
        else "dead points limit the independent coordinates"
    )
    return ClosureReport(
        system.model.name, names, "closed form", f"{reach} (smallest margin {margin:.3g})", steps, redundant, margin,
    )  # fmt: skip


def closed_state(system: TreeSystem) -> State:
    """Some closed position."""
    try:
        return system.assemble({})
    except SolverError:
        modes = system.assembly_modes({})
        if not modes:
            raise
        return next(iter(modes.values()))


def full_names(system: TreeSystem, names: Sequence[str]) -> list[str]:
    """Coordinates by their full names; a joint's name is enough where it has one coordinate."""
    c = system.configuration
    return [n if n in c.velocity_names else c.position_names[c.index(n)] for n in names]


def names_of(system: TreeSystem, columns: Sequence[int]) -> list[str]:
    """Names of coordinates by velocity column (velocities for parts of quaternions)."""
    owners = [(c, k) for c in system.configuration.coordinates for k in range(len(c.v))]
    return [owners[j][0].velocity_names[owners[j][1]] if owners[j][0].is_quaternion else owners[j][0].names[0] for j in columns]


# --- choosing independent coordinates ------------------------------------------------------------------------------


def independent_columns(system: TreeSystem, state: State, independent: Sequence[str] | None, criterion: str = "pivoting") -> list[int]:
    """Independent velocity columns: the user's (checked), or by pivoting or the projective criterion."""
    J = jacobian(system, state.q, state.t)
    if independent is not None:
        chosen = sorted({_column(system, n) for n in independent})
        parts = partition(J, fixed=chosen, preferred=turning(system))
        rank = np.linalg.matrix_rank(J)
        if len(parts.dependent) < rank or len(chosen) > J.shape[1] - rank:
            good = ", ".join(names_of(system, partition(J, preferred=turning(system)).independent))
            raise InputError(
                f"'{system.model.name}': {', '.join(independent)} cannot be the independent coordinates in this position "
                f"({J.shape[1] - rank} are needed, and the others must follow from them); independent could be {good}"
            )
        return parts.independent
    if criterion == "projective":
        return projective_partition(J, system.mass_matrix(state.q, state.t)).independent
    if criterion != "pivoting":
        raise InputError(f"criterion '{criterion}' is not known; use 'pivoting' or 'projective'")
    return partition(J / weights(system, state), preferred=turning(system)).independent


def turning(system: TreeSystem) -> list[int]:
    """Velocity columns of quaternions: dependent only where they must be."""
    return [iv + k for _, iv in system.configuration.quaternions for k in range(3)]


def _column(system: TreeSystem, name: str) -> int:
    """The velocity column of a coordinate, or of a velocity such as a part of an angular velocity."""
    names = system.configuration.velocity_names
    return names.index(name) if name in names else velocity_column(system, name)


def weights(system: TreeSystem, state: State) -> np.ndarray:
    """√M_jj: velocities times these are comparable whatever their units."""
    diagonal = np.diag(system.mass_matrix(state.q, state.t)).copy()
    top = diagonal.max(initial=0.0)
    return np.sqrt(np.where(diagonal > 1e-8 * top, diagonal, top if top > 0 else 1.0))  # type: ignore[no-any-return]


def best_closed_form(system: TreeSystem, state: State) -> tuple[list[str], ClosedForm, Reading]:
    """The independent coordinates whose closed form stays farthest from dead points; where none solves all loops, one that solves most."""
    eq = system.equations_of_motion
    J, weight, known = jacobian(system, state.q, state.t), weights(system, state), values_at(system, state)
    tangent = null_space(J) * weight[:, None]
    free, quaternions = tangent.shape[1], turning(system)
    must = partition(J / weight, preferred=quaternions).dependent
    held = [j for j in quaternions if j not in must]
    others = [j for j in range(system.nv) if j not in quaternions]
    sets = ([*held, *c] for c in combinations(others, max(0, free - len(held))))
    scored = sorted(((_least_singular(tangent[c]), sorted(c)) for c in islice(sets, TRIES)), reverse=True)
    best: tuple[tuple[float, ...], list[str], ClosedForm, Reading] | None = None
    for quality, columns in scored:
        if quality < 1e-3 * scored[0][0]:
            break
        names = names_of(system, columns)
        form = closed_form(eq, names)
        reading = read(system, form, state, known)
        score = _score(form, reading.least, quality) if not reading.vanishing else (-1.0, quality)
        if best is None or score > best[0]:
            best = score, names, form, reading
    if best is None:
        raise InputError(f"'{system.model.name}': no choice of independent coordinates was found in this position")
    return best[1:]


def _score(form: ClosedForm, margin: float, quality: float) -> tuple[float, ...]:
    """Best are closed forms of all loops without dead points, then of some loops, then those with dead points."""
    reach = _reach(margin)
    rank = (3.0 if form.complete else 2.0) if reach > 0.0 and form.steps else (1.0 if form.complete else 0.0)
    return (rank, 0.0 if form.complete else len(form.solved), reach, quality)


def _reach(margin: float) -> float:
    """How much a margin over the sweep counts: not at all once there are dead points, and no more than enough."""
    return min(max(margin, 0.0), 0.05)


def _least_singular(rows: np.ndarray) -> float:
    return float(np.linalg.svd(rows, compute_uv=False)[-1]) if rows.size else 0.0


def values_at(system: TreeSystem, state: State, parameters: np.ndarray | None = None) -> dict:
    """Values of all symbols in a state."""
    eq = system.equations_of_motion
    p = system.parameter_vector if parameters is None else parameters
    known = dict(zip(eq.q, state.q, strict=True)) | dict(zip(eq.p, p, strict=True)) | {eq.t: state.t}
    return known | dict(zip(eq.u, system.input_values(), strict=True)) | dict(zip(eq.z, state.z, strict=True))


def choices(form: ClosedForm, known: dict) -> np.ndarray:
    """Signs of the roots of a closed form in an assembled state, and the solved angles there."""
    found = np.array([float(x) for x in evaluate([*form.branch_signs, *form.angles], known)])
    signs = len(form.branches)
    found[:signs] = np.where(found[:signs] >= 0.0, 1.0, -1.0)
    return found


@dataclass(frozen=True)
class Reading:
    """A closed form in an assembled state: its choices, and how far its roots are from dead points (1 far, 0 at one)."""

    choices: np.ndarray
    #: smallest margin while independent angles turn fully and displacements go to zero and to twice their value
    least: float
    #: the constraint whose root vanishes in the state (in over-constrained linkages everywhere); "" where none does
    vanishing: str


def read(system: TreeSystem, form: ClosedForm, state: State, known: dict | None = None) -> Reading:
    """A closed form in an assembled state; ``known`` are the values of its symbols, where they were found before."""
    known = values_at(system, state) if known is None else known
    found = choices(form, known)
    if not form.margins:
        return Reading(found, 1.0 if form.steps else 0.0, "")
    along = known | dict(zip(form.choices, found, strict=True)) | _sweep(system, form, known)
    margins = [np.nan_to_num(np.atleast_1d(m), nan=-1.0) for m in evaluate(form.margins, along)]
    roots = [step for step in form.steps if step.branch is not None]
    rows = system.equations_of_motion.rows
    vanishing = next((rows[s.rows[0]].name for s, m in zip(roots, margins, strict=True) if not m[0] >= DOUBLE_ROOT), "")
    return Reading(found, float(min(m.min() for m in margins)), vanishing)


def _sweep(system: TreeSystem, form: ClosedForm, known: dict) -> dict:
    """Values of the independent coordinates over a sweep that begins in the state."""
    owners = [c for c in system.configuration.coordinates for _ in c.v]
    s, found = np.linspace(0.0, 1.0, SWEEP), {}
    for k, j in enumerate(form.independent):
        q, turns = owners[j].q[0], 2 * k + 1
        if owners[j].unit == "rad" and not owners[j].is_quaternion:
            found[q] = known[q] + 2.0 * np.pi * turns * s
        elif not owners[j].is_quaternion:
            found[q] = known[q] + (abs(known[q]) or 1.0) * np.sin(2.0 * np.pi * turns * s)
    return found


# --- reduced functions ---------------------------------------------------------------------------------------------


def order_of_elimination(system: TreeSystem, state: State, independent: Sequence[str] | None = None) -> tuple[Block, ...]:
    """Which constraints give which dependent velocities, in the order and with the pivots that suit a state."""
    eq = system.equations_of_motion
    J = jacobian(system, state.q, state.t)
    parts = partition(J, fixed=independent_columns(system, state, independent))
    pattern = np.zeros(J.shape, dtype=bool)
    for i, j in eq.constraint_jacobian:
        pattern[i, j] = True
    return elimination_order(J, pattern, sorted(parts.active), sorted(parts.dependent))


def reduced_function(system: TreeSystem, name: str, state: State, independent: Sequence[str] | None = None) -> Function:
    """``reduced_accelerations`` or ``reduced_inverse_dynamics`` compiled for a partition, with pivots that suit a state.

    >>> import jourdain as jd
    >>> from jourdain.library.mechanisms import four_bar
    >>> s = four_bar().compile()
    >>> x = s.assemble({"crank": 1.0}, guess={"coupler": -0.5, "rocker": 1.5}, velocities={"crank": 2.0})
    >>> f = reduced_function(s, "reduced_accelerations", x, ["crank"])
    >>> f([0.0], x.q, x.v, x.z, []).shape
    (3,)
    """
    return system.function(name, order=order_of_elimination(system, state, independent))
