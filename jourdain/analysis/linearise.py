"""Linear equations about a state, in independent coordinates: A, B, C, D and the matrices of the second order.

    M_r δq̈_u + G_r δq̇_u + K_r δq_u + L_r δz = B_r δu,   δż = …          (Robotran manual, eqs. 51–55 and 67–71)

The derivatives are exact.  At a steady motion K_r holds the centrifugal terms; with loops M_r, G_r and K_r are projected
by the coupling of dependent to independent coordinates, and K_r holds the turning of the reactions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..formalisms.functions.drive_forces import drive_force_names
from ..model.values import value
from ..reals import reals
from ..results.whole_file import make_whole
from ..shown import Shown
from ..symbolic.expr import Expr
from ..systems.constraints import velocity_column
from ..systems.outputs.reactions import multiplier_channel
from ..systems.state import State
from ..systems.tree.partition import null_space
from .eigen import spectrum
from .equations.residual import (
    Point,
    Residual,
    Split,
    closed_state,
    dependent_change,
    least_multipliers,
    spin_terms,
    split,
    temporary_parameters,
)
from .tables import File, eigenvalue_plot
from .touching.active_set import touched_residual

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..systems.system import System
    from .feedback import Regulator
    from .linear_inversion import LinearInverse
    from .modal import RootLocus

#: Order of independent positions, velocities, user states and inputs in the columns of a change.
ORDER = ("q", "v", "z", "u")


@dataclass(frozen=True)
class LinearSystem(Shown):
    """δẋ = A δx + B δu, δy = C δx + D δu with x = (q_u, v_u, z), about a state of a system."""

    system: System = field(repr=False)
    state: State
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    #: second-order matrices in the independent velocities
    M: np.ndarray
    G: np.ndarray
    K: np.ndarray
    L: np.ndarray
    Bf: np.ndarray
    #: full displacement (nv) for each independent position, and full velocity for each independent state
    Zq: np.ndarray = field(repr=False)
    #: value of the input δu = 0 stands for
    u: np.ndarray = field(repr=False)
    #: accelerations and multipliers of the state itself: zero accelerations at an equilibrium
    a: np.ndarray = field(repr=False)
    lam: np.ndarray = field(repr=False)
    #: forces of driven and locked joints there (N, N m)
    drive_forces: dict[str, float] = field(repr=False)

    @property
    def dof(self) -> int:
        """Number of independent positions."""
        return int(self.Zq.shape[1])

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, 1/s."""
        return spectrum(self.A, self.dof, len(self.M)).all_values

    def response(self, frequencies: Any) -> np.ndarray:
        """C (iω − A)⁻¹ B + D for frequencies in Hz: shape (frequencies, outputs, inputs)."""
        s = 2j * np.pi * np.atleast_1d(reals(frequencies, "response: frequencies"))
        if s.ndim != 1:
            raise InputError(f"response: frequencies of the shape {s.shape} are no list of frequencies in Hz")
        eye = np.eye(len(self.A))
        return np.array([self.C @ np.linalg.solve(k * eye - self.A, self.B) + self.D for k in s])

    def root_locus(self, input: str, output: str, gains: Any) -> RootLocus:
        """Eigenvalues over the gain k of the loop u = −k y; see :func:`jourdain.analysis.feedback.gain_locus`."""
        from .feedback import gain_locus

        return gain_locus(self, input, output, gains)

    def lqr(self, Q: Any, R: Any, period: float | None = None) -> Regulator:
        """The regulator of least quadratic cost; see :func:`jourdain.analysis.feedback.lqr`."""
        from .feedback import lqr

        return lqr(self, Q, R, period)

    def invert(
        self, courses: Mapping[str, Callable[[Any], Any]], t: float, before: float = 0.0, after: float = 0.0, step: float = 0.01
    ) -> LinearInverse:
        """Inputs and states with which outputs deviate by courses of time that rest outside (0, ``t``), bounded though the internal motion runs away; see
        :func:`jourdain.analysis.linear_inversion.invert`."""
        from .linear_inversion import invert

        return invert(self, courses, t, before, after, step)

    def to_control(self) -> Any:
        """The same as a StateSpace of the package python-control."""
        from importlib import import_module

        try:
            control = import_module("control")
        except ImportError:
            raise InputError("to_control() needs the package 'control': pip install control") from None
        return control.ss(
            self.A, self.B, self.C, self.D, states=_labels(self.states), inputs=_labels(self.inputs), outputs=_labels(self.outputs)
        )

    def plot(self, file: File | None = None, show: bool = False) -> Figure:
        """Eigenvalues of A in the complex plane."""
        return eigenvalue_plot(self.eigenvalues, f"eigenvalues of {self.system.model.name}", file, show)

    def save(self, path: File) -> None:
        """All matrices and names as a NumPy archive (.npz)."""
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        arrays: dict[str, Any] = {n: getattr(self, n) for n in ("A", "B", "C", "D", "M", "G", "K", "L", "Bf", "Zq", "u", "a", "lam")}
        arrays |= {n: np.array(x, dtype=str) for n, x in names.items()}
        named = os.fspath(path)
        named = named if named.endswith(".npz") else f"{named}.npz"
        make_whole(named, lambda file: np.savez(file, x=self.state.x, t=np.array(self.state.t), **arrays))

    def __str__(self) -> str:
        lines = [
            f"linear system of {self.system.model.name}: {len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        ]
        width = max((len(n) for n in self.states), default=1)
        with np.printoptions(precision=5, suppress=True, linewidth=160):
            for title, matrix, rows in (
                ("A", self.A, self.states),
                ("B", self.B, self.states),
                ("C", self.C, self.outputs),
                ("D", self.D, self.outputs),
            ):
                if matrix.size:
                    lines.append(f"{title} =")
                    lines += [f"  {n:<{width}} {row}" for n, row in zip(rows, matrix, strict=True)]
        return "\n".join(lines)


def _labels(names: Sequence[str]) -> list[str]:
    return [n.replace(".", "_") for n in names]


def reference(system: System, given: Any, u: Mapping[str, float] | None) -> tuple[State, np.ndarray]:
    """State and inputs of what the user linearises about (an equilibrium carries its own)."""
    inputs: dict[str, float] = {}
    if hasattr(given, "exchanged_parameters"):
        inputs, given = dict(given.inputs), given.state
    state = closed_state(system, given)
    return state, system.inputs_at(state, inputs | dict(u or {}))


def linearise(
    system: System,
    state: Any = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | Mapping[str, Expr] | None = None,
    u: Mapping[str, float] | None = None,
    preferred: Sequence[str] = (),
    contacts: Mapping[str, str] | None = None,
) -> LinearSystem:
    """The linear system about a state (an equilibrium, a steady motion, or any instant of a motion).

    Its states are changes of independent positions and velocities; a quaternion changes by small turns (rad) about the axes of its angular
    velocity, ``ball.orientation.turn_x`` beside ``ball.orientation.omega_x``.

    ``inputs`` and ``outputs`` name channels: inputs of the model; outputs of the model, coordinates, velocities, accelerations,
    user states, multipliers (``loop.1.multiplier``) and forces of drives (``joint.drive_force``), or expressions by name.  All
    inputs and, as outputs, the model's (or else all states) are taken by default.  ``u`` gives input values, ``preferred`` names
    coordinates that should be independent.  Rigid contacts that are closed in the state stick or slide as they do there;
    ``contacts={"floor": "sticking"}`` says otherwise ("sticking", "sliding", "open").
    """
    inputs = system.model.outer_inputs if inputs is None else list(inputs)
    system.check_inputs(inputs)
    named = named_outputs(system, outputs)
    with temporary_parameters(system, getattr(state, "exchanged_parameters", None)):
        start, values = reference(system, state, u)
        residual = touched_residual(system, start, contacts, {n: e for n, e in named.items() if isinstance(e, Expr)})
        point = residual.solve_motion(residual.point(start, values))
        J = residual.jacobian(point)
        parts = split(system, J, [velocity_column(system, n) for n in preferred], holonomic=residual.holonomic)
        return assembled(residual, point, J, parts, inputs, named)


def named_outputs(system: System, given: Sequence[str] | Mapping[str, Expr] | None) -> dict[str, Expr | None]:
    """Names with the expression, or None where the name is known to the system."""
    if given is None:
        given = list(system.model.outputs)
    if isinstance(given, Mapping):
        return {n: None if e is None else value(e, f"linearise: output {n!r}") for n, e in given.items()}
    known = {*system.model.outputs, *system.coordinate_names, *system.velocity_names, *system.model.states}
    known |= set(system.configuration.displacement_names)
    known |= {*_acceleration_names(system), *_multiplier_names(system), *_drive_names(system)}
    found: dict[str, Expr | None] = {}
    for name in given:
        if name not in known:
            name = system.coordinate_names[system.configuration.index(name)]
        found[name] = None
    return found


def assembled(
    residual: Residual, point: Point, J: np.ndarray, parts: Split, inputs: Sequence[str], outputs: Mapping[str, Expr | None],
    dynamics: Callable[[Basis], tuple[np.ndarray, dict[str, np.ndarray]]] | None = None,
) -> LinearSystem:  # fmt: skip
    """The linear system at a point; ``dynamics`` may give M_r and the changes of the projected forces from elsewhere."""
    system = residual.system
    d = residual.derivatives(point, "qvazul")
    basis, F = Basis(system, point, J, parts, d), residual.force_directions(point)
    Iv, Iq = parts.velocity.independent, parts.position.independent
    Zv = parts.Zv
    if dynamics is None:
        across = Zv if F is J or np.array_equal(F, J) else null_space(F)  # what forces of constraints do not act on
        force = {x: across.T @ basis.change(d, "r", x) for x in ORDER}
        M = across.T @ d["ra"] @ Zv
    else:
        M, force = dynamics(basis)
    rhs = -np.hstack([force["q"], force["v"], force["z"], force["u"]])
    acceleration = np.linalg.solve(M, rhs) if M.size else rhs
    nq, nv, nz = len(Iq), len(Iv), system.nz
    A = np.zeros((nq + nv + nz, nq + nv + nz + system.nu))
    A[:nq, :nq] = (basis.dv["q"] - spin_terms(system, point.v) @ basis.dq["q"])[Iq]
    A[:nq, nq : nq + nv] = basis.dv["v"][Iq]
    A[nq : nq + nv] = acceleration
    rates = np.hstack([basis.change(d, "f", x) for x in ORDER])
    A[nq + nv :] = rates + d["fa"] @ Zv @ acceleration
    n = nq + nv + nz
    chosen = [list(system.model.inputs).index(name) for name in inputs]
    C, D = _output_rows(residual, d, _Change(basis, d, F, Zv @ acceleration), outputs, n)
    names = system.configuration.displacement_names
    states = [names[j] for j in Iq] + [system.velocity_names[j] for j in Iv] + list(system.model.states)
    outputs = outputs or dict.fromkeys(states)
    return LinearSystem(
        residual.owner,
        point.state(residual.owner),
        A[:, :n],
        A[:, n:][:, chosen],
        C,
        D[:, chosen],
        states,
        list(inputs),
        list(outputs),
        M,
        force["v"],
        force["q"],
        force["z"],
        -force["u"][:, chosen],
        parts.Zq,
        point.u[: residual.owner.nu],
        point.a,
        point.lam,
        residual.drive_forces(point),
    )


class Basis:
    """Full changes (δq, δv, and δv̇ at constant independent accelerations) for a unit of each independent quantity."""

    def __init__(self, system: System, point: Point, J: np.ndarray, parts: Split, d: Mapping[str, np.ndarray]) -> None:
        n, nu, nz = system.nv, system.nu, system.nz
        nq, nv = parts.Zq.shape[1], parts.Zv.shape[1]
        V = parts.velocity
        self.dq = {"q": parts.Zq, "v": np.zeros((n, nv)), "z": np.zeros((n, nz)), "u": np.zeros((n, nu))}
        self.dv = {"q": np.zeros((n, nq)), "v": parts.Zv, "z": np.zeros((n, nz)), "u": np.zeros((n, nu))}
        self.dv["q"][V.dependent] = dependent_change(J, V, d["wq"] @ parts.Zq)
        self.da = {x: np.zeros((n, self.dq[x].shape[1])) for x in self.dq}
        for x in ("q", "v"):
            self.da[x][V.dependent] = dependent_change(J, V, d["gq"] @ self.dq[x] + d["gv"] @ self.dv[x])

    def change(self, d: Mapping[str, np.ndarray], term: str, x: str) -> np.ndarray:
        """Change of a term for a unit of each independent quantity of a kind."""
        total = d[term + "q"] @ self.dq[x] + d[term + "v"] @ self.dv[x] + d[term + "a"] @ self.da[x]
        return total + d[term + x] if x in "zu" else total


class _Change:
    """Change of every array (δq, δv, δv̇, δz, δu, δλ) along a solution, for a unit of each state and input."""

    def __init__(self, basis: Basis, d: Mapping[str, np.ndarray], J: np.ndarray, acceleration: np.ndarray) -> None:
        sizes = [basis.dq[x].shape[1] for x in ORDER]
        self.d = d
        self.parts = {
            "q": np.hstack([basis.dq[x] for x in ORDER]),
            "v": np.hstack([basis.dv[x] for x in ORDER]),
            "a": np.hstack([basis.da[x] for x in ORDER]) + acceleration,
            "z": np.eye(sizes[2], sum(sizes), sizes[0] + sizes[1]),
            "u": np.eye(sizes[3], sum(sizes), sizes[0] + sizes[1] + sizes[2]),
        }
        # δr = Jᵀδλ at constant λ on the left
        self.parts["l"] = least_multipliers(J, self.of("r")) if len(J) else np.zeros((0, sum(sizes)))

    def of(self, term: str) -> np.ndarray:
        """Total change of a term of the equations."""
        return np.asarray(sum(self.d[term + x] @ change for x, change in self.parts.items()))


def _output_rows(
    residual: Residual, d: Mapping[str, np.ndarray], change: _Change, outputs: Mapping[str, Expr | None], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of C and D for the outputs (all states when there are none)."""
    system = residual.system
    if not outputs:
        return np.eye(n), np.zeros((n, system.nu))
    parts = change.parts
    tables = [
        dict(zip(system.model.outputs, change.of("y"), strict=True)),
        dict(zip(system.velocity_names, parts["v"], strict=True)),
        dict(zip(system.model.states, parts["z"], strict=True)),
        dict(zip(system.configuration.displacement_names, parts["q"], strict=True)),
        _position_rows(system, parts["q"]),
        dict(zip(_acceleration_names(system), parts["a"], strict=True)),
        dict(zip([multiplier_channel(n) for n in residual.rows], parts["l"], strict=True)),
        dict(zip(_drive_names(system), change.of("c"), strict=True)),
    ]
    rows, expressions = [], iter(change.of("e"))
    for name, e in outputs.items():
        found = next(expressions) if e is not None else next((t[name] for t in tables if name in t), None)
        if found is None:
            raise InputError(
                f"linearise: '{name}' is a component of a quaternion; take the turns about its axes ('….turn_x'), or give an expression such as a sensor's rotation entry, as output"
            )
        rows.append(found)
    table = np.array(rows)
    return table[:, :n], table[:, n:]


def _acceleration_names(system: System) -> list[str]:
    return [s.name for c in system.configuration.coordinates for s in c.a]


def _multiplier_names(system: System) -> list[str]:
    return [multiplier_channel(row.name) for row in system.equations_of_motion.rows]


def _drive_names(system: System) -> list[str]:
    return [name for name, _ in drive_force_names(system.equations_of_motion)]


def _position_rows(system: System, dq: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of position outputs by name; quaternion components are left out (their change depends on the orientation)."""
    c = system.configuration
    return {c.position_names[i]: dq[j] for i, j in zip(c._scalar_q, c._scalar_v, strict=True)}
