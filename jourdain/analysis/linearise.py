"""Linear equations about a state, in independent coordinates: A, B, C, D and the matrices of the second order.

    M_r δq̈_u + G_r δq̇_u + K_r δq_u + L_r δz = B_r δu,   δż = …          (Robotran manual, eqs. 51–55 and 67–71)

The derivatives are exact.  At a steady motion K_r holds the centrifugal terms; with loops M_r, G_r and K_r are projected
by the coupling of dependent to independent coordinates, and K_r holds the turning of the reactions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..symbolic.expr import Expr
from .eigen import spectrum
from .residual import Point, Residual, Split, closed_state, dependent_change, spin_terms, split, temporary_parameters
from .state import State
from .tables import File

if TYPE_CHECKING:
    from .system import System


@dataclass(frozen=True)
class LinearSystem:
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

    @property
    def dof(self) -> int:
        """Number of independent positions."""
        return int(self.Zq.shape[1])

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, 1/s."""
        return spectrum(self.A).all_values

    def response(self, frequencies: Any) -> np.ndarray:
        """C (iω − A)⁻¹ B + D for frequencies in Hz: shape (frequencies, outputs, inputs)."""
        s = 2j * np.pi * np.atleast_1d(np.asarray(frequencies, dtype=float))
        eye = np.eye(len(self.A))
        return np.array([self.C @ np.linalg.solve(k * eye - self.A, self.B) + self.D for k in s])

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

    def save(self, path: File) -> None:
        """All matrices and names as a NumPy archive (.npz)."""
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        arrays: dict[str, Any] = {n: getattr(self, n) for n in ("A", "B", "C", "D", "M", "G", "K", "L", "Bf", "Zq", "u", "a", "lam")}
        arrays |= {n: np.array(x, dtype=str) for n, x in names.items()}
        np.savez(os.fspath(path), x=self.state.x, t=np.array(self.state.t), **arrays)

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


def reference(system: System, given: Any, u: Mapping[str, float] | None) -> tuple[State, np.ndarray, dict[str, float]]:
    """State, inputs and parameter changes of what the user linearises about (an equilibrium carries its own)."""
    inputs: dict[str, float] = {}
    parameters: dict[str, float] = {}
    if hasattr(given, "exchanged_parameters"):
        inputs, parameters, given = dict(given.inputs), dict(given.exchanged_parameters), given.state
    return closed_state(system, given), system.input_values(inputs | dict(u or {})), parameters


def linearise(
    system: System,
    state: Any = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | Mapping[str, Expr] | None = None,
    u: Mapping[str, float] | None = None,
    preferred: Sequence[str] = (),
) -> LinearSystem:
    """The linear system about a state (an equilibrium, a steady motion, or any instant of a motion).

    ``inputs`` and ``outputs`` name channels: inputs of the model; outputs of the model, coordinates, velocities, user states,
    or expressions by name.  All inputs and, as outputs, the model's (or else all states) are taken by default.  ``u`` gives
    input values, ``preferred`` names coordinates that should be independent.
    """
    start, values, parameters = reference(system, state, u)
    inputs = list(system.model.inputs) if inputs is None else list(inputs)
    system.input_values(dict.fromkeys(inputs, 0.0))
    named = _outputs(system, outputs)
    with temporary_parameters(system, parameters):
        residual = Residual(system, extra={n: e for n, e in named.items() if isinstance(e, Expr)})
        point = residual.solve_motion(residual.point(start, values))
        J = residual.jacobian(point)
        parts = split(system, J, preferred=[_column(system, n) for n in preferred])
        return _assembled(residual, point, J, parts, inputs, named)


def _column(system: System, name: str) -> int:
    from .assemble import velocity_column

    return velocity_column(system, name)


def _outputs(system: System, given: Sequence[str] | Mapping[str, Expr] | None) -> dict[str, Expr | None]:
    """Names with the expression, or None where the name is known to the system."""
    if given is None:
        given = list(system.model.outputs)
    if isinstance(given, Mapping):
        return dict(given)
    known = {*system.model.outputs, *system.coordinate_names, *system.velocity_names, *system.model.states}
    found: dict[str, Expr | None] = {}
    for name in given:
        if name not in known:
            name = system.coordinate_names[system.configuration.index(name)]
        found[name] = None
    return found


def _assembled(
    residual: Residual, point: Point, J: np.ndarray, parts: Split, inputs: Sequence[str], outputs: Mapping[str, Expr | None]
) -> LinearSystem:
    system = residual.system
    d = residual.derivatives(point)
    basis = _Basis(system, point, J, parts, d)
    Iv, Iq = parts.velocity.independent, parts.position.independent
    Zv = parts.Zv
    force = {x: Zv.T @ basis.change(d, "r", x) for x in ("q", "v", "z", "u")}
    M = Zv.T @ d["ra"] @ Zv
    rhs = -np.hstack([force["q"], force["v"], force["z"], force["u"]])
    acceleration = np.linalg.solve(M, rhs) if M.size else rhs
    nq, nv, nz = len(Iq), len(Iv), system.nz
    A = np.zeros((nq + nv + nz, nq + nv + nz + system.nu))
    A[:nq, :nq] = (basis.dv["q"] - spin_terms(system, point.v) @ basis.dq["q"])[Iq]
    A[:nq, nq : nq + nv] = basis.dv["v"][Iq]
    A[nq : nq + nv] = acceleration
    rates = np.hstack([basis.change(d, "f", x) for x in ("q", "v", "z", "u")])
    A[nq + nv :] = rates + d["fa"] @ Zv @ acceleration
    n = nq + nv + nz
    chosen = [list(system.model.inputs).index(name) for name in inputs]
    C, D = _output_rows(system, d, basis, acceleration, Zv, outputs, n)
    names = [x.removesuffix("_rate") for x in system.velocity_names]
    states = [names[j] for j in Iq] + [system.velocity_names[j] for j in Iv] + list(system.model.states)
    outputs = outputs or dict.fromkeys(states)
    return LinearSystem(
        system,
        point.state(system),
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
        point.u,
        point.a,
        point.lam,
    )


class _Basis:
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


def _output_rows(
    system: System,
    d: Mapping[str, np.ndarray],
    basis: _Basis,
    acceleration: np.ndarray,
    Zv: np.ndarray,
    outputs: Mapping[str, Expr | None],
    n: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of C and D for the outputs (all states when there are none)."""
    if not outputs:
        return np.eye(n), np.zeros((n, system.nu))
    of = {t: np.hstack([basis.change(d, t, x) for x in ("q", "v", "z", "u")]) + d[t + "a"] @ Zv @ acceleration for t in ("y", "e")}
    positions = _position_rows(system, np.hstack([basis.dq[x] for x in ("q", "v", "z", "u")]))
    velocities = np.hstack([basis.dv[x] for x in ("q", "v", "z", "u")])
    z = np.zeros((system.nz, velocities.shape[1]))
    z[:, n - system.nz : n] = np.eye(system.nz)
    rows, expressions = [], iter(of["e"])
    for name, e in outputs.items():
        if e is not None:
            rows.append(next(expressions))
        elif name in system.model.outputs:
            rows.append(of["y"][list(system.model.outputs).index(name)])
        elif name in system.velocity_names:
            rows.append(velocities[system.velocity_names.index(name)])
        elif name in system.model.states:
            rows.append(z[list(system.model.states).index(name)])
        elif name in positions:
            rows.append(positions[name])
        else:
            raise InputError(
                f"linearise: '{name}' is a component of a quaternion; give an expression such as a sensor's rotation entry as output"
            )
    table = np.array(rows)
    return table[:, :n], table[:, n:]


def _position_rows(system: System, dq: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of position outputs by name; quaternion components are left out (their change depends on the orientation)."""
    c = system.configuration
    return {c.position_names[i]: dq[j] for i, j in zip(c._scalar_q, c._scalar_v, strict=True)}


def symbolic_linearisation(system: System, at: Mapping[str, Any] | None = None) -> dict[str, list[list[Expr]]]:
    """M, G, K, L, B (forces) and K_x, G_x, L_x, B_x (user states) as expressions, for systems without loops.

    ``at`` gives coordinates, velocities or inputs numbers or expressions; accelerations are zero there.
    """
    from ..formalisms.linearisation import symbolic_matrices
    from ..model.values import value
    from ..symbolic.graph import substitute

    eq = system.equations_of_motion
    symbols = {s.name: s for s in (*eq.q, *eq.v, *eq.z, *eq.u)}
    replaced = dict.fromkeys(eq.a, value(0.0, "acceleration"))
    for name, given in (at or {}).items():
        if name not in symbols:
            full = system.coordinate_names[system.configuration.index(name)]
            name = full
        replaced[symbols[name]] = value(given, f"'{name}'")
    return {k: [substitute(row, replaced) for row in rows] for k, rows in symbolic_matrices(eq).items()}
