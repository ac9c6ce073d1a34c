"""A descriptor made executable: the dynamics that native loops and diagnostics ask for, in the descriptor's own coordinates, q = x and v = ẋ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...formalisms.coordinates.descriptor import Descriptor
from ...model.joints import Coordinate
from ...native.code import cached_array, cached_code
from ...native.function import Function
from ...results.channel import Channel
from ...solvers.constraints.reductions import independent_rows
from ...symbolic.function import SymbolicFunction
from ..configuration import Configuration
from ..state import State
from .poses import body_motion, tree_states

if TYPE_CHECKING:
    from ...symbolic.expr import Expr
    from ..tree.reduced_by import ReducedBy
    from ..tree.system import TreeSystem


class DescriptorDynamics:
    """Compiled functions of a descriptor; ``reference`` is the recursive system of the same model.

    ``stabilisation`` (α, β) adds Baumgarte's terms −2αḣ − β²h to the right-hand side of the constraints; ``reduction`` names the way to
    accelerations in runs.
    """

    form = "straight"
    packed = False
    factors_mass = False

    def __init__(
        self, reference: TreeSystem, descriptor: Descriptor, key: str, stabilisation: tuple[float, float] | None = None,
        reduction: str = "partition",
    ) -> None:  # fmt: skip
        self.reference, self.descriptor = reference, descriptor
        self.model = reference.model
        self.equations_of_motion: Any = descriptor.equations
        self.nq = self.nv = len(descriptor.x)
        self.nz, self.nu = reference.nz, reference.nu
        self.stabilisation, self.reduction = stabilisation, reduction
        eq = descriptor.equations
        self.configuration = Configuration([
            Coordinate((label,), (f"{label}_rate",), "", (x,), (xd,), (xdd,))
            for label, x, xd, xdd in zip(descriptor.labels, eq.q, eq.v, eq.a, strict=True)
        ])  # fmt: skip
        self._key = key
        self._made_for = reference.parameter_vector
        self._functions: dict[Any, Function] = {}
        self._patterns: dict[str, np.ndarray] = {}
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

    def stabilised(self, alpha: float, beta: float) -> DescriptorDynamics:
        """The same with Baumgarte's terms."""
        return DescriptorDynamics(self.reference, self.descriptor, self._key, (alpha, beta), self.reduction)

    @property
    def massless(self) -> np.ndarray:
        """Which coordinates have no row in the mass matrix: joint coordinates kept among x, vectors of bodies without extent."""
        return np.asarray(~self.descriptor.mass_pattern.any(axis=1))

    def native(
        self, start: State, u: np.ndarray | None = None, signals: Mapping[Expr, Expr] | None = None, reduction: str | None = None
    ) -> ReducedBy:
        """The native right-hand side, projection and derivatives for a run from one of its states."""
        from ..tree.reduced_by import ReducedBy

        return ReducedBy(reduction or self.reduction, self, u, signals=signals, start=start)

    # -- functions ------------------------------------------------------------------------------------------------

    def _options(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        """Options of a function, with α and β where it holds the accelerations of the constraints."""
        if name in ("descriptor", "acceleration_tangent") and self.stabilisation is not None and "alpha" not in options:
            return dict(zip(("alpha", "beta"), self.stabilisation, strict=True)) | options
        return options

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function."""
        options = self._options(name, options)
        key = (name, *sorted(options.items()))
        if key not in self._symbolic:
            self._symbolic[key] = self.descriptor.symbolic(name, **options)
        return self._symbolic[key]

    def function(self, name: str, **options: Any) -> Function:
        """A compiled function by name, with the present parameter values."""
        if self._made_for is not self.parameter_vector:
            self._refresh()
        options = self._options(name, options)
        key = (name, *sorted(options.items()))
        found = self._functions.get(key)
        if found is None:
            derive: Callable[[], SymbolicFunction] = lambda: self.symbolic(name, **options)
            code = cached_code((self.reference.fingerprint, "formulation", self._key, *map(str, key)), derive)
            found = Function(code, self.parameter_vector if code.signature.parameters else (), derive)
            self._functions[key] = found
        return found

    def _refresh(self) -> None:
        """Takes over the reference's parameter values."""
        self._made_for = self.parameter_vector
        for f in self._functions.values():
            if f.signature.parameters:
                f.set_parameters(self.parameter_vector)

    # -- states ---------------------------------------------------------------------------------------------------

    def state_of(self, state: State) -> State:
        """The state in x and ẋ of a state of the reference system."""
        x, xd = self.descriptor.coordinates_of(body_motion(self.reference, state))
        return State(self, x, xd, state.z, state.t)

    def terms(self, own: State, u: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """M, J, f, g at a state of this system."""
        entries = self.function("sparse_terms")(np.array([own.t]), own.x, self.input_values() if u is None else u)
        values = dict(zip(self.function("sparse_terms").outputs, entries, strict=True))
        M, J = np.zeros((self.nv, self.nv)), np.zeros((len(self.equations_of_motion.rows), self.nv))
        for name, matrix in (("M", M), ("J", J)):
            matrix.reshape(-1)[self.places("descriptor", name)] = values[name]
        return M, J, values["f"], values["g"]

    def places(self, name: str, result: str, **options: Any) -> np.ndarray:
        """Where M or J of the function "descriptor", or a result of another, may be other than zero, counted row by row."""
        if name != "descriptor":

            def derived() -> np.ndarray:
                (found,) = (r for r in self.symbolic(name, **options).outputs if r.name == result)
                return np.array([k for k, e in enumerate(found.expressions) if not e.is_zero], dtype=np.int64)

            told = (name, result, *map(str, sorted(options.items())))
            return cached_array((self.reference.fingerprint, "formulation", self._key, "places", *told), derived)
        if result not in self._patterns:
            key = (self.reference.fingerprint, "formulation", self._key, "places", result)
            self._patterns[result] = cached_array(key, lambda: self.descriptor.places(result))
        return self._patterns[result]

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

    def joint_rows(self, start: State, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Rows (q, v, z) of the model from rows (x, ẋ, z), by continuation from a state of the model."""
        n = self.nq
        p, R, v, w, _, _ = self.function("bodies")(t[:, None], rows[:, :n], rows[:, n : 2 * n], np.zeros(n))
        states = tree_states(self.reference, start, t, p, R, v, w, drifting=True)
        return np.column_stack([states, rows[:, 2 * n : 2 * n + self.nz]])

    def drift(self, t: np.ndarray, rows: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        """Largest |h| and largest velocity residual of the constraints in rows (x, ẋ)."""
        n, clock = self.nq, t[:, None]
        h = self.function("constraints")(clock, rows[:, :n])[0] if self.equations_of_motion.holonomic else np.zeros((1, 0))
        f = self.function("constraint_velocities")
        extra = {"z": z, "u": self.input_values()}
        w = f(clock, rows[:, :n], rows[:, n : 2 * n], *(extra[name] for name in list(f.inputs)[3:]))[0]
        return float(np.abs(h).max(initial=0.0)), float(np.abs(w).max(initial=0.0))

    def channels(self, rows: np.ndarray) -> dict[str, Channel]:
        """The unknowns of rows (x, ẋ, …) as channels "x.label" and "x.label_rate"."""
        names = [*self.coordinate_names, *self.velocity_names]
        return {f"x.{name}": Channel(rows[:, i], "", "unknown of the formulation") for i, name in enumerate(names)}


__all__ = ["DescriptorDynamics"]
