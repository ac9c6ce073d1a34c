"""The assembled system of any model: bodies by directors, joints as pairs, loads by potentials and laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements import of_model
from ...elements.augmentation import JointAngle, JointDisplacement, Screw
from ...elements.carriers import Carrier, Ground
from ...elements.carriers import Directors as DirectorCarrier
from ...elements.dissipation import PointDashpot, Viscous, ViscousLaw
from ...elements.pairs import Cylindrical, Pair, Planar, Prismatic, Revolute, Rigid, Spherical, Universal
from ...elements.potentials import CoordinatePotential, PointMass, PointPotential
from ...elements.rigid import DirectorBody
from ...elements.servo import ModelServo
from ...errors import InputError, ModelError
from ...formalisms.coordinates.absolute import JointPart
from ...formalisms.equations import FRICTION_SPEED, Row
from ...formalisms.loads import act
from ...formalisms.loops.loop_closure import closure_rows, cut_joint_closure
from ...formalisms.tree.links import Wrench
from ...model.bodies import Body, Frame
from ...model.constraints import Closure, Equation
from ...model.contact.loads import TouchLoad
from ...model.contact.methods import touches
from ...model.joints import Coordinate, Joint
from ...model.load_sorts import JointForce, LinkForce, Load
from ...symbolic.derivatives import jvp
from ...symbolic.expr import HALF, KINDS, ONE, ZERO, Expr, add, as_expr, mul, sub
from ...symbolic.functions import tanh
from ...symbolic.graph import evaluate, free_symbols, substitute
from ...symbolic.vectors import Vector
from ..descriptor.dynamics import DescriptorDynamics
from ..state import State
from .model_coordinates import JointElements, ModelCoordinates
from .program import Handle

if TYPE_CHECKING:
    from .contacts import Contacts
    from .flexible.parts import Part

PAIRS: dict[str, type[Pair]] = {
    "ball": Spherical, "spherical": Spherical, "revolute": Revolute, "prismatic": Prismatic, "cylindrical": Cylindrical, "planar": Planar,
    "universal": Universal, "fixed": Rigid, "body": Rigid,
}  # fmt: skip


class DirectorAssembly(ModelCoordinates):
    """Builds the assembled system of a model at a state: ``system`` with one block of twelve coordinates for each body.

    ``inputs`` are numbers or expressions of time (a function, a table).  Those named in ``held`` become prescribed coordinates, which may
    be changed between steps and by which forces can be differentiated.  ``frozen`` stops the clock: drives hold their place at the state's
    time.  ``outputs`` are expressions by the names of the inputs that make them vanish (servo constraints).  ``elements`` are elements of one
    coordinate with their constants by the names of the hinges and sliders on which they act.
    """

    def __init__(
        self, own: DescriptorDynamics, state: State, inputs: Mapping[str, Any] | None = None, held: Sequence[str] = (), frozen: bool = False,
        outputs: Mapping[str, Expr] | None = None, elements: JointElements | None = None, parts: Sequence[Part] = (),
    ) -> None:  # fmt: skip
        super().__init__(own, state, inputs, held, frozen, outputs, elements)
        self._bodies()
        self._parts = parts
        #: The advance and the angle of each screw, and its pitch.
        self._advances: list[tuple[Handle, Handle, float]] = []
        for part in parts:
            part.add(self.system, self.handles, self.numbers)
        #: Elements of joints and constraints that events of the engine remove and insert, by the names of these.
        self.switched: dict[str, list[str]] = {}
        for joint in self.model.joints.values():
            self._switchable(joint, self._joint)
        for item in self.model.constraints.values():
            self._switchable(item, self._constraint)
        if parts:
            self._released()
        for load in self.model.loads.values():
            if not isinstance(load, TouchLoad):
                self._load(load)
        #: Contacts whose surfaces give way, if there are any.
        self.contacts = self._contacts()
        #: Those of nodes of parts, contact by contact.
        self.part_contacts: list[Contacts] = []
        if parts and touches(parts[0].body.model):
            from .flexible.part_contacts import add_part_contacts

            add_part_contacts(self, parts)
        self._drives()
        self._joint_elements()
        self._state_rates()
        self._servo()
        #: Elements that wait for an event at the start of a run.
        self.resting = frozenset(self.system.inactive)

    def move_to(self, state: State) -> None:
        """Gives the assembled system another state to start from, its parts undeformed; elements and code stay."""
        super().move_to(state)
        if self._parts or self._advances:
            q, v = self.system.q0, self.system.v0
            for part in self._parts:
                part.move(self.system, self.handles, self.numbers, q, v)
            for advance, angle, pitch in self._advances:
                q[advance.offset], v[advance.offset] = pitch * q[angle.offset], pitch * v[angle.offset]
            self.system.set_state(q, v)

    def _switchable(self, held: Any, make: Callable[[Any], None]) -> None:
        """Makes the elements of a joint or constraint; those of one that may let go are noted."""
        first = len(self.system.instances)
        make(held)
        if held.name in self.model.switches:
            self.switched[held.name] = [i.name for i in self.system.instances[first:]]

    def _released(self) -> None:
        """What has let go at the start waits for an event: with parts that deform, one run goes through all phases."""
        whole = self.model.whole or self.model
        for name in sorted(self.model.released):
            if name in whole.joints:
                self._switchable(whole.joints[name], self._joint)
            else:
                self._switchable(whole.constraints[name], self._constraint)
        self.system.inactive |= {element for name in self.model.released for element in self.switched[name]}

    # -- bodies and joints ----------------------------------------------------------------------------------------

    def _bodies(self) -> None:
        gravity = self.numbers(self.model.gravity)
        for name in self.eq.bodies:
            body = self.model.bodies[name]
            xx, yy, zz, xy, xz, yz = self.numbers(body.inertia.entries)
            half = 0.5 * (xx + yy + zz)
            constants = {
                "mass": self.numbers([body.mass]), "moment": self.numbers(body.moment), "gravity": gravity,
                "euler": [half - xx, half - yy, half - zz, -xy, -xz, -yz],
            }  # fmt: skip
            self.system.add(DirectorBody(), f"{name}.body", {"body": self.handles[name]}, constants)

    def _carrier(self, body: Body) -> Carrier:
        return Ground() if body.is_ground else DirectorCarrier()

    def _attached(self, a: Frame, b: Frame) -> dict[str, Handle]:
        return {side: self.handles[f.body.name] for side, f in (("a", a), ("b", b)) if not f.body.is_ground}

    def _places(self, a: Frame, b: Frame) -> dict[str, np.ndarray]:
        return {"point_a": self.numbers(a.position), "point_b": self.numbers(b.position)}

    def _frames(self, a: Frame, b: Frame, axes: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Components on both bodies of directions given in the joint's frames."""
        found = {}
        for side, f in (("a", a), ("b", b)):
            R = self.numbers(f.rotation.entries).reshape(3, 3)
            found[f"frame_{side}"] = np.concatenate([R @ e for e in axes])
        return found

    def _pair(self, name: str, closure: Closure) -> None:
        pair = PAIRS[closure.kind](self._carrier(closure.a.body), self._carrier(closure.b.body))
        constants = self._places(closure.a, closure.b)
        if pair.framed:
            axes = self._axes(closure.kind, closure.data)
            constants |= self._frames(closure.a, closure.b, axes) | pair.angles(axes)
        self.system.add(pair, name, self._attached(closure.a, closure.b), constants)

    def _joint(self, joint: Joint) -> None:
        kept = [c for c in joint.coordinates if self.eq.mixed.keeps(c)]
        if joint.kind in ("revolute", "prismatic"):
            self._pair(joint.name, cut_joint_closure(joint))
            if kept or joint.name in self._elements:
                self._measured(joint)
        elif not kept and joint.kind in PAIRS:
            self._pair(joint.name, cut_joint_closure(joint))
        elif joint.kind == "helical" and joint.coordinates[0].motion is None:
            self._screw(joint)
        elif kept or joint.kind != "free":
            self._rows(joint.name, [self._row(p) for p in self.eq.joint_parts(joint)])
            for c in joint.coordinates:
                if c.is_quaternion:
                    square = sum((mul(e, e) for e in c.q), ZERO)
                    self._rows(f"{joint.name}.norm", [Row("norm", mul(HALF, sub(square, ONE)), False)])

    def _row(self, part: JointPart) -> Row:
        return Row(f"row{part.row.name.rsplit('[', 1)[1][:-1]}", part.row.expression, False)

    def _measured(self, joint: Joint) -> None:
        """The coordinate of a hinge or slider, and its motion when it is driven."""
        c = joint.coordinates[0]
        motion = joint.motions[0]
        carriers = self._carrier(joint.parent.body), self._carrier(joint.child.body)
        blocks = self._attached(joint.parent, joint.child)
        axis = self.numbers(motion.axis)
        frames = self._frames(joint.parent, joint.child, self._axes(joint.kind, Vector.of(axis)))
        handle = self.handles[self._coordinates[id(c)]]
        if motion.offset is not ZERO or float(evaluate([motion.ratio], self._known)[0]) != 1.0:
            self._rows(f"{joint.name}.coordinate", [self._row(p) for p in self.eq.joint_parts(joint)[5:]])
        elif joint.kind == "revolute":
            self.system.add(JointAngle(*carriers), f"{joint.name}.coordinate", {**blocks, "angle": handle}, frames)
        else:
            constants = {**self._places(joint.parent, joint.child), **frames}
            self.system.add(JointDisplacement(*carriers), f"{joint.name}.coordinate", {**blocks, "displacement": handle}, constants)
        if c.motion is not None:
            self._rows(f"{joint.name}.drive", [Row("force", sub(c.q[0], c.motion), False)])

    def _screw(self, joint: Joint) -> None:
        """Turn and advance along one axis; the displacement is a coordinate of the pair's own."""
        turn, slide = (next(m for m in joint.motions if m.kind == k) for k in "RT")
        pitch = float(evaluate([slide.ratio], self._known)[0])
        angle = self.handles[self._coordinates[id(turn.coordinate)]]
        start = self.system.q0[angle.offset], self.system.v0[angle.offset]
        displacement = self.system.coordinates(f"{joint.name}.advance", 1, pitch * start[0], pitch * start[1], unit="m")
        self._advances.append((displacement, angle, pitch))
        self.tied[displacement.name] = ([mul(as_expr(pitch), turn.coordinate.q[0])], [mul(as_expr(pitch), turn.coordinate.v[0])])
        constants = {**self._places(joint.parent, joint.child), "pitch": [pitch]}
        constants |= self._frames(joint.parent, joint.child, self._axes("helical", turn.axis))
        blocks = {**self._attached(joint.parent, joint.child), "angle": angle, "displacement": displacement}
        self.system.add(Screw(self._carrier(joint.parent.body), self._carrier(joint.child.body)), joint.name, blocks, constants)

    def _joint_elements(self) -> None:
        for name, given in self._elements.items():
            handle = self.handles[self._coordinates[id(self.model.joints[name].coordinates[0])]]
            for element, constants in [given] if isinstance(given, tuple) else given:
                if list(element.blocks.values()) != [1]:
                    raise InputError(
                        f"joint '{name}': {element.name} has the coordinates {element.blocks}; give an element of one coordinate"
                    )
                self.system.add(element, f"{name}.{type(element).__name__.lower()}", dict.fromkeys(element.blocks, handle), constants)

    # -- constraints ----------------------------------------------------------------------------------------------

    def _constraint(self, item: Closure | Equation) -> None:
        if isinstance(item, Equation):
            self._rows(item.name, [Row("multiplier", self.eq.resolve([item.expression])[0], item.nonholonomic)])
        elif item.kind in PAIRS and not item.ignore:
            self._pair(item.name, item)
        else:
            self._rows(item.name, [Row(f"row{i + 1}", r.h, False) for i, r in enumerate(closure_rows(self.eq.kinematics, item))])
        if isinstance(item, Closure) and item.inertia is not None:
            self._rod(item)

    def _rod(self, rod: Closure) -> None:
        assert rod.inertia is not None
        a, beta, b = self.numbers([rod.inertia.at_a, rod.inertia.coupling, rod.inertia.at_b])
        constants = {**self._places(rod.a, rod.b), "alpha_a": a, "beta": beta, "alpha_b": b, "gravity": self.numbers(self.model.gravity)}
        element = of_model.RodMass(self._carrier(rod.a.body), self._carrier(rod.b.body))
        self.system.add(element, f"{rod.name}.inertia", self._attached(rod.a, rod.b), constants)

    def _rows(self, name: str, rows: Sequence[Row]) -> None:
        """Constraints as expressions, by what they depend on: positions, time, rates."""
        found = [r for r in (replace(r, expression=self.numeric(r.expression)) for r in rows) if not r.expression.is_number]
        if not found:
            return
        timed = any(r.expression.deps & KINDS["time"] for r in found)
        kind = of_model.ModelRolling if rows[0].nonholonomic else of_model.ModelDrive if timed else of_model.ModelRows
        self._attach(kind(self.layout, [r.name for r in found], [r.expression for r in found]), name)

    def _attach(self, element: of_model.OfModel, name: str) -> None:
        constants = {c: self._known[p] for c, p in element.parameters.items()}
        self.system.add(element, name, {b: self.handles[h] for b, h in element.attached.items()}, constants)

    def _state_rates(self) -> None:
        for z, name, rate in zip(self.eq.z, self.model.states, self.eq.explicit_state_rates, strict=True):
            self._attach(of_model.ModelState(self.layout, z, self._law(rate)), f"state {name}")

    def _contacts(self) -> Contacts | None:
        if not touches(self.model):
            return None
        from .contacts import Contacts

        element = Contacts(self)
        self.system.add(element, "contacts", element.attached)
        return element

    # -- loads ----------------------------------------------------------------------------------------------------

    def _load(self, load: Load) -> None:
        make = self._elements_of_laws.get((type(load), load.kind))
        constants = [as_expr(x) for x in load.given.values() if isinstance(x, Expr | int | float)]
        # a kind without constants is a mere style of drawing
        if make is not None and constants and self._constant(*constants) and make(load):
            return
        written = self.numeric if load.potential is not ZERO else self._law
        forces = self._without_outputs(self._generalised(load, written), load.name)
        potential = self.numeric(self.eq.resolve([load.potential])[0])
        if any(s.id in self._changing for s in free_symbols([potential])):
            potential = ZERO  # the energy of a law that changes with time or states is not kept: its work is booked as supplied
        if potential is not ZERO:
            self._attach(of_model.ModelPotential(self.layout, [potential]), f"{load.name}.potential")
        if forces:
            self._attach(of_model.ModelForce(self.layout, forces, potential), load.name)

    def _without_outputs(self, forces: dict[Expr, Expr], name: str) -> dict[Expr, Expr]:
        """Forces without the inputs of servo constraints, whose parts are kept apart."""
        symbols = {n: self.model.inputs[n].symbol for n in self._outputs}
        for input_, u in symbols.items():
            for x, f in forces.items():
                (slope,) = jvp([f], {u: 1.0})
                if any(u.id == e.id for e in free_symbols([slope])):
                    raise ModelError(f"load '{name}': its force is not linear in the input '{input_}' of a servo constraint")
                if slope is not ZERO:
                    self._forces[input_][x] = add(self._forces[input_].get(x, ZERO), slope)
        rest = substitute(list(forces.values()), dict.fromkeys(symbols.values(), ZERO))
        return {x: f for x, f in zip(forces, rest, strict=True) if f is not ZERO}

    def _servo(self) -> None:
        if not self._outputs:
            return
        idle = [n for n, forces in self._forces.items() if not forces]
        if idle:
            raise ModelError(f"model '{self.model.name}': no load uses the input '{idle[0]}' of a servo constraint; give it to a force")
        resolved = self.eq.resolve(list(self._outputs.values()))
        outputs = {n: self.numeric(e) for n, e in zip(self._outputs, resolved, strict=True)}
        self._attach(ModelServo(self.layout, outputs, self._forces), "servo")

    def _generalised(self, load: Load, written: Callable[[Expr], Expr]) -> dict[Expr, Expr]:
        """Generalised forces of one load by coordinate."""
        joint_forces: list[Expr] = [ZERO] * self.eq.mixed.nv
        wrenches: dict[int, Wrench] = {}
        act(load, self.eq, joint_forces, wrenches)
        names = list(self.eq.poses)
        for i, (force, torque) in wrenches.items():
            wrench = (*force, *torque)
            for (r, j), e in self.eq.pose_jacobian(names[i]).items():
                joint_forces[j] = add(joint_forces[j], mul(e, wrench[r]))
        return {self.eq.q[j]: written(f) for j, f in enumerate(joint_forces) if f is not ZERO}

    @property
    def _elements_of_laws(self) -> dict[tuple[type[Load], str], Callable[[Any], bool]]:
        """Laws with constants for which there are ready elements; each says whether it could make them."""
        return {
            (LinkForce, "spring"): self._spring,
            (LinkForce, "damper"): self._spring,
            (JointForce, "joint_spring"): self._spring_at_joint,
        }

    def _spring(self, load: LinkForce) -> bool:
        """A linear spring and damper between two points, keeping energy balance and momenta exactly."""
        if load.along is not None:  # its length is signed
            return False
        a, b = load.points
        carriers, blocks, places = (self._carrier(a.body), self._carrier(b.body)), self._attached(a, b), self._places(a, b)
        values = {k: self._number(load.given.get(k, ZERO)) for k in ("stiffness", "length", "damping", "preload")}
        if values["stiffness"] or values["preload"]:
            numbers = {k: values[k] for k in ("stiffness", "length", "preload")}
            self.system.add(PointPotential(*carriers, spring_energy, dict.fromkeys(numbers, 1)), load.name, blocks, {**places, **numbers})
        if values["damping"]:
            self.system.add(PointDashpot(*carriers), f"{load.name}.damper", blocks, {**places, "damping": values["damping"]})
        return True

    def _spring_at_joint(self, load: JointForce) -> bool:
        if load.coordinate.motion is None:
            self._joint_spring(load.name, load.coordinate, *(self._number(load.given[k]) for k in ("stiffness", "rest", "damping")))
        return load.coordinate.motion is None

    def _joint_spring(self, name: str, c: Coordinate, stiffness: float, rest: float, damping: float) -> None:
        blocks = {"x": self.handles[self._coordinates[id(c)]]}
        if stiffness:
            self.system.add(CoordinatePotential(), f"{name}.potential", blocks, {"stiffness": stiffness, "rest": rest})
        if damping:
            self.system.add(Viscous(), f"{name}.damper", blocks, {"damping": damping})

    def _drives(self) -> None:
        """Stiffness, damping and friction declared with joints, and rotor inertias."""
        for joint in self.model.joints.values():
            c, d = (joint.coordinates[0] if joint.coordinates else None), joint.drive
            if c is None or c.motion is not None or (d.stiffness is ZERO and d.damping is ZERO and d.friction is ZERO):
                continue
            self._joint_spring(f"{joint.name}.drive", c, self._number(d.stiffness), self._number(d.rest), self._number(d.damping))
            if not self._constant(d.friction):
                force = -self.numeric(d.friction) * tanh(c.v[0] / FRICTION_SPEED)
                self._attach(of_model.ModelForce(self.layout, {c.q[0]: force}), f"{joint.name}.friction")
            elif d.friction is not ZERO:
                handle = self.handles[self._coordinates[id(c)]]
                self.system.add(
                    ViscousLaw(coulomb, {"limit": 1}), f"{joint.name}.friction", {"x": handle}, {"limit": self._number(d.friction)}
                )
        for index, inertia in self.eq.rotor_inertias.items():
            name = next(n for n, x, _ in self._layout if x[0] is self.eq.q[index])
            self.system.add(PointMass(1), f"{name}.rotor", {"x": self.handles[name]}, {"mass": self._number(inertia)})


def coulomb(rate: Expr, c: Any) -> Expr:
    """Dry friction with its sign smoothed as in the other formulations."""
    return c.limit * tanh(rate / FRICTION_SPEED)


def spring_energy(r: Expr, c: Any) -> Expr:
    """½ k (r − ℓ)² + F₀ (r − ℓ)."""
    stretch = r - c.length
    return HALF * c.stiffness * stretch**2 + c.preload * stretch


__all__ = ["DirectorAssembly", "JointElements"]
