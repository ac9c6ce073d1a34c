"""Static and dynamic equilibrium: positions, speeds, forces or parameters at which nothing accelerates.

Robotran manual, §5.3 (eqs. 44–50): exchange of variables, non-sensitive variables, extra variables and equations, steady motion
with given speeds or with given forces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..model.contact.methods import touches
from ..model.values import number
from ..results.touches import Touches
from ..shown import Shown
from ..symbolic.expr import Expr, as_expr
from ..systems.pushed import touches_rigidly
from ..systems.state import State
from .eigen import growing
from .equations.balance import Balance, Outcome, Place, Unknown, coordinate_label, coordinate_unit, newton, row_sizes
from .equations.lost_motion import lost_motion
from .equations.residual import Residual, closed_state, least_multipliers, outer, temporary_parameters
from .tables import File, eigenvalue_plot, write_record
from .touching.standing import refuse_options, standing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..systems.system import System
    from .linearise import LinearSystem


@dataclass(frozen=True)
class Entry:
    """One variable of an equilibrium and what became of it."""

    name: str
    value: float
    unit: str
    role: str


@dataclass(frozen=True)
class Equilibrium(Shown):
    """An equilibrium: its state, the inputs and parameters that belong to it, and how it was found."""

    system: System = field(repr=False)
    kind: str
    state: State
    inputs: dict[str, float]
    #: parameters that were unknowns; :meth:`apply` gives them to the system
    exchanged_parameters: dict[str, float]
    entries: list[Entry]
    #: what remains in each equation (N, N m, or the unit of a user's equation)
    residuals: dict[str, float]
    multipliers: dict[str, float]
    #: forces of driven and locked joints (N, N m)
    drive_forces: dict[str, float]
    #: parameter values with which it was found, exchanged ones included
    parameters: dict[str, float] = field(repr=False)
    iterations: int
    method: str
    notes: list[str]
    #: rigid contacts that are closed, with their forces
    contacts: Touches = field(default_factory=Touches)

    @property
    def residual(self) -> float:
        """Largest remaining force or rate."""
        return max((abs(x) for x in self.residuals.values()), default=0.0)

    @property
    def held(self) -> list[str]:
        """Variables without influence, left where they were."""
        return [e.name for e in self.entries if e.role == "held"]

    def contact_force(self, contact: str, body: str) -> np.ndarray:
        """The net force (N) of a rigid contact on a body."""
        mine = [(c.force, c.body_a == body) for c in self.contacts if c.contact == contact and body in (c.body_a, c.body_b)]
        if not mine:
            known = ", ".join(sorted({f"{c.contact}.{b}" for c in self.contacts for b in (c.body_a, c.body_b)})) or "none"
            raise InputError(f"there is no closed contact '{contact}' of '{body}'; closed are {known}")
        return np.asarray(sum((f if first else -f for f, first in mine), np.zeros(3)))

    def apply(self) -> Equilibrium:
        """Gives the parameters that were found to the system."""
        self.system.set_parameters(**self.exchanged_parameters)
        return self

    def __getitem__(self, name: str) -> float:
        for table in (self.exchanged_parameters, self.inputs, self.multipliers, self.drive_forces):
            if name in table:
                return table[name]
        return self.state[name]

    @cached_property
    def linear(self) -> LinearSystem:
        """The linear system about this equilibrium."""
        with temporary_parameters(self.system, self.parameters):
            return self.system.linearise(self)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of the linear system, 1/s."""
        return self.linear.eigenvalues

    @property
    def stable(self) -> bool:
        """Whether no eigenvalue has a positive real part (small motions do not grow)."""
        return not growing(self.eigenvalues).any()

    @property
    def stability(self) -> str:
        """Stability in words."""
        values = self.eigenvalues
        grow = values[growing(values)]
        if len(grow):
            return f"unstable ({len(grow)} growing: Re λ up to {grow.real.max():.4g} 1/s)"
        if not len(values) or values.real.max() < -1e-9 * max(1.0, np.abs(values).max()):
            return "asymptotically stable"
        return "stable without damping of every motion (neutral)"

    def plot(self, file: File | None = None, show: bool = False) -> Figure:
        """Eigenvalues of small motions about it in the complex plane."""
        return eigenvalue_plot(self.eigenvalues, f"{self.kind} equilibrium of {self.system.model.name}", file, show)

    def save(self, path: File) -> None:
        """Everything that was found, as JSON."""
        values = self.eigenvalues
        data = {
            "model": self.system.model.name,
            "kind": self.kind,
            "variables": [asdict(e) for e in self.entries],
            "inputs": self.inputs,
            "parameters": self.parameters,
            "multipliers": self.multipliers,
            "drive_forces": self.drive_forces,
            "residuals": self.residuals,
            "eigenvalues": [[x.real, x.imag] for x in values.tolist()],
            "stability": self.stability,
            "notes": self.notes,
        }
        write_record(path, data)

    def __str__(self) -> str:
        lines = [
            f"{self.kind} equilibrium of {self.system.model.name}: {self.iterations} iterations ({self.method}), residual {self.residual:.2e}"
        ]
        width = max((len(e.name) for e in self.entries), default=4)
        lines += [f"  {e.name:<{width}} {e.value: .9g} {e.unit}{'' if e.role == 'found' else f'  ({e.role})'}" for e in self.entries]
        for title, table in (
            ("multipliers (forces of the constraints):", self.multipliers),
            ("forces of driven and locked joints:", self.drive_forces),
        ):
            if table:
                size = max(len(n) for n in table)
                lines += [title, *(f"  {n:<{size}} {x: .6g}" for n, x in table.items())]
        if self.contacts:
            lines += ["forces of contacts:", *(f"  {c}" for c in self.contacts)]
        try:
            lines.append(self.stability)
        except SolverError as error:
            lines.append(f"stability unknown: {error}")
        return "\n".join([*lines, *(f"note: {n}" for n in self.notes)])


def equilibrium(
    system: System,
    x0: State | Mapping[str, Any] | None = None,
    unknowns: Sequence[str] | None = None,
    exchange: Mapping[str, str] | None = None,
    equations: Mapping[str, Expr] | Sequence[Expr] | None = None,
    kind: str = "static",
    extra: Sequence[str] = (),
    inputs: Mapping[str, float] | None = None,
    accelerations: Mapping[str, Any] | None = None,
    steady: Sequence[str] | None = None,
    continuation: str | tuple[str, float] | None = "gravity",
    iterations: int = 80,
    make: Callable[..., Residual] = Residual,
) -> Equilibrium:
    """Equilibrium near a state.

    The unknowns are the independent coordinates and the user's states.  ``exchange`` replaces a coordinate, which keeps its
    value, by a parameter, an input or (dynamic) a velocity; ``unknowns`` lists all unknowns instead; ``extra`` adds some, to be
    found from further ``equations`` (expressions that must vanish).  With kind "dynamic" the independent velocities of ``x0`` are
    kept and all their accelerations vanish, except those given in ``accelerations`` (numbers or expressions); ``steady`` names
    the velocities that are to be independent (those given in ``x0`` by default).  Where Newton's method fails, gravity (or a
    parameter from another value: ``continuation=("k", 1e5)``) is brought in step by step.  ``make`` is what evaluates the equations
    (another formulation's).

    >>> import jourdain as jd
    >>> m = jd.Model("pendulum")
    >>> k = m.parameter("k", 10.0)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(1, 0, 0)), axis="-y")
    >>> spring = m.joint_spring(hinge, k)
    >>> found = m.compile().equilibrium({"hinge.angle": -0.3}, exchange={"hinge": "k"})
    >>> round(found["k"], 4)
    31.2395
    """
    if kind not in ("static", "dynamic"):
        raise InputError(f"equilibrium: kind '{kind}' is unknown; use 'static' or 'dynamic'")
    if touches_rigidly(system.model):
        options = {"unknowns": unknowns, "exchange": exchange, "equations": equations, "extra": extra, "accelerations": accelerations}
        refuse_options(options | {"kind='dynamic', steady": kind == "dynamic" or steady}, system.model.name)
        return _of_contacts(system, x0, inputs, iterations)
    if touches(system.model) and kind == "static" and unknowns is None and not exchange:
        x0, inputs = _settled(system, x0, inputs, iterations)
    problem = describe_problem(system, x0, unknowns, exchange, equations, kind, extra, inputs, accelerations, steady)
    with temporary_parameters(system):
        balance = problem.balance(make=make)
        balance.hold_insensitive()
        outcome, method = _solve(system, balance, continuation, iterations)
        if not outcome.converged:
            raise SolverError(_failure(system, balance, outcome))
        lost = lost_motion(balance, outcome.place)
        if lost and not lost.balanced:
            raise SolverError(
                f"equilibrium '{system.model.name}': {lost}, so that vanishing forces on the coordinates tell no equilibrium, and right beside it the "
                "bodies accelerate; start elsewhere, or give the body a joint with a quaternion or angles about other axes"
            )
        found = _result(system, balance, outcome, kind, method)
        return replace(found, notes=[*found.notes, str(lost)]) if lost else found


def _of_contacts(system: System, x0: Any, inputs: Mapping[str, float] | None, iterations: int) -> Equilibrium:
    """A position near x0 in which rigid contacts hold the system."""
    start, u = starting_point(system, x0, inputs, "static")
    found, touching, multipliers = standing(system, start, outer(system, u), iterations)
    c, point = system.configuration, found.point
    entries = [Entry(n, float(x), unit, "found") for n, x, unit in zip(c.position_names, point.q, c.units, strict=True)]
    names = [f"force on '{coordinate_label(system, j)}'" for j in range(system.nv)]
    notes = ["forces of contacts are not determined by statics alone: those of least norm are told"] if found.redundant else []
    return Equilibrium(
        system, "static", found.state, outer(system, point.u), {}, entries, dict(zip(names, found.balance.tolist(), strict=True)), multipliers,
        found.residual.drive_forces(found.loaded), dict(system.parameters), found.steps, "Coulomb's law in displacements", notes, Touches(touching),
    )  # fmt: skip


def _settled(system: System, x0: Any, inputs: Mapping[str, float] | None, iterations: int) -> tuple[State, Mapping[str, float]]:
    """A start near the equilibrium of surfaces that give way: what is above them comes down, and their memories know what touches."""
    start, u = starting_point(system, x0, inputs, "static")
    own = outer(system, u)
    found, *_ = standing(system, start, own, iterations)
    return found.state, own


@dataclass(frozen=True)
class Problem:
    """An equilibrium problem as the user put it, with names looked up."""

    system: System
    start: State
    u: np.ndarray
    unknowns: list[Unknown] | None
    exchange: dict[Unknown, Unknown]
    extra: list[Unknown]
    equations: dict[str, Expr]
    dynamic: bool
    accelerations: dict[int, Any]
    steady: list[int]

    def balance(self, further: Sequence[Unknown] = (), make: Callable[..., Residual] = Residual) -> Balance:
        """The equations, with further unknowns if asked."""
        residual = Residual(self.system)
        start = residual.point(self.start, self.u)
        if not self.dynamic:
            start = start.with_values(v=np.zeros(self.system.nv))
        return Balance(
            self.system,
            start,
            self.unknowns,
            self.exchange,
            [*self.extra, *further],
            self.equations,
            self.dynamic,
            self.accelerations,
            self.steady,
            make,
        )


def describe_problem(
    system: System,
    x0: Any,
    unknowns: Sequence[str] | None,
    exchange: Mapping[str, str] | None,
    equations: Any,
    kind: str,
    extra: Sequence[str],
    inputs: Mapping[str, float] | None,
    accelerations: Mapping[str, Any] | None,
    steady: Sequence[str] | None = None,
) -> Problem:
    """Looks up all names."""
    swapped = {find_unknown(system, a): find_unknown(system, b) for a, b in (exchange or {}).items()}
    for a in swapped:
        if a.kind not in "qz":
            raise InputError(f"equilibrium: exchange must name a coordinate or a user state to be kept, not '{a.name}'")
    listed = None if unknowns is None else [find_unknown(system, n) for n in unknowns]
    further = [find_unknown(system, n) for n in extra]
    used = [*(listed or []), *swapped.values(), *further]
    twice = {x.name for x in used if used.count(x) > 1}
    if twice:
        raise InputError(f"equilibrium: '{min(twice)}' is named twice among the unknowns")
    if kind == "static" and any(x.kind == "v" for x in used):
        raise InputError("equilibrium: a velocity is an unknown of kind='dynamic' only")
    if equations is None:
        named: dict[str, Expr] = {}
    elif isinstance(equations, Mapping):
        named = {n: as_expr(e) for n, e in equations.items()}
    else:
        named = {str(e): as_expr(e) for e in equations}
    given: dict[int, Any] = {}
    for n, value in (accelerations or {}).items():
        given[find_unknown(system, n).index] = value if isinstance(value, Expr) else number(value, f"acceleration '{n}'")
    if steady is None:
        steady = [n for n in x0 if n in system.velocity_names] if isinstance(x0, Mapping) else []
    moving = [find_unknown(system, n).index for n in steady] if kind == "dynamic" else []
    start, values = starting_point(system, x0, inputs, kind)
    return Problem(system, start, values, listed, swapped, further, named, kind == "dynamic", given, moving)


def starting_point(system: System, x0: Any, inputs: Mapping[str, float] | None, kind: str) -> tuple[State, np.ndarray]:
    """Closed state and inputs from which an equilibrium is sought."""
    own: dict[str, float] = {}
    if isinstance(x0, Equilibrium):
        own, x0 = x0.inputs, x0.state
    if kind == "static" and isinstance(x0, Mapping):
        moving = [n for n in x0 if n in system.velocity_names and number(x0[n], n) != 0.0]
        if moving:
            raise InputError(f"equilibrium: '{moving[0]}' is not zero; use kind='dynamic' for a steady motion")
    state = closed_state(system, x0, guess=True)
    return state, system.inputs_at(state, own | dict(inputs or {}))


def find_unknown(system: System, name: str) -> Unknown:
    """A coordinate, velocity, user state, input or parameter by name."""
    model = system.model
    if name in model.states:
        return Unknown(name, "z", list(model.states).index(name), model.states[name].unit)
    if name in model.inputs:
        system.check_inputs([name])
        return Unknown(name, "u", list(model.inputs).index(name), model.inputs[name].unit)
    if name in model.parameter_set:
        return Unknown(name, "p", model.parameter_set.names.index(name), model.parameter_set[name].unit)
    if name in system.velocity_names:
        j = system.velocity_names.index(name)
        return Unknown(name, "v", j, coordinate_unit(system, j) + "/s")
    from ..systems.constraints import velocity_column

    try:
        j = velocity_column(system, name)
    except InputError as error:
        raise InputError(f"{error} (nor is '{name}' a velocity, user state, input or parameter)") from None
    return Unknown(coordinate_label(system, j), "q", j, coordinate_unit(system, j))


# --- solving -----------------------------------------------------------------------------------------------------


def _solve(system: System, balance: Balance, continuation: Any, iterations: int) -> tuple[Outcome, str]:
    outcome = newton(balance, balance.place, iterations)
    rng = np.random.default_rng(2)
    for _ in range(3):
        if outcome.converged or not _stationary(balance, outcome):
            break
        try:
            shaken = balance.moved(outcome.place, rng.uniform(-0.2, 0.2, len(balance.unknowns)) * balance.scales(outcome.place))
            outcome = newton(balance, shaken, iterations)
        except SolverError:
            continue
    if outcome.converged or continuation is None:
        return outcome, "Newton"
    path = _path(system, continuation)
    if not path:
        return outcome, "Newton"
    brought = _along(system, balance, path, iterations)
    label = continuation if isinstance(continuation, str) else continuation[0]
    return (outcome, "Newton") if brought is None else (brought, f"continuation in {label}")


def _stationary(balance: Balance, outcome: Outcome) -> bool:
    """Whether no small step changes the remaining forces: Newton's method needs a push."""
    J = balance.jacobian(outcome.place) * balance.scales(outcome.place)
    if not J.size:
        return False
    weight = row_sizes(J)
    A, b = J / weight[:, None], outcome.residual / weight
    return bool(np.linalg.norm(A.T @ b) <= 1e-6 * np.linalg.norm(A) * np.linalg.norm(b)) or not np.abs(J).max() > 0


def _path(system: System, continuation: Any) -> dict[str, tuple[float, float]]:
    """Parameters to change from a first to their present value."""
    present = system.parameters
    if continuation == "gravity":
        return {n: (0.0, present[n]) for n in ("gravity_x", "gravity_y", "gravity_z") if present.get(n)}
    if isinstance(continuation, str):
        system.model.parameter_set[continuation]
        return {continuation: (0.0, present[continuation])}
    if not isinstance(continuation, (tuple, list)) or len(continuation) != 2 or not isinstance(continuation[0], str):
        raise InputError(
            f"equilibrium: continuation = {short(continuation)} must be a parameter, or a pair of one and its first value: ('k', 1e5)"
        )
    name, first = continuation
    system.model.parameter_set[name]
    return {name: (number(first, f"continuation in '{name}'"), present[name])}


def _along(system: System, balance: Balance, path: Mapping[str, tuple[float, float]], iterations: int) -> Outcome | None:
    """Solutions from the first to the present values, each the start of the next; None if the way is lost."""
    done, step = 0.0, 0.25
    place = balance.place
    fraction = 0.0
    while True:
        system.set_parameters(**{n: _between(a, b, fraction) for n, (a, b) in path.items()})
        try:
            outcome = newton(balance, place, iterations)
            good = outcome.converged
        except SolverError:
            good = False
        if good:
            place, done = outcome.place, fraction
            if done >= 1.0:
                return outcome
            step = min(0.25, 1.5 * step)
        else:
            step *= 0.4
            if step < 1e-3:
                system.set_parameters(**{n: b for n, (_, b) in path.items()})
                return None
        fraction = min(1.0, done + step)


def _between(a: float, b: float, fraction: float) -> float:
    """A value on the way: by equal factors where both ends have the same sign, else by equal steps."""
    return a * (b / a) ** fraction if a * b > 0 else a + fraction * (b - a)


def _failure(system: System, balance: Balance, outcome: Outcome) -> str:
    F = outcome.residual
    weight = row_sizes(balance.jacobian(outcome.place) * balance.scales(outcome.place))
    i = int(np.argmax(np.abs(F) / weight))
    text = f"equilibrium '{system.model.name}': no equilibrium was found; the {balance.names[i]} is still {F[i]:.4g}"
    J = balance.jacobian(outcome.place) * balance.scales(outcome.place)
    if np.linalg.norm(J[i]) <= 1e-9 * np.linalg.norm(J) or not J.size:
        return (
            text
            + f", and none of the unknowns ({', '.join(x.name for x in balance.unknowns) or 'none'}) acts on it; exchange a variable that does, or change the loads"
        )
    return text + "; start nearer to it, use continuation=(parameter, first value), or check that one exists"


def _result(system: System, balance: Balance, outcome: Outcome, kind: str, method: str) -> Equilibrium:
    place = outcome.place
    point = place.point
    J = balance.residual.jacobian(point)
    names = balance.residual.rows
    force = balance.residual.values(point.with_values(lam=np.zeros(len(names))))["r"]
    lam = least_multipliers(J, force)
    kept = {n: number for n, number in zip(balance.parameters, place.p.tolist(), strict=True)}
    inputs = outer(system, point.u)
    residuals = dict(zip(balance.names, outcome.residual.tolist(), strict=True))
    return Equilibrium(
        system,
        kind,
        point.state(system),
        inputs,
        kept,
        _entries(system, balance, place),
        residuals,
        dict(zip(names, lam.tolist(), strict=True)),
        balance.residual.drive_forces(point.with_values(lam=lam)),
        system.parameters | kept,
        outcome.iterations,
        method,
        _notes(balance, place),
    )


def _entries(system: System, balance: Balance, place: Place) -> list[Entry]:
    c, point = system.configuration, place.point
    found = {x.name for x in balance.unknowns}
    held = {x.name for x in balance.held}
    frozen = {coordinate_label(system, j) for j in balance.frozen}
    independent = {coordinate_label(system, j) for j in balance.parts.position.independent}

    def role(name: str) -> str:
        if name in found:
            return "found"
        return "held" if name in held else "kept" if name in frozen or name in independent or balance.given is not None else "dependent"

    entries = []
    for i, name in enumerate(c.position_names):
        whole = name.rsplit(".e", 1)[0]
        turning = any(x.startswith(whole + ".omega") for x in found)
        entries.append(Entry(name, float(point.q[i]), c.units[i], "found" if turning else role(name)))
    speeds = {x.name for x in balance.unknowns if x.kind == "v"}
    for j, name in enumerate(c.velocity_names):
        if point.v[j] or name in speeds:
            entries.append(Entry(name, float(point.v[j]), coordinate_unit(system, j) + "/s", "found" if name in speeds else "given"))
    entries += [Entry(n, float(point.z[i]), s.unit, role(n)) for i, (n, s) in enumerate(system.model.states.items())]
    entries += [Entry(x.name, balance.value(place, x), x.unit, "found") for x in balance.unknowns if x.kind in "up"]
    return entries


def _notes(balance: Balance, place: Place) -> list[str]:
    """Remarks: combinations of unknowns without influence, and motion in a coordinate that matters."""
    found = []
    J = balance.jacobian(place) * balance.scales(place)
    _, sizes, vt = np.linalg.svd(J / row_sizes(J)[:, None]) if J.size else (None, np.zeros(0), np.zeros((0, 0)))
    for direction in vt[int(np.sum(sizes > 1e-9)) :]:
        names = [x.name for x, d in zip(balance.unknowns, direction, strict=True) if abs(d) > 1e-6]
        found.append(f"neutral: the equations do not change along {', '.join(names)}" + (" together" if len(names) > 1 else ""))
    if not balance.dynamic:
        return found
    system = balance.system
    columns = [Unknown(coordinate_label(system, j), "q", j) for j in balance.parts.position.independent]
    J = balance.jacobian(place, columns)
    weight = row_sizes(J)
    for k, x in enumerate(columns):
        if abs(place.point.v[x.index]) > 1e-9 and np.abs(J[:, k] / weight).max(initial=0.0) > 1e-7:
            found.append(f"not steady: '{x.name}' moves and the equations depend on it")
    return found
