"""The compiled system: one object with the dynamics as functions and every analysis as a verb."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import InputError
from ..formalisms.equations import Equations
from ..formalisms.functions import derive
from ..model.model import Model
from ..native.function import Function, compile_function
from ..symbolic.function import SymbolicFunction
from .configuration import Configuration


@contextmanager
def _no_collection() -> Iterator[None]:
    """Derivation makes many small objects that all stay: the cyclic collector would only walk over them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class System:
    """A model made executable.

    Functions are derived and compiled when first used.  Arrays: ``q`` positions (nq), ``v`` velocities (nv), ``a``
    accelerations; the state is x = (q, v, z) with the user's states z.

    >>> import jourdain as jd
    >>> m = jd.Model("pendulum")
    >>> bob = m.body("bob", mass=2.0, com=(0, 0, -0.5))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> s = m.compile()
    >>> s.mass_matrix([0.3])
    array([[0.5]])
    """

    def __init__(self, model: Model) -> None:
        model._locked = True
        self.model = model
        with _no_collection():
            self.equations_of_motion = Equations(model)
        tree = self.equations_of_motion.tree
        self.configuration = Configuration(tree.coordinates)
        self.nq, self.nv, self.nz = len(tree.q), tree.nv, len(model.states)
        self.nu = len(model.inputs)
        self._parameters = model.parameter_set.values()
        self._functions: dict[Any, Function] = {}
        self._symbolic: dict[Any, SymbolicFunction] = {}

    # -- functions ------------------------------------------------------------------------------------------------

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function."""
        key = (name, *sorted(options.items()))
        if key not in self._symbolic:
            with _no_collection():
                self._symbolic[key] = derive(self.equations_of_motion, name, **options)
        return self._symbolic[key]

    def function(self, name: str, **options: Any) -> Function:
        """A compiled function by name: "inverse_dynamics", "mass_matrix", "frame" …"""
        key = (name, *sorted(options.items()))
        found = self._functions.get(key)
        if found is None:
            symbolic = self.symbolic(name, **options)
            used = self._parameters if _has_parameters(symbolic) else ()
            found = compile_function(symbolic, used)
            self._functions[key] = found
        return found

    def _timed(self, f: Function, arrays: tuple[Any, ...], t: float, out: Any) -> Any:
        """Adds the time (and zero user states and present inputs) where the function asks for them."""
        missing = list(f.signature.inputs)[len(arrays) :]
        extra = []
        for name, size in missing:
            if name == "t":
                extra.append(np.array([t]))
            elif name == "u":
                extra.append(self.input_values())
            else:
                extra.append(np.zeros(size))
        return f(*arrays, *extra, out=out)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """φ = M a + c: generalised forces that give the accelerations (loads not included)."""
        return self._timed(self.function("inverse_dynamics"), (q, v, a), t, out)  # type: ignore[no-any-return]

    def mass_matrix(self, q: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """M(q)."""
        return self._timed(self.function("mass_matrix"), (q,), t, out)  # type: ignore[no-any-return]

    def bias(self, q: Any, v: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """c(q, v): Coriolis, centrifugal and gravity forces."""
        return self._timed(self.function("bias"), (q, v), t, out)  # type: ignore[no-any-return]

    def forward_dynamics(self, q: Any, v: Any, tau: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """v̇ = M⁻¹(τ − c) of the tree (loads and loops not included)."""
        return self._timed(self.function("forward_dynamics"), (q, v, tau), t, out)  # type: ignore[no-any-return]

    def energy(self, q: Any, v: Any, t: float = 0.0) -> np.ndarray:
        """Kinetic and potential energy (gravity and springs), J."""
        f = self.function("energy")
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        return f(np.array([t]), q, v, *(np.zeros(n) for _, n in list(f.signature.inputs)[3:]))  # type: ignore[no-any-return]

    # -- parameters and inputs ------------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, float]:
        """Present parameter values by name."""
        return dict(zip(self.model.parameter_set.names, self._parameters.tolist(), strict=True))

    def set_parameters(self, **changes: Any) -> None:
        """Changes parameter values; nothing is compiled again."""
        names = self.model.parameter_set.names
        merged = dict(zip(names, self._parameters, strict=True)) | changes
        self._parameters = self.model.parameter_set.values(merged)
        for f in self._functions.values():
            if f.signature.parameters:
                f.set_parameters(self._parameters)

    def input_values(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Inputs in order, with some replaced."""
        known = {n: i.value for n, i in self.model.inputs.items()}
        for name, value in (values or {}).items():
            if name not in known:
                raise InputError(f"there is no input '{name}'; the model has {', '.join(known) or 'none'}")
            known[name] = float(value)
        return np.array(list(known.values()), dtype=float)

    # -- information ----------------------------------------------------------------------------------------------

    @property
    def coordinate_names(self) -> list[str]:
        """Names of the positions q in order."""
        return self.configuration.position_names

    @property
    def velocity_names(self) -> list[str]:
        """Names of the velocities v in order."""
        return self.configuration.velocity_names

    def equations(self, form: str = "text") -> str:
        """The equations of motion in closed form, as "text" or "latex" (small systems)."""
        from ..formalisms.explicit import explicit_equations

        result = explicit_equations(self.model)
        return result.latex() if form == "latex" else result.text()

    def __repr__(self) -> str:
        loops = f", {len(self.equations_of_motion.rows)} constraints" if self.equations_of_motion.rows else ""
        return f"<System {self.model.name}: {self.nv} velocities{loops}, {len(self._parameters)} parameters>"


def _has_parameters(f: SymbolicFunction) -> bool:
    return any(a.name == "p" for a in f.inputs)
