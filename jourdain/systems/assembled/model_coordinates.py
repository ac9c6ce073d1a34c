"""Coordinates of any model in the assembled engine: bodies, joints that are measured, inputs that are held, states; and where they start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...elements import of_model
from ...elements.element import Element
from ...errors import InputError
from ...formalisms.coordinates.directors import DirectorEquations
from ...formalisms.equations import quaternion_rates
from ...model.joints import Coordinate, Joint
from ...symbolic.expr import ZERO, Expr, as_expr, symbol
from ...symbolic.graph import evaluate, free_symbols, substitute, topological
from ...symbolic.vectors import Vector
from ..descriptor.dynamics import DescriptorDynamics
from ..inputs import Inputs
from ..state import State
from .program import Handle
from .system import AssembledSystem

#: An element with its constants, or several, by the name of a joint.
JointElements = Mapping[str, tuple[Element, Mapping[str, Any]] | Sequence[tuple[Element, Mapping[str, Any]]]]


class ModelCoordinates:
    """Coordinates of the assembled system of a model at a state, and what symbols stand for; the arguments are those of
    :class:`.DirectorAssembly`."""

    def __init__(
        self, own: DescriptorDynamics, state: State, inputs: Mapping[str, Any] | None = None, held: Sequence[str] = (), frozen: bool = False,
        outputs: Mapping[str, Expr] | None = None, elements: JointElements | None = None,
    ) -> None:  # fmt: skip
        self.own = own
        if elements is not None and not isinstance(elements, Mapping):
            raise InputError(f"elements = {elements!r} must be elements by the names of joints")
        self._elements = dict(elements or {})
        self.eq: DirectorEquations = own.descriptor.equations  # type: ignore[assignment]
        self.model = own.model
        if self.eq.sought:
            raise InputError(
                f"formulation 'directors': the equation of the unknown '{self.eq.sought[0]}' is not linear in it, and elements have no unknowns beside "
                "coordinates; use another formulation"
            )
        self.t0 = state.t
        self._outputs = dict(outputs or {})
        self._elements |= {name: [] for name in self._spoken_of() if name not in self._elements}
        self._prepare_inputs(inputs or {}, [*held, *self._outputs], frozen)
        self._forces: dict[str, dict[Expr, Expr]] = {name: {} for name in self._outputs}
        self._joint_places = self._places_of_joints()
        q, v = self._start(state)
        self._still = frozen
        v = np.zeros_like(v) if frozen else v
        self.system = AssembledSystem(self.model.name)
        self.handles: dict[str, Handle] = {}
        self._layout: list[tuple[str, tuple[Expr, ...], tuple[Expr, ...]]] = []
        at = 0
        for name in self.eq.bodies:
            self._block(name, 12, at, q, v)
            at += 12
        self._coordinates: dict[int, str] = {}
        #: Values and rates of coordinates beside those of bodies, in the symbols of the tree.
        self.tied: dict[str, tuple[Sequence[Expr], Sequence[Expr]]] = {}
        for c in self.eq.mixed.coordinates:
            self._coordinates[id(c)] = c.names[0]
            self._block(c.names[0], len(c.q), at, q, v, c.unit)
            self.tied[c.names[0]] = (c.q, quaternion_rates(c) if c.is_quaternion else c.v)
            at += len(c.q)
        #: Coordinates whose motion is prescribed, and those made for elements of joints.
        self._driven: list[Coordinate] = []
        self._owned: dict[str, Joint] = {}
        self._drive_coordinates()
        for name in self._elements:
            self._own_coordinate(name, state)
        for name in held:
            self._held_input(name)
        states = self._states(state)
        self.layout = of_model.Layout(tuple(self._layout), self.model.time, states)

    def _spoken_of(self) -> list[str]:
        """Hinges and sliders whose coordinates outputs speak of."""
        spoken = {s.id for s in free_symbols(list(self._outputs.values()))}
        joints = ((j.name, j.coordinates[0]) for j in self.model.joints.values() if j.kind in ("revolute", "prismatic") and j.coordinates)
        return [name for name, c in joints if c.motion is None and not self.eq.mixed.keeps(c) and spoken & {x.id for x in (*c.q, *c.v)}]

    def move_to(self, state: State) -> None:
        """Gives the assembled system another state to start from; elements and code stay."""
        self.t0 = state.t
        self._read_signals()
        q, v = np.zeros(self.system.q0.size), np.zeros(self.system.q0.size)
        x, xd = self._start(state)
        q[: x.size], v[: x.size] = x, xd
        for c in self._driven:
            at = self.handles[c.names[0]].offset
            q[at], v[at] = (self._number(self.eq.readings[s]) for s in (c.q[0], c.v[0]))
        for name in self.model.inputs:
            if (block := self.handles.get(f"input {name}")) is not None:
                q[block.offset] = self._known[self.model.inputs[name].symbol]
        for name, value in zip(self.model.states, state.z, strict=True):
            q[self.handles[f"state {name}"].offset] = value
        self.system.set_state(q, v)
        for name, joint in self._owned.items():
            q[self.handles[name].offset] = self._value_of(name, joint, state)
        if self._owned:
            self.system.set_state(q, v)

    def _places_of_joints(self) -> tuple[list[int], list[int]] | None:
        """Where the tree has the joint coordinates that are kept among those of the bodies; None where they follow from others."""
        c, kept = self.own.reference.configuration, self.eq.mixed.coordinates
        if any(item.is_quaternion or item.names[0] not in c.position_names for item in kept):
            return None
        return [c.position_names.index(item.names[0]) for item in kept], [c.velocity_names.index(item.velocity_names[0]) for item in kept]

    def _start(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and rates of the bodies, and of joints kept among them, at a state of the tree."""
        if self._joint_places is None:
            own = self.own.state_of(state)
            return own.q, own.v
        p, R, v, w, _, _ = self.own.reference.function("bodies_motion")(np.array([state.t]), state.q, state.v)
        d, (of_q, of_v) = R.swapaxes(1, 2), self._joint_places
        q, rates = (np.column_stack(part).ravel() for part in ((p, d.reshape(-1, 9)), (v, np.cross(w[:, None], d).reshape(-1, 9))))
        return np.append(q, state.q[of_q]), np.append(rates, state.v[of_v])

    # -- the user's states ----------------------------------------------------------------------------------------

    def _states(self, state: State) -> frozenset[str]:
        """Blocks of first order for the user's states."""
        for z, value, item in zip(self.eq.z, state.z, self.model.states.values(), strict=True):
            block = f"state {item.name}"
            self.handles[block] = self.system.coordinates(block, 1, value, unit=item.unit)
            self._layout.append((block, (z,), ()))
            self._changing.add(z.id)
        return frozenset(f"state {name}" for name in self.model.states)

    # -- inputs ---------------------------------------------------------------------------------------------------

    def _prepare_inputs(self, inputs: Mapping[str, Any], held: Sequence[str], frozen: bool) -> None:
        """What symbols stand for: numbers at the start, and expressions in laws (held inputs stay symbols)."""
        apart = {*held, *self.model.memories, *self.model.unknowns}
        sorted_inputs = Inputs(self.own.reference, {n: x for n, x in inputs.items() if n not in apart})
        constants, signals = sorted_inputs.constants, sorted_inputs.signals
        values = dict(zip(self.eq.p, self.own.parameter_vector.tolist(), strict=True))
        given = {n: float(inputs[n]) for n in inputs if n in held or n in self.model.memories}
        numbers = dict(zip(self.eq.u, self.own.input_values(constants | given).tolist(), strict=True))
        self._known: dict[Expr, float] = values | numbers
        self._signals = signals
        self._read_signals()
        symbols = {self.model.inputs[n].symbol for n in held}
        self._written: dict[Expr, Any] = {s: x for s, x in self._known.items() if s not in symbols} | signals
        if frozen:
            self._written |= {s: as_expr(self._known[s]) for s in signals} | {self.model.time: as_expr(self.t0)}
        #: Symbols that may change during a run.
        self._changing = {s.id for s in symbols} | ({s.id for s in (*signals, self.model.time)} if not frozen else set())

    def _read_signals(self) -> None:
        """The values of inputs that are signals at the start."""
        now = {**self._known, self.model.time: self.t0}
        self._known |= {s: float(evaluate([e], now)[0]) for s, e in self._signals.items()}

    def hold(self, values: Mapping[str, float]) -> None:
        """Other values of held inputs at the start."""
        self._known |= {self.model.inputs[n].symbol: x for n, x in values.items()}

    def _held_input(self, name: str) -> None:
        item = self.model.inputs[name]
        block = f"input {name}"
        self.handles[block] = self.system.coordinates(block, 1, self._known[item.symbol], fixed=True, unit=item.unit)
        self._layout.append((block, (item.symbol,), (symbol(f"{block}_rate", "velocity"),)))

    def _constant(self, *expressions: Expr) -> bool:
        """Whether some expressions are numbers that keep their value during a run."""
        return all(s in self._known and s.id not in self._changing for s in free_symbols(list(expressions)))

    # -- coordinates ----------------------------------------------------------------------------------------------

    def _block(self, name: str, size: int, at: int, q: np.ndarray, v: np.ndarray, unit: str = "") -> None:
        self.handles[name] = self.system.coordinates(name, size, q[at : at + size], v[at : at + size], unit=unit)
        self._layout.append((name, self.eq.q[at : at + size], self.eq.v[at : at + size]))

    def _drive_coordinates(self) -> None:
        """Driven and locked coordinates of hinges and sliders: coordinates of their own, held by servo constraints."""
        for joint in self.model.joints.values():
            c = joint.coordinates[0] if len(joint.coordinates) == 1 else None
            if c is None or c.motion is None or joint.kind not in ("revolute", "prismatic") or id(c) in self._coordinates:
                continue
            value, rate, _ = (self._number(self.eq.readings[s]) for s in (c.q[0], c.v[0], c.a[0]))
            name = c.names[0]
            self._coordinates[id(c)] = name
            self.handles[name] = self.system.coordinates(name, 1, value, 0.0 if self._still else rate, unit=c.unit)
            self._layout.append((name, c.q, c.v))
            self.tied[name] = (c.q, c.v)
            self._driven.append(c)

    def _own_coordinate(self, name: str, state: State) -> None:
        """A coordinate for the elements of a hinge or slider that has none yet."""
        joint = self.model.joints.get(name)
        if joint is None or joint.kind not in ("revolute", "prismatic"):
            what = "there is no such joint" if joint is None else f"it is {joint.kind}"
            raise InputError(f"model '{self.model.name}': elements act on hinges and sliders; '{name}': {what}")
        c, motion = joint.coordinates[0], joint.motions[0]
        if id(c) in self._coordinates:
            return
        if motion.offset is not ZERO or self._number(motion.ratio) != 1.0:
            raise InputError(f"joint '{name}': its motion is that of another joint; give the elements to '{c.names[0]}'")
        value = self._value_of(c.names[0], joint, state)
        self._owned[c.names[0]] = joint
        self._coordinates[id(c)] = c.names[0]
        self.handles[c.names[0]] = self.system.coordinates(c.names[0], 1, value, unit=c.unit)  # the engine completes its rate
        self._layout.append((c.names[0], c.q, c.v))

    def _value_of(self, name: str, joint: Joint, state: State) -> float:
        """A joint coordinate at a state, or as measured where the joint closes a loop."""
        return state[name] if name in state.system.coordinate_names else self._measure(joint)

    def _measure(self, joint: Joint) -> float:
        """Angle or displacement of a hinge or slider that closes a loop."""
        points, frames = [], []
        for f in (joint.parent, joint.child):
            turn, place, R = np.identity(3), np.zeros(3), self.numbers(f.rotation.entries).reshape(3, 3)
            if not f.body.is_ground:
                q = self.system.q0[self.handles[f.body.name].offset :][:12]
                place, turn = q[:3], q[3:].reshape(3, 3).T
            points.append(place + turn @ self.numbers(f.position))
            frames.append([turn @ R @ e for e in self._axes(joint.kind, Vector.of(self.numbers(joint.motions[0].axis)))])
        (a1, a2, n), (b1, _, _) = frames
        return float(np.arctan2(a2 @ b1, a1 @ b1) if joint.kind == "revolute" else n @ (points[1] - points[0]))

    def _number(self, e: Expr) -> float:
        return float(evaluate([e], {**self._known, self.model.time: self.t0})[0])

    def numbers(self, v: Sequence[Expr] | Vector) -> np.ndarray:
        """Values of expressions of parameters."""
        return np.array(evaluate(list(v), self._known), dtype=float)

    def numeric(self, e: Expr) -> Expr:
        """Parameters and inputs as numbers, or as expressions of time."""
        return substitute([e], self._written)[0]

    def _law(self, e: Expr) -> Expr:
        """The same with parameters left as symbols, so that one kernel serves all their values (those of exponents are numbers)."""
        powers = free_symbols([n.args[1] for n in topological([e]) if n.op == "pow"])
        kept = {p for p in self.eq.p if p not in set(powers)}
        return substitute([e], {s: x for s, x in self._written.items() if s not in kept})[0]

    def _axes(self, kind: str, data: Any) -> list[np.ndarray]:
        """m₁, m₂, n of a joint's frame: n along its axis; of a universal joint m₁ and m₂ are the axes of the cross."""
        if kind == "universal":
            first, second = (self.numbers(v) for v in data)
            return [first, second, np.cross(first, second)]
        n = self.numbers(data) if isinstance(data, Vector) else np.array([0.0, 0.0, 1.0])
        m1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        m1 /= np.linalg.norm(m1)
        return [m1, np.cross(n, m1), n]


__all__ = ["JointElements", "ModelCoordinates"]
