"""A descriptor made executable: what native loops and diagnostics ask of a system, in the descriptor's own coordinates x.

It follows the part of :class:`~jourdain.analysis.system.System` that :class:`~jourdain.analysis.native_system.NativeSystem` uses, with
q = x and v = ẋ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..formalisms.descriptor import BodyMotion, Descriptor
from ..model.joints import Coordinate
from ..native.function import Function, cached_code
from ..solvers.reductions import independent_rows
from ..symbolic.function import SymbolicFunction
from .configuration import Configuration
from .state import State

if TYPE_CHECKING:
    from .system import System


class DescriptorSystem:
    """Compiled functions of a descriptor; ``reference`` is the recursive system of the same model.

    ``stabilisation`` (α, β) adds Baumgarte's terms −2αḣ − β²h to the right-hand side of the constraints.
    """

    form = "straight"

    def __init__(self, reference: System, descriptor: Descriptor, key: str, stabilisation: tuple[float, float] | None = None) -> None:
        self.reference, self.descriptor = reference, descriptor
        self.model = reference.model
        self.equations_of_motion: Any = descriptor.equations
        self.nq = self.nv = len(descriptor.x)
        self.nz, self.nu = reference.nz, reference.nu
        self.stabilisation = stabilisation
        eq = descriptor.equations
        self.configuration = Configuration([
            Coordinate((label,), (f"{label}_rate",), "", (x,), (xd,), (xdd,))
            for label, x, xd, xdd in zip(descriptor.labels, eq.q, eq.v, eq.a, strict=True)
        ])  # fmt: skip
        self._key = key
        self._functions: dict[Any, Function] = {}
        self._idle: dict[Any, Any] = {}
        self._symbolic: dict[Any, SymbolicFunction] = {}

    @property
    def parameter_vector(self) -> np.ndarray:
        """Parameter values of the reference system."""
        return self.reference.parameter_vector

    def input_values(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Inputs in order."""
        return self.reference.input_values(values)

    @property
    def coordinate_names(self) -> list[str]:
        """Names of x."""
        return self.configuration.position_names

    @property
    def velocity_names(self) -> list[str]:
        """Names of ẋ."""
        return self.configuration.velocity_names

    # -- functions ------------------------------------------------------------------------------------------------

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function."""
        key = (name, *sorted(options.items()))
        if key not in self._symbolic:
            self._symbolic[key] = self.descriptor.symbolic(name, **options)
        return self._symbolic[key]

    def function(self, name: str, **options: Any) -> Function:
        """A compiled function by name, with the present parameter values."""
        if name == "descriptor" and self.stabilisation is not None and not options:
            alpha, beta = self.stabilisation
            options = {"alpha": alpha, "beta": beta}
        key = (name, *sorted(options.items()))
        found = self._functions.get(key)
        if found is None:
            derive: Callable[[], SymbolicFunction] = lambda: self.symbolic(name, **options)
            code = cached_code((self.reference.fingerprint, "formulation", self._key, *map(str, key)), derive)
            found = Function(code, self.parameter_vector if code.signature.parameters else (), derive)
            self._functions[key] = found
        return found

    def refresh(self) -> None:
        """Takes over the reference's parameter values."""
        for f in self._functions.values():
            if f.signature.parameters:
                f.set_parameters(self.parameter_vector)

    # -- states ---------------------------------------------------------------------------------------------------

    def state_of(self, state: State) -> State:
        """The state in x and ẋ of a state of the reference system."""
        x, xd = self.descriptor.coordinates_of(body_motion(self.reference, state))
        return State(self, x, xd, state.z, state.t)  # type: ignore[arg-type]

    def terms(self, own: State, u: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """M, J, f, g at a state of this system."""
        inputs = self.input_values() if u is None else u
        M, f, J, g, _ = self.function("descriptor")(np.array([own.t]), own.x, inputs)
        return M, J, f, g

    def residuals(self, own: State) -> tuple[np.ndarray, np.ndarray]:
        """h of the holonomic rows and the velocity residual of all rows."""
        clock = np.array([own.t])
        h = self.function("constraints")(clock, own.q)[0] if self.equations_of_motion.holonomic else np.zeros(0)
        f = self.function("constraint_velocities")
        extra = {"z": own.z, "u": self.input_values()}
        w = f(clock, own.q, own.v, *(extra[n] for n in list(f.inputs)[3:]))[0] if self.equations_of_motion.rows else np.zeros(0)
        return h, w

    def kept_rows(self, own: State) -> tuple[list[int], list[int]]:
        """Constraint rows to keep and those that follow from them at a state."""
        _, J, _, _ = self.terms(own)
        return independent_rows(J)


def body_motion(reference: System, state: State) -> BodyMotion:
    """Poses and twists of all bodies with the joint coordinates, from a state of the recursive system."""
    p, R, v, w, _, _ = reference.function("bodies_motion")(np.array([state.t]), state.q, state.v)
    eq, c = reference.equations_of_motion, reference.configuration
    coordinates = dict(zip(c.position_names, state.q.tolist(), strict=True))
    rates = dict(zip(c.velocity_names, state.v.tolist(), strict=True))
    values = dict(zip(eq.p, reference.parameter_vector.tolist(), strict=True))
    cut = [item for joint in eq.tree.cuts for item in joint.coordinates if item.motion is None and item.q[0] in eq.readings]
    if cut:
        from ..symbolic.graph import evaluate

        known = {**values, **dict(zip(eq.q, state.q, strict=True)), **dict(zip(eq.v, state.v, strict=True)), eq.t: state.t}
        known |= dict(zip(eq.z, state.z, strict=True)) | dict(zip(eq.u, reference.input_values(), strict=True))
        read = evaluate([eq.readings[s] for item in cut for s in (item.q[0], item.v[0])], known)
        for i, item in enumerate(cut):
            coordinates[item.names[0]], rates[item.velocity_names[0]] = float(read[2 * i]), float(read[2 * i + 1])
    return BodyMotion(p, R, v, w, coordinates, rates, state.t, values)


def tree_accelerations(reference: System, state: State, vd: np.ndarray, wd: np.ndarray) -> np.ndarray:
    """v̇ of the reference tree from the accelerations of all bodies (least squares; exact for consistent ones)."""
    *_, J, bias = reference.function("bodies_motion")(np.array([state.t]), state.q, state.v)
    return _least_squares(J, np.column_stack([vd, wd]).ravel() - bias)


def _least_squares(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """min |J v − right| with columns brought to length one, refined once."""
    if J.shape[1] == 0:
        return np.zeros(0)
    scale = 1.0 / np.maximum(np.linalg.norm(J, axis=0), 1e-300)
    Q, U = np.linalg.qr(J * scale)
    if np.abs(np.diag(U)).min(initial=1.0) < 1e-12:
        return scale * np.linalg.lstsq(J * scale, right, rcond=1e-12)[0]
    solution = np.linalg.solve(U, Q.T @ right)
    solution += np.linalg.solve(U, Q.T @ (right - (J * scale) @ solution))
    return np.asarray(scale * solution)


def tree_states(reference: System, start: State, t: np.ndarray, p: np.ndarray, R: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rows (q, v) of the reference tree that follow from body poses and twists at given times, by continuation from ``start``.

    Gauss–Newton on all poses from the extrapolated configuration before: angles count turns as long as no joint moves by half a turn
    against its extrapolation between two samples.
    """
    f, configuration = reference.function("bodies_motion"), reference.configuration
    q, rate, before = start.q.copy(), start.v.copy(), start.t
    rows = np.empty((len(t), reference.nq + reference.nv))
    still = np.zeros(reference.nv)
    for k, now in enumerate(t):
        clock = np.array([now])
        q = configuration.integrate(q, (now - before) * rate)
        for _ in range(25):
            pq, Rq, driven_v, driven_w, J, _ = f(clock, q, still)
            step = _least_squares(J, np.column_stack([p[k] - pq, _rotation_between(Rq, R[k])]).ravel())
            q = configuration.normalise(configuration.integrate(q, step))
            if np.abs(step).max(initial=0.0) < 1e-10:
                break
        else:
            raise InputError(
                f"'{reference.model.name}': no joint coordinates give the bodies' poses at t = {now:g} s; ask for more output times"
            )
        _, _, driven_v, driven_w, J, _ = f(clock, q, still)
        rate = _least_squares(J, np.column_stack([v[k] - driven_v, w[k] - driven_w]).ravel())
        rows[k, : reference.nq], rows[k, reference.nq :] = q, rate
        before = now
    return rows


def _rotation_between(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Rotation vectors (world axes) that turn the rotations A into B."""
    D = B @ np.swapaxes(A, 1, 2)
    sine = 0.5 * np.stack([D[:, 2, 1] - D[:, 1, 2], D[:, 0, 2] - D[:, 2, 0], D[:, 1, 0] - D[:, 0, 1]], axis=1)
    size = np.linalg.norm(sine, axis=1)
    angle = np.arctan2(size, 0.5 * (np.trace(D, axis1=1, axis2=2) - 1.0))
    return np.asarray(sine * np.where(size > 1e-12, angle / np.maximum(size, 1e-300), 1.0)[:, None])


__all__ = ["DescriptorSystem", "body_motion", "tree_accelerations", "tree_states"]
