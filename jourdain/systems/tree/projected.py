"""A system's right-hand side and projection as native functions with all memory they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...native.function import Function, compile_function
from ...solvers.native_function import NativeFunction, address
from ...solvers.ode.events import Event, Switch
from ...symbolic.expr import ZERO, Expr
from ...symbolic.function import SymbolicFunction
from ...symbolic.graph import substitute
from ..callbacks import Callbacks
from .redundancy import redundant_rows

if TYPE_CHECKING:
    from ...solvers.ode.drive import Drive
    from ..dynamics import Dynamics
    from ..state import State

#: Plans of constrained systems by their equations and redundant rows.
_PLANS: WeakKeyDictionary[Any, dict[tuple[int, ...], np.ndarray]] = WeakKeyDictionary()


class NativeSystem:
    """Native ẋ = f(t, x) of a system, with the projection onto its constraints; one object for one thread.

    ``u`` holds the inputs and may be changed between calls (by a sampled controller); ``signals`` are inputs given as
    expressions of time, which become part of the equations.  ``start`` is a closed state, at which redundant constraints are
    found and left out, or they are given by number.
    """

    #: A change of coordinates in flight, where there is one.
    switch: Switch | None = None
    #: How many entries of x are positions.
    positions: int

    def __init__(
        self, system: Dynamics, u: np.ndarray | None = None, parameters: np.ndarray | None = None,
        signals: Mapping[Expr, Expr] | None = None, start: State | None = None, redundant: list[int] | None = None,
    ) -> None:  # fmt: skip
        self.system = system
        self.u = np.array(system.input_values() if u is None else u, dtype=float)
        if self.u.size == 0:
            self.u = np.zeros(1)
        self._parameters = parameters
        self._made_for = system.parameter_vector
        self._signals = dict(signals or {})
        self.n = system.nq + system.nv + system.nz
        self.positions = system.nq
        constrained = bool(system.equations_of_motion.rows)
        self._redundant = redundant or (redundant_rows(system, start) if constrained and start is not None else [])
        if constrained:
            self.rhs = self._constrained()
        elif system.form == "looped":
            self.rhs = self._looped()
        else:
            self.rhs = self.wrap(self._function("state_derivative"))
        self.callbacks = Callbacks(self, self.rhs) if system.model.callbacks else None
        if self.callbacks is not None:
            self.rhs = self.callbacks.rhs
        #: The equations as implicit schemes take them, made with the first of these.
        self.implicit: tuple[Any, NativeFunction, Any] | None = None
        #: Integrations that ended runs with constant inputs have made ready, by their settings.
        self.drives: dict[tuple[Any, ...], Drive] = {}
        self.project = self._projection() if constrained or system.configuration.quaternions else None

    @staticmethod
    def with_constant_inputs(system: Dynamics, u: np.ndarray, start: State) -> NativeSystem:
        """An object for a run whose inputs stay as they are: that of an ended run where it fits, else a new one."""
        redundant = redundant_rows(system, start)
        idle: list[NativeSystem] = system._idle.setdefault("native", [])
        while True:
            try:  # another thread may have taken the last one
                native = idle.pop()
            except IndexError:
                return NativeSystem(system, u, redundant=redundant)
            if native._made_for is system.parameter_vector and native._redundant == redundant:
                if u.size:
                    native.u[: u.size] = u
                return native

    def release(self) -> None:
        """Keeps the object for another run by :meth:`with_constant_inputs`; nothing may refer to it any more."""
        self.system._idle["native"].append(self)

    def _function(self, name: str, **options: Any) -> Function:
        """A compiled function of the system, with signals put in."""
        if not self._signals:
            return self.system.function(name, **options)
        key = (name, *sorted(options.items()), *self._signals.items())  # equal expressions are the same object
        if key not in self.system._functions:
            symbolic = with_signals(self.system.symbolic(name, **options), self._signals)
            self.system._functions[key] = compile_function(symbolic, self.system.parameter_vector if symbolic.has_parameters else ())
        return self.system._functions[key]

    def _constants(self, function: Function) -> np.ndarray:
        """Prepared constants of a function for this object's parameters."""
        if self._parameters is None or not function.signature.parameters:
            return function.constants.copy()
        constants = np.empty_like(function.constants)
        function.prepare_into(self._parameters, constants, np.empty(max(1, function.signature.workspace)))
        return constants

    @property
    def parameters(self) -> np.ndarray:
        """Parameter values of this object."""
        return self.system.parameter_vector if self._parameters is None else self._parameters

    def _memory(self, function: Function) -> tuple[np.ndarray, np.ndarray]:
        return self._constants(function), np.zeros(max(1, function.signature.workspace))

    def _looped(self) -> NativeFunction:
        """ẋ of a large tree by loops over its links; loads are a function of their own."""
        from .looped import LoopedTree

        parameters = self.system.parameter_vector if self._parameters is None else self._parameters
        tree = LoopedTree(self.system.model, parameters)
        loaded = any(e is not ZERO for e in self.system.equations_of_motion.generalised_forces)
        return tree.native(forces=self.wrap(self._function("applied_forces")) if loaded else None)

    def wrap(self, f: Function) -> NativeFunction:
        """A function f(t, x) or f(t, x, u) with one result as the solvers call it: t, x, result."""
        k, work = self._memory(f)
        if "u" not in f.inputs:
            return NativeFunction(f.address, np.array([0, 0, 0, address(k), address(work)], dtype=np.uintp), (k, work, f))
        from ...solvers.adapter import with_inputs

        inner = np.array([0, 0, self.u.ctypes.data, 0, k.ctypes.data, work.ctypes.data], dtype=np.uintp)
        args = np.array([0, 0, 0, f.address, inner.ctypes.data], dtype=np.uintp)
        return NativeFunction(with_inputs.address, args, (k, work, inner, self.u, f))

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays that, with the method's own memory, let a run go on as if it had never stopped."""
        return {"u": self.u}

    def derivatives(self) -> dict[str, NativeFunction]:
        """∂f/∂x and ∂f/∂t for implicit methods."""
        if self.system.equations_of_motion.rows:
            from .alpha import constrained_derivatives

            return constrained_derivatives(self)
        return {
            "jacobian": self.wrap(self._function("state_jacobian")),
            "time_derivative": self.wrap(self._function("state_time_derivative")),
        }

    def reading(self, channels: tuple[str, ...]) -> NativeFunction:
        """Channels that are functions of time, (full) state, inputs and accelerations."""
        f = self._function("readings", channels=channels)
        return self._with_accelerations(f) if "a" in f.inputs else self.wrap(f)

    def _with_accelerations(self, f: Function) -> NativeFunction:
        """A function f(t, x, u, a) with one result, accelerations by the right-hand side."""
        from ...solvers.adapter import with_accelerations

        k, work = self._memory(f)
        rates, outer = np.zeros(self.n), self.rhs.args.copy()
        inner = np.array([0, 0, address(self.u), 0, 0, address(k), address(work)], dtype=np.uintp)
        words = [0, 0, 0, self.rhs.address, address(outer), f.address, address(inner), address(rates), self.system.nq]
        return NativeFunction(
            with_accelerations.address, np.array(words, dtype=np.uintp), (k, work, rates, outer, inner, self.rhs, self.u, f)
        )

    def events(self) -> list[Event]:
        """The model's events as the solvers take them."""
        found = []
        for item in self.system.model.events.values():
            guard = self.wrap(self._function("guard", event=item.name))
            action = self._jump(item.name) if item.jump else None
            found.append(Event(guard, item.direction, item.terminal, action, True, item.name))
        return found

    def _jump(self, name: str) -> Callable[[float, np.ndarray], np.ndarray]:
        f = self.wrap(self._function("jump", event=name))

        def action(t: float, x: np.ndarray) -> np.ndarray:
            new = np.zeros(self.n)
            f(t, x, new)
            if self.project is not None:
                self.project(t, new, new)
            return new

        return action

    def _plan(self) -> np.ndarray:
        """The plan of the constraints; it depends on the equations alone and is made once for them."""
        from ...solvers.constraints.elimination import make_plan

        s, eq = self.system, self.system.equations_of_motion
        known = _PLANS.setdefault(eq, {})
        key = tuple(self._redundant)
        if key not in known:
            pattern = np.zeros((len(eq.rows), s.nv), dtype=bool)
            for i, j in eq.constraint_jacobian:
                pattern[i, j] = True
            known[key] = make_plan(s.nq, s.nv, s.nz, eq.holonomic, len(s.configuration.quaternions), pattern, self._redundant)
        return known[key].copy()

    @cached_property
    def _shared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[object]]:
        """Plan, pointers of the descriptor function, scratch and integers: the right-hand side and the projection never run at once."""
        from ...solvers.constraints import elimination as c

        plan = self._plan()
        keep: list[object] = []
        descriptor = np.zeros(1, dtype=np.uintp)
        if plan[c.M]:
            f = self._function("descriptor")
            plan[c.ADDRESS_DESCRIPTOR] = f.address
            descriptor = self._pointers(f, 2, keep)
        scratch = np.zeros(plan[c.SCRATCH] + plan[c.M] * (self.system.nv + 1))
        return plan, descriptor, scratch, np.zeros(plan[c.INTEGERS], dtype=np.int64), [keep, self.u]

    def _constrained(self) -> NativeFunction:
        from ...solvers.constraints import elimination as c

        plan, descriptor, scratch, integers, _ = self._shared
        args = np.array([0, 0, 0, *map(address, (plan, scratch, integers, descriptor))], dtype=np.uintp)
        return NativeFunction(c.constrained_state_derivative.address, args, self._shared)

    def _projection(self) -> NativeFunction:
        from ...solvers.constraints import elimination as c

        s = self.system
        plan, descriptor, scratch, integers, _ = self._shared
        keep: list[object] = [self._shared]
        position = velocity = np.zeros(1, dtype=np.uintp)
        if plan[c.HOLONOMIC]:
            f = s.function("constraints")
            plan[c.ADDRESS_POSITION] = f.address
            position = self._pointers(f, 2, keep)
        if plan[c.M]:
            f = s.function("constraint_velocities")
            plan[c.ADDRESS_VELOCITY] = f.address
            velocity = self._pointers(f, 3, keep)
        quaternions = np.array([i for pair in s.configuration.quaternions for i in pair] + [0], dtype=np.int64)
        parts = (plan, scratch, quaternions, position, velocity, descriptor, integers)
        args = np.array([0, 0, 0, *map(address, parts)], dtype=np.uintp)
        return NativeFunction(c.project.address, args, (*keep, quaternions, position, velocity))

    def _pointers(self, f: Function, state_inputs: int, keep: list[object]) -> np.ndarray:
        """Pointer array of a function whose first inputs the kernel sets; user states and inputs are zero and u."""
        s = f.signature
        sizes = [max(1, math.prod(shape)) for _, shape in s.outputs] + [max(1, s.workspace)]
        extra = [np.zeros(max(1, size)) if name != "u" else self.u for name, size in s.inputs[state_inputs:]]
        k, memory = self._constants(f), np.zeros(sum(sizes))
        *outputs, work, _ = accumulate(sizes, lambda at, size: at + 8 * size, initial=address(memory))
        pointers = [*[0] * state_inputs, *map(address, extra), *outputs, address(k), work]
        keep += [k, memory, extra, f]
        return np.array(pointers, dtype=np.uintp)


def with_signals(f: SymbolicFunction, signals: Mapping[Expr, Expr]) -> SymbolicFunction:
    """The function with inputs replaced by expressions of time."""
    outputs = tuple(replace(r, expressions=tuple(substitute(r.expressions, signals))) for r in f.outputs)
    return replace(f, outputs=outputs)
