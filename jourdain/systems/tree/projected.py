"""A system's right-hand side and projection as native functions with all memory they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import InputError
from ...formalisms.functions.registry import BY_TIME, assemble, vector_result
from ...model.contact.methods import touches
from ...model.elastic.bending import flexible_bodies
from ...native.function import Function, compile_function
from ...solvers.native_function import NativeFunction, address
from ...solvers.ode.events import Event, Switch
from ...symbolic.expr import KINDS, ZERO, Expr
from ...symbolic.function import SymbolicFunction
from ...symbolic.graph import free_symbols, substitute
from ..callbacks import Callbacks
from ..units import units_of
from .jumps import Jump
from .redundancy import redundant_rows
from .straight import General, straight_order, straight_projection, straight_rates

if TYPE_CHECKING:
    from ...formalisms.loops.elimination import Block
    from ...model.model import Model
    from ...native.kernel import Kernel
    from ...solvers.constraints.accelerations import Constrained
    from ...solvers.constraints.plan import Compiled, Plan
    from ...solvers.ode.drive import Drive
    from ...solvers.ode.inside import Guards
    from ...solvers.ode.trajectory import Segments
    from ...solvers.unknowns import Search
    from ..dynamics import Dynamics
    from ..state import State
    from ..touching import Touching

#: Plans of constrained systems by their equations and redundant rows.
_PLANS: WeakKeyDictionary[Any, dict[tuple[int, ...], Plan]] = WeakKeyDictionary()


#: Amplitudes of flexible bodies from which on derivatives are formed column by column from one in any direction, and accelerations from a mass matrix that
#: a kernel factors: written out, the first grow with the square of the amplitudes, the second with their cube, and the compiler's time with them.
#: The same of the bodies of a long chain where the formulation makes a mass matrix.
DIRECTIONS, FACTORS = 10, 36
#: Velocities of bodies that hang together from which on derivatives are formed column by column: written out, their operations grow with the square of that
#: number, 600 an entry in a spatial chain, and one in any direction with the number itself.
TOGETHER = 18


def _amplitudes(model: Model) -> int:
    """Modes of all flexible bodies; those of a beam of exact kinematics, which are in every term, count three times."""
    return sum(len(b.modes) * (1 if b.curved is None else 3) for b in flexible_bodies(model))


def _together(system: Dynamics) -> int:
    """Velocities of the largest part of the tree that hangs on the ground by one joint: all their accelerations depend on each other."""
    parts: list[int] = []
    sizes: dict[int, int] = {}
    for link in system.equations_of_motion.tree.links:
        root = parts[link.parent] if link.parent >= 0 else len(parts)
        parts.append(root)
        sizes[root] = sizes.get(root, 0) + len(link.freedoms)
    return max(sizes.values(), default=0)


def _filled(system: Dynamics) -> int:
    """The length of a chain whose factored mass matrix takes as many operations as this tree's; 0 where most entries are zero or there is none.

    An entry belongs to two joints on one path to the ground, and each joint's elimination takes the square of those before it.
    """
    n = system.nv
    if n < FACTORS or not system.factors_mass:
        return 0
    before: list[int] = []
    work = 0
    for link in system.equations_of_motion.tree.links:
        first = before[link.parent] if link.parent >= 0 else 0
        before.append(first + len(link.freedoms))
        work += sum((first + k) ** 2 for k in range(1, len(link.freedoms) + 1))
    return round(float(3 * work) ** (1 / 3)) if n**3 <= 12 * work else 0


class NativeSystem:
    """Native ẋ = f(t, x) of a system, with the projection onto its constraints; one object for one thread.

    ``u`` holds the inputs and may be changed between calls (by a sampled controller); ``signals`` are inputs given as
    expressions of time, which become part of the equations.  ``start`` is a closed state, at which redundant constraints are
    found and left out, or they are given by number.
    """

    #: A change of coordinates in flight, where there is one.
    switch: Switch | None = None
    #: How many entries of x are positions; None where x is (q, q̇), so that methods of second order need no evaluation for q̇.
    positions: int | None
    #: First position and first velocity of each quaternion, where q̇ differs from v by these alone.
    quaternions: np.ndarray | None = None
    #: The guards of the model's events as they are looked at when a run has ended, made with the first of them.
    _guards: Guards | None = None

    def __init__(
        self, system: Dynamics, u: np.ndarray | None = None, parameters: np.ndarray | None = None,
        signals: Mapping[Expr, Expr] | None = None, start: State | None = None, redundant: list[int] | None = None,
    ) -> None:  # fmt: skip
        self.system = system
        self.u = np.array(system.input_values() if u is None else u, dtype=float)
        if self.u.size == 0:
            self.u = np.zeros(1)
        self._parameters = parameters
        self._made_for: np.ndarray | None = system.parameter_vector
        self._signals = dict(signals or {})
        self.n = system.nq + system.nv + system.nz
        constrained = bool(system.equations_of_motion.rows)
        self.positions = None if not constrained and system.nz == 0 and system.configuration.rates_are_velocities else system.nq
        if not constrained:
            self.quaternions = np.array([i for pair in system.configuration.quaternions for i in pair], np.int64)
        self._redundant = redundant or (redundant_rows(system, start) if constrained and start is not None else [])
        amplitudes = _amplitudes(system.model)
        self._by_directions = amplitudes >= DIRECTIONS
        self._by_factors = not constrained and max(amplitudes, _filled(system)) >= FACTORS and system.form != "looped"
        if constrained or self._by_factors:
            self.rhs = self._constrained()
        elif system.form == "looped":
            self.rhs = self._looped()
        else:
            self.rhs = self.wrap(self._function("state_derivative"))
        #: ẋ with contact forces as they stand among the inputs.
        self.without_touch = self.sought(self.rhs)
        self.rhs = self.finding(self.rhs)
        self.callbacks = Callbacks(self, self.rhs) if system.model.callbacks else None
        if self.callbacks is not None:
            self.rhs = self.callbacks.rhs
        #: The equations as implicit schemes take them, made with the first of these.
        self.implicit: tuple[Any, NativeFunction, Any] | None = None
        #: Integrations that ended runs with constant inputs have made ready, by their settings.
        self.drives: dict[tuple[Any, ...], Drive] = {}
        #: What else they leave for others that are started in the same way (see :mod:`jourdain.analysis.runs.plain`).
        self.plain: dict[tuple[Any, ...], Any] = {}
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
            if native._redundant == redundant and native.renewed():
                if u.size:
                    native.u[: u.size] = u
                return native

    def renewed(self) -> bool:
        """Whether it is one for the present parameters; where only constants of functions depend on them, it takes these."""
        system = self.system
        if self._made_for is system.parameter_vector:
            return True
        if not self._plain:
            return False
        for f, constants in self._copies:
            constants[:] = f.constants
        self._made_for = system.parameter_vector
        return True

    @property
    def _plain(self) -> bool:
        """Whether parameters are nowhere but in constants of compiled functions, and no constraint makes the functions depend on the start."""
        return not self.system.equations_of_motion.rows and self.by_constants

    @property
    def by_constants(self) -> bool:
        """Whether parameters are nowhere but in constants of compiled functions."""
        s = self.system
        other = s.form == "looped" or self._by_directions or self._by_factors or self._parameters is not None
        m = s.model
        return not (other or m.callbacks or m.unknowns or m.contacts or self._signals or self.implicit is not None)

    @cached_property
    def _copies(self) -> list[tuple[Function, np.ndarray]]:
        """Constants of functions that it has copied."""
        return []

    @cached_property
    def _late(self) -> list[Kernel]:
        """Kernels that are compiled when they are first called."""
        return []

    @property
    def error(self) -> BaseException | None:
        """What a callback has raised, or why a kernel could not be compiled in the midst of a run."""
        if self.callbacks is not None and self.callbacks.error is not None:
            return self.callbacks.error
        for k in self._late:
            if k.error is not None:
                found, k.error = k.error, None
                return found
        return None

    def release(self) -> None:
        """Keeps the object for another run by :meth:`with_constant_inputs`; nothing may refer to it any more."""
        self.system._idle["native"].append(self)

    def _function(self, name: str, **options: Any) -> Function:
        """A compiled function of the system, with signals put in."""
        if not self._signals:
            return self.system.function(name, **options)
        key = (name, *sorted(options.items()), *self._signals.items())  # equal expressions are the same object
        if key not in self.system._functions:
            told = {"signals": tuple(self._signals.items())} if name in BY_TIME else {}
            symbolic = with_signals(self.system.symbolic(name, **options, **told), self._signals)
            self.system._functions[key] = compile_function(symbolic, self.system.parameter_vector if symbolic.has_parameters else ())
        return self.system._functions[key]

    def _constants(self, function: Function) -> np.ndarray:
        """Prepared constants of a function for this object's parameters."""
        if self._parameters is None or not function.signature.parameters:
            copied = function.constants.copy()
            self._copies.append((function, copied))
            return copied
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

        system: Any = self.system  # a tree: other coordinates have no loops over links
        tree = system.looped if self._parameters is None else LoopedTree(system.bare_tree, self._parameters)
        loaded = any(e is not ZERO for e in self.system.equations_of_motion.generalised_forces)
        return tree.native(forces=self.wrap(self._function("applied_forces")) if loaded else None)

    def wrap(self, f: Function, *more: np.ndarray) -> NativeFunction:
        """A function f(t, x) or f(t, x, u) as the solvers call it: t, x, result; further results go into arrays of their own."""
        rest = (*more, *self._memory(f))
        places = list(map(address, rest))
        if "u" not in f.inputs:
            return NativeFunction(f.address, np.array([0, 0, 0, *places], dtype=np.uintp), (rest, f))
        from ...solvers.adapter import with_inputs

        inner = np.array([0, 0, address(self.u), 0, *places], dtype=np.uintp)
        args = np.array([0, 0, 0, f.address, address(inner)], dtype=np.uintp)
        return NativeFunction(with_inputs.address, args, (rest, inner, self.u, f))

    def of_state(self, f: Function) -> NativeFunction:
        """A function of the full state f(t, x, u) or f(t, x, u, a) as one of the run's state, without unknowns."""
        return self._of_full_state(f)

    @cached_property
    def search(self) -> Search | None:
        """Newton's method for the model's algebraic unknowns, if it is needed."""
        model = self.system.model
        sought = self.system.equations_of_motion.sought if model.unknowns else ()
        if not sought:
            return None
        from ...solvers.unknowns import Search

        places = np.array([i for i, name in enumerate(model.inputs) if name in model.unknowns], dtype=np.int64)
        return Search(self.of_state(self._function("unknowns")), self.u, places, len(sought))

    def sought(self, f: NativeFunction) -> NativeFunction:
        """A function of the run's state that finds the unknowns first."""
        return f if self.search is None else self.search.before(f)

    def finding(self, f: NativeFunction) -> NativeFunction:
        """A function of the run's state that finds contact forces and unknowns first."""
        found = self.sought(f)
        return found if self.touching is None else self.touching.before(found)

    @cached_property
    def touching(self) -> Touching | None:
        """Contact forces by penalty at the run's state, if there are any."""
        return self._touching(self.of_state)

    @cached_property
    def touching_full(self) -> Touching | None:
        """The same at the full state."""
        return self._touching(self._of_full_state)

    def _touching(self, of: Callable[[Function], NativeFunction]) -> Touching | None:
        if not touches(self.system.model):
            return None
        from ..touching import Touching

        return Touching(self.system, of(self._function("touching_motion")), self.u, self.n, self._constants, self.parameters)

    def lost(self) -> str:
        """The unknown, or the contact force, that could not be found, in words."""
        made = (self.__dict__.get(name) for name in ("touching", "touching_full"))
        for told in (touching.lost() for touching in made if touching is not None):
            if told:
                return f"contact forces cannot be found: {told}"
        if self.search is None or self.search.record.bad < 0:
            return ""
        from ..unknowns import not_found

        found = self.search.record
        return not_found(self.system.equations_of_motion.sought[found.bad], found.t_bad, found.residual)

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays that, with the method's own memory, let a run go on as if it had never stopped."""
        return {"u": self.u}

    def derivatives(self) -> dict[str, NativeFunction]:
        """∂f/∂x and ∂f/∂t for implicit methods."""
        if self.system.equations_of_motion.rows or self._by_directions or _together(self.system) >= TOGETHER:
            from .alpha import constrained_derivatives

            return constrained_derivatives(self)
        found = {
            "jacobian": self.wrap(self._function("state_jacobian")),
            "time_derivative": self.wrap(self._function("state_time_derivative")),
        }
        if self.touching is None:
            return found
        return self.touching.derivatives({n: self.sought(f) for n, f in found.items()}, self.without_touch)

    def reading(self, channels: tuple[str, ...]) -> NativeFunction:
        """Channels that are functions of time, (full) state, inputs and accelerations."""
        f = self._function("readings", channels=channels)
        return self._with_accelerations(f) if "a" in f.inputs else self.finding(self.wrap(f))

    def _of_full_state(self, f: Function) -> NativeFunction:
        """A function of time, full state, inputs and perhaps accelerations as one of time and full state."""
        return self._with_accelerations(f) if "a" in f.inputs else self.wrap(f)

    def _accelerated(self) -> NativeFunction:
        """ẋ of the full state."""
        return self.rhs

    def _with_accelerations(self, f: Function) -> NativeFunction:
        """A function f(t, x, u, a) with one result, accelerations by the right-hand side."""
        from ...solvers.adapter import with_accelerations

        k, work = self._memory(f)
        rhs = self._accelerated()
        rates, outer = np.zeros(self.n), rhs.args.copy()
        inner = np.array([0, 0, address(self.u), 0, 0, address(k), address(work)], dtype=np.uintp)
        words = [0, 0, 0, rhs.address, address(outer), f.address, address(inner), address(rates), self.system.nq]
        return NativeFunction(with_accelerations.address, np.array(words, dtype=np.uintp), (k, work, rates, outer, inner, rhs, self.u, f))

    def renewal(self) -> NativeFunction:
        """The model's memories after a step that ended at (t, x)."""
        found = self.finding(self.of_state(self._function("renewal")))
        return found if self.touching is None else self.touching.renewal(found, len(self.system.model.memories))

    @cached_property
    def _events(self) -> dict[bool, list[Event]]:
        """The model's events, with jumps and without, once they are made."""
        return {}

    def events(self, jumps: bool = True) -> list[Event]:
        """The model's events as the solvers take them; without ``jumps`` the caller says what happens to the state."""
        known = self._events.get(jumps)
        if known is not None:
            return list(known)
        found = self._events[jumps] = []
        items = self.system.model.events
        for names in self._guarded_together():
            guard = self.finding(self.of_state(self._function("guards", events=names)))
            for place, item in enumerate(items[name] for name in names):
                action = self._jump(item.name) if item.jump and jumps else None
                # what only ends steps, where memories turn, may rest at zero, which rounding leaves to any side
                rests = bool(self.system.model.memories) and not (item.jump or item.terminal)
                found.append(Event(guard, item.direction, item.terminal, action, True, item.name, rests=rests, place=place))
        return list(found)

    def _guarded_together(self) -> list[tuple[str, ...]]:
        """The model's events in rows whose guards are one function: accelerations, contacts, a closed loop are found once for all of them."""
        items = self.system.model.events
        resolved = self.system.equations_of_motion.resolve([item.guard for item in items.values()])
        accelerated = [bool(e.deps & KINDS["acceleration"]) for e in resolved]
        rows = groupby(zip(items, accelerated, strict=True), key=lambda row: row[1])
        return [tuple(name for name, _ in row) for _, row in rows]

    def guards_cross_inside(self, segments: Segments, events: Callable[[], Sequence[Event]] | None = None) -> bool:
        """Whether a guard of events (the model's, or those of the run, which are asked for once) changes its sign there and back within a step."""
        if self._guards is None or self._guards.n != segments.n:
            from ...solvers.ode.inside import Guards

            self._guards = Guards((events or self.events)(), segments.n)
        return self._guards.cross_inside(segments)

    def watching(self, expressions: Sequence[Expr | tuple[Expr, int]]) -> list[Event]:
        """Events that only end steps, where expressions of the model, or gaps of pairs of shapes, are zero; with a direction only where they rise (1) or fall (−1)."""
        found = []
        for i, item in enumerate(expressions):
            e, direction = item if isinstance(item, tuple) else (item, 0)
            if not isinstance(e, Expr) and self.touching is not None:
                found.append(Event(self.touching.gap(e), direction, name=f"watch {i}"))
                continue
            timed = not e.deps & ~(KINDS["time"] | KINDS["parameter"])  # met to the last digit
            found.append(
                Event(self.finding(self.of_state(self._watch(e))), direction, name=f"watch {i}", rests=direction != 0, passes=timed)
            )
        return found

    def _watch(self, e: Expr) -> Function:
        """An expression of the model as a function of the state; it is compiled once for the system."""
        eq, key = self.system.equations_of_motion, ("watch", e, *self._signals.items())
        if key not in self.system._functions:
            known = {s.id for s in (eq.t, *eq.q, *eq.v, *eq.a, *eq.z, *eq.u, *eq.p)}
            resolved = eq.resolve([e])
            strange = [s.name for s in free_symbols(resolved) if s.id not in known]
            if strange:
                raise InputError(f"watch: '{strange[0]}' is nothing of the model '{self.system.model.name}'")
            symbolic = with_signals(assemble(eq, "watch", "t x u", [vector_result("g", resolved)], optional="a"), self._signals)
            self.system._functions[key] = compile_function(symbolic, self.system.parameter_vector if symbolic.has_parameters else ())
        return self.system._functions[key]

    def _jump(self, name: str) -> Callable[[float, np.ndarray], np.ndarray]:
        return Jump(self.wrap(self._function("jump", event=name)), self.project, self.n)

    def _plan(self, packed: bool = False) -> Plan:
        """The plan of the constraints, for matrices that hold their entries alone if ``packed``; it depends on the equations alone and is made
        once for them."""
        from ...solvers.constraints.plan import make_plan

        s, eq = self.system, self.system.equations_of_motion
        known = _PLANS.setdefault(eq, {})
        key = (int(packed), *self._redundant)
        if key not in known:
            pattern: list[list[int]] = [[] for _ in eq.rows]
            for i, j in eq.constraint_jacobian:
                pattern[i].append(j)
            mass = partial(self.system.places, "descriptor", "M", **{"packed": True} if packed else {})
            known[key] = make_plan(s.nq, s.nv, s.nz, eq.holonomic, pattern, self._redundant, mass, packed)
        return known[key]

    @cached_property
    def _constraints(self) -> tuple[Constrained, list[object]]:
        """The constrained system as kernels read it, and what it refers to: the right-hand side and the projection never run at once."""
        return self._constrained_system(self._packed)

    @property
    def _packed(self) -> bool:
        """Whether M and J hold their entries alone; rows that repeat others are worked upon in whole matrices."""
        return self.system.packed and not self._redundant

    def whole_matrices(self, own: bool = False) -> tuple[Constrained, list[object]]:
        """The constrained system, with its projection, for kernels that read M and J as whole matrices; without it in memory of its ``own``."""
        if own:
            return self._constrained_system(packed=False)
        found, keep = self._constrained_system(packed=False) if self._packed else self._constraints
        if self._packed:
            self._close(found, keep, packed=False)
        return found, keep

    def _constrained_system(self, packed: bool) -> tuple[Constrained, list[object]]:
        from ...solvers.constraints.accelerations import Constrained
        from ...solvers.constraints.elimination import elimination

        keep: list[object] = [self.u]
        turns = np.array([i for pair in self.system.configuration.quaternions for i in pair], dtype=np.int64)
        plan = self._plan(packed)
        solved = bool(plan.m) or self._by_factors
        function = self._function("descriptor", **{"packed": True} if packed else {}) if solved else None
        units = units_of(self.system, function) if plan.m else None
        found = Constrained(elimination=elimination(plan, by_fronts=True, turns_alone=not solved, units=units), quaternions=turns)
        if function is not None:
            found.descriptor = self.compiled(function, 2, keep, self._unchanged(plan))
        return found, keep

    def _close(self, found: Constrained, keep: list[object], packed: bool) -> None:
        """Gives a constrained system the functions of its projection."""
        s, options = self.system, {"packed": True} if packed else {}
        if found.elimination.plan.holonomic:
            found.position = self.compiled(s.function("constraints", **options), 2, keep, kept=True)
        if found.elimination.plan.m:
            found.velocity = self.compiled(s.function("constraint_velocities", **options), 3, keep, kept=True)

    @staticmethod
    def _unchanged(plan: Plan) -> bool:
        """Whether nothing writes to M and J but their functions: where rows are redundant they are worked upon."""
        return all(plan.blocks[k].rank == plan.blocks[k].rows for k in range(len(plan.blocks)))

    def _constrained(self) -> NativeFunction:
        from ...solvers.constraints.accelerations import Arguments, constrained_state_derivative

        system, keep = self._constraints
        general = General(constrained_state_derivative, Arguments(system=system), keep)
        self._late.append(general.kernel)
        return straight_rates(self, order, general) if (order := self._order) else general.function

    @cached_property
    def _order(self) -> tuple[Block, ...]:
        """The order of elimination in straight-line code; none where rows repeat others or there is no code for it."""
        return () if self._redundant or self._by_factors else straight_order(self.system)

    def _projection(self) -> NativeFunction:
        from ...solvers.constraints.accelerations import Arguments
        from ...solvers.constraints.projection import project

        system, keep = self._constraints
        self._close(system, keep, self._packed)
        general, eq = General(project, Arguments(system=system), keep), self.system.equations_of_motion
        self._late.append(general.kernel)
        straight = bool(self._order) and eq.holonomic == len(eq.rows)
        return straight_projection(self, self._order, general) if straight else general.function

    def compiled(self, f: Function, state_inputs: int, keep: list[object], kept: bool = False) -> Compiled:
        """A function whose first inputs kernels set, as they call it; user states and inputs are zero and u.

        ``kept`` where nothing else writes to its matrices: their zeros stay, and are not written at every call.
        """
        from ...solvers.constraints.plan import Compiled

        s = f.signature
        shapes = [(name, math.prod(shape)) for name, shape in s.outputs]
        extra = [np.zeros(max(1, size)) if name != "u" else self.u for name, size in s.inputs[state_inputs:]]
        k, memory, at = self._constants(f), np.zeros(sum(size for _, size in shapes) + max(1, s.workspace)), 0
        first, pointers = address(memory), [*[0] * state_inputs, *map(address, extra)]
        found = Compiled(function=f.kept_address if kept else f.address)
        for name, size in shapes:
            setattr(found, name, memory[at : at + size])
            pointers.append(first + 8 * at)
            at += size
        found.args = np.array([*pointers, address(k), first + 8 * at], dtype=np.int64)
        keep += [k, memory, extra, f]
        return found


def with_signals(f: SymbolicFunction, signals: Mapping[Expr, Expr]) -> SymbolicFunction:
    """The function with inputs replaced by expressions of time."""
    outputs = tuple(replace(r, expressions=tuple(substitute(r.expressions, signals))) for r in f.outputs)
    return replace(f, outputs=outputs)
