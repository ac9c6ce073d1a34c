"""Any model in the energy-consistent engine: bodies by directors, joints as pairs, loads by potentials and laws.

``model.compile(formulation="directors")`` answers every question of the common protocol in directors; its :meth:`Directors.simulate`
marches with schemes that keep energy and momenta exactly, in large steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError, ModelError
from ..formalisms.absolute import JointPart
from ..formalisms.directors import DirectorEquations, directors
from ..formalisms.elements import of_model
from ..formalisms.elements.augmentation import JointAngle, JointDisplacement, Screw
from ..formalisms.elements.carriers import Carrier, Ground
from ..formalisms.elements.carriers import Directors as DirectorCarrier
from ..formalisms.elements.dissipation import PointDashpot, Viscous
from ..formalisms.elements.pairs import Cylindrical, Pair, Planar, Prismatic, Revolute, Rigid, Spherical, Universal
from ..formalisms.elements.potentials import CoordinatePotential, PointMass, PointPotential
from ..formalisms.elements.rigid import DirectorBody
from ..formalisms.equations import Row
from ..formalisms.loop_closure import closure_rows, cut_joint_closure
from ..formalisms.newton_euler import Wrench
from ..model.bodies import Body, Frame
from ..model.constraints import Closure, Equation
from ..model.joints import Coordinate, Joint
from ..model.loads import FrameLoad, JointForce, LinkForce
from ..results.channel import Channel
from ..results.solution import Solution
from ..symbolic.expr import HALF, KINDS, ZERO, Expr, add, mul, sub
from ..symbolic.graph import evaluate, substitute
from ..symbolic.vectors import AXES, Vector
from .assemble import check_closed
from .assembled_program import Handle
from .assembled_system import AssembledSystem
from .descriptor_system import DescriptorSystem, tree_states
from .formulations import DescriptorFormulation
from .simulate import SimulationError, solution_of
from .state import State
from .system import System

PAIRS: dict[str, type[Pair]] = {
    "ball": Spherical, "spherical": Spherical, "revolute": Revolute, "prismatic": Prismatic, "cylindrical": Cylindrical, "planar": Planar,
    "universal": Universal, "fixed": Rigid, "body": Rigid,
}  # fmt: skip


class DirectorAssembly:
    """Builds the assembled system of a model at a state: ``system`` with one block of twelve coordinates for each body."""

    def __init__(self, own: DescriptorSystem, state: State, inputs: Mapping[str, float] | None = None) -> None:
        self.own = own
        self.eq: DirectorEquations = own.descriptor.equations  # type: ignore[assignment]
        self.model = own.model
        self.t0 = state.t
        if self.model.states:
            raise ModelError(
                f"model '{self.model.name}': the user's state '{next(iter(self.model.states))}' needs an integrator of differential equations; "
                "simulate it with another formulation"
            )
        self._known = dict(zip(self.eq.p, own.parameter_vector.tolist(), strict=True))
        self._known |= dict(zip(self.eq.u, own.input_values(inputs).tolist(), strict=True))
        start = own.state_of(state)
        self.system = AssembledSystem(self.model.name)
        self.handles: dict[str, Handle] = {}
        self._layout: list[tuple[str, tuple[Expr, ...], tuple[Expr, ...]]] = []
        at = 0
        for name in self.eq.bodies:
            self._block(name, 12, at, start.q, start.v)
            at += 12
        self._coordinates: dict[int, str] = {}
        for c in self.eq.mixed.coordinates:
            self._coordinates[id(c)] = c.names[0]
            self._block(c.names[0], len(c.q), at, start.q, start.v, c.unit)
            at += len(c.q)
        self._drive_coordinates()
        self.layout = of_model.Layout(tuple(self._layout), self.model.time)
        self._bodies()
        for joint in self.model.joints.values():
            self._joint(joint)
        self._constraints()
        for load in self.model.loads.values():
            self._load(load)
        self._drives()

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
            self.handles[name] = self.system.coordinates(name, 1, value, rate, unit=c.unit)
            self._layout.append((name, c.q, c.v))

    def _number(self, e: Expr) -> float:
        return float(evaluate([e], {**self._known, self.model.time: self.t0})[0])

    def _numbers(self, v: Sequence[Expr] | Vector) -> np.ndarray:
        return np.array(evaluate(list(v), self._known), dtype=float)

    def _numeric(self, e: Expr) -> Expr:
        """Parameters and inputs as numbers."""
        return substitute([e], dict(self._known))[0]  # type: ignore[arg-type]

    # -- bodies and joints ----------------------------------------------------------------------------------------

    def _bodies(self) -> None:
        gravity = self._numbers(self.model.gravity)
        for name in self.eq.bodies:
            body = self.model.bodies[name]
            xx, yy, zz, xy, xz, yz = self._numbers(body.inertia.entries)
            half = 0.5 * (xx + yy + zz)
            constants = {
                "mass": self._numbers([body.mass]), "moment": self._numbers(body.moment), "gravity": gravity,
                "euler": [half - xx, half - yy, half - zz, -xy, -xz, -yz],
            }  # fmt: skip
            self.system.add(DirectorBody(), f"{name}.body", {"body": self.handles[name]}, constants)

    def _carrier(self, body: Body) -> Carrier:
        return Ground() if body.is_ground else DirectorCarrier()

    def _attached(self, a: Frame, b: Frame) -> dict[str, Handle]:
        return {side: self.handles[f.body.name] for side, f in (("a", a), ("b", b)) if not f.body.is_ground}

    def _places(self, a: Frame, b: Frame) -> dict[str, np.ndarray]:
        return {"point_a": self._numbers(a.position), "point_b": self._numbers(b.position)}

    def _frames(self, a: Frame, b: Frame, axes: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Components on both bodies of directions given in the joint's frames."""
        found = {}
        for side, f in (("a", a), ("b", b)):
            R = self._numbers(f.rotation.entries).reshape(3, 3)
            found[f"frame_{side}"] = np.concatenate([R @ e for e in axes])
        return found

    def _axes(self, kind: str, data: Any) -> list[np.ndarray]:
        """m₁, m₂, n of a joint's frame: n along its axis; of a universal joint m₁ and m₂ are the axes of the cross."""
        if kind == "universal":
            first, second = (self._numbers(v) for v in data)
            return [first, second, np.cross(first, second)]
        n = self._numbers(data) if isinstance(data, Vector) else np.array([0.0, 0.0, 1.0])
        m1 = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        m1 /= np.linalg.norm(m1)
        return [m1, np.cross(n, m1), n]

    def _pair(self, name: str, closure: Closure) -> None:
        pair = PAIRS[closure.kind](self._carrier(closure.a.body), self._carrier(closure.b.body))
        constants = self._places(closure.a, closure.b)
        if pair.framed:
            constants |= self._frames(closure.a, closure.b, self._axes(closure.kind, closure.data))
        self.system.add(pair, name, self._attached(closure.a, closure.b), constants)

    def _joint(self, joint: Joint) -> None:
        kept = [c for c in joint.coordinates if self.eq.mixed.keeps(c)]
        if joint.kind in ("revolute", "prismatic"):
            self._pair(joint.name, cut_joint_closure(joint))
            if kept:
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
                    self._rows(f"{joint.name}.norm", [Row("norm", mul(HALF, sub(square, AXES[0].x)), False)])

    def _row(self, part: JointPart) -> Row:
        return Row(f"row{part.row.name.rsplit('[', 1)[1][:-1]}", part.row.expression, False)

    def _measured(self, joint: Joint) -> None:
        """The coordinate of a hinge or slider, and its motion when it is driven."""
        c = joint.coordinates[0]
        motion = joint.motions[0]
        carriers = self._carrier(joint.parent.body), self._carrier(joint.child.body)
        blocks = self._attached(joint.parent, joint.child)
        axis = self._numbers(motion.axis)
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
        constants = {**self._places(joint.parent, joint.child), "pitch": [pitch]}
        constants |= self._frames(joint.parent, joint.child, self._axes("helical", turn.axis))
        blocks = {**self._attached(joint.parent, joint.child), "angle": angle, "displacement": displacement}
        self.system.add(Screw(self._carrier(joint.parent.body), self._carrier(joint.child.body)), joint.name, blocks, constants)

    # -- constraints ----------------------------------------------------------------------------------------------

    def _constraints(self) -> None:
        for item in self.model.constraints.values():
            if isinstance(item, Equation):
                self._rows(item.name, [Row("multiplier", self.eq.resolve([item.expression])[0], item.nonholonomic)])
            elif item.kind in PAIRS:
                self._pair(item.name, item)
            else:
                self._rows(item.name, [Row(f"row{i + 1}", r.h, False) for i, r in enumerate(closure_rows(self.eq.kinematics, item))])
            if isinstance(item, Closure) and item.inertia is not None:
                self._rod(item)

    def _rod(self, rod: Closure) -> None:
        assert rod.inertia is not None
        a, beta, b = self._numbers([rod.inertia.at_a, rod.inertia.coupling, rod.inertia.at_b])
        constants = {**self._places(rod.a, rod.b), "alpha_a": a, "beta": beta, "alpha_b": b, "gravity": self._numbers(self.model.gravity)}
        element = of_model.RodMass(self._carrier(rod.a.body), self._carrier(rod.b.body))
        self.system.add(element, f"{rod.name}.inertia", self._attached(rod.a, rod.b), constants)

    def _rows(self, name: str, rows: Sequence[Row]) -> None:
        """Constraints as expressions, by what they depend on: positions, time, rates."""
        found = [r for r in (replace(r, expression=self._numeric(r.expression)) for r in rows) if not r.expression.is_number]
        if not found:
            return
        timed = any(r.expression.deps & KINDS["time"] for r in found)
        kind = of_model.ModelRolling if rows[0].nonholonomic else of_model.ModelDrive if timed else of_model.ModelRows
        self._attach(kind(self.layout, [r.name for r in found], [r.expression for r in found]), name)

    def _attach(self, element: of_model.OfModel, name: str) -> None:
        self.system.add(element, name, {b: self.handles[h] for b, h in element.attached.items()}, {})

    # -- loads ----------------------------------------------------------------------------------------------------

    def _load(self, load: JointForce | LinkForce | FrameLoad) -> None:
        if isinstance(load, LinkForce) and load.kind in ("spring", "damper"):
            self._spring(load)
            return
        if isinstance(load, JointForce) and load.kind == "joint_spring" and load.coordinate.motion is None:
            self._joint_spring(load.name, load.coordinate, *(self._number(load.given[k]) for k in ("stiffness", "rest", "damping")))
            return
        forces = self._generalised(load)
        potential = self._numeric(self.eq.resolve([load.potential])[0])
        if potential is not ZERO:
            self._attach(of_model.ModelPotential(self.layout, [potential]), f"{load.name}.potential")
        if forces:
            self._attach(of_model.ModelForce(self.layout, forces, potential), load.name)

    def _generalised(self, load: JointForce | LinkForce | FrameLoad) -> dict[Expr, Expr]:
        """Generalised forces of one load by coordinate."""
        joint_forces: list[Expr] = [ZERO] * self.eq.mixed.nv
        wrenches: dict[int, Wrench] = {}
        if isinstance(load, JointForce):
            self.eq._joint_force(load.joint, load.coordinate, self.eq.resolve([load.force])[0], joint_forces, wrenches)
        elif isinstance(load, LinkForce):
            self.eq._link_force(load, wrenches)
        else:
            self.eq._frame_load(load, wrenches)
        names = list(self.eq.poses)
        for i, (force, torque) in wrenches.items():
            wrench = (*force, *torque)
            for (r, j), e in self.eq.pose_jacobian(names[i]).items():
                joint_forces[j] = add(joint_forces[j], mul(e, wrench[r]))
        return {self.eq.q[j]: self._numeric(f) for j, f in enumerate(joint_forces) if f is not ZERO}

    def _spring(self, load: LinkForce) -> None:
        """A linear spring and damper between two points, keeping energy balance and momenta exactly."""
        a, b = load.points
        carriers, blocks, places = (self._carrier(a.body), self._carrier(b.body)), self._attached(a, b), self._places(a, b)
        values = {k: self._number(load.given.get(k, ZERO)) for k in ("stiffness", "length", "damping", "preload")}
        if values["stiffness"] or values["preload"]:
            numbers = {k: values[k] for k in ("stiffness", "length", "preload")}
            self.system.add(PointPotential(*carriers, spring_energy, dict.fromkeys(numbers, 1)), load.name, blocks, {**places, **numbers})
        if values["damping"]:
            self.system.add(PointDashpot(*carriers), f"{load.name}.damper", blocks, {**places, "damping": values["damping"]})

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
            if d.friction is not ZERO:
                from ..formalisms.equations import FRICTION_SPEED
                from ..symbolic.functions import tanh

                force = -self._numeric(d.friction) * tanh(c.v[0] / FRICTION_SPEED)
                self._attach(of_model.ModelForce(self.layout, {c.q[0]: force}), f"{joint.name}.friction")
        for index, inertia in self.eq.rotor_inertias.items():
            name = next(n for n, x, _ in self._layout if x[0] is self.eq.q[index])
            self.system.add(PointMass(1), f"{name}.rotor", {"x": self.handles[name]}, {"mass": self._number(inertia)})


def spring_energy(r: Expr, c: Any) -> Expr:
    """½ k (r − ℓ)² + F₀ (r − ℓ)."""
    stretch = r - c.length
    return HALF * c.stiffness * stretch**2 + c.preload * stretch


class Directors(DescriptorFormulation):
    """A model with bodies by directors; simulated by the energy-consistent engine."""

    def __init__(self, reference: System, **options: Any) -> None:
        super().__init__(reference, "directors", directors, **options)

    def assembled(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> AssembledSystem:
        """The assembled system at a state, to look at its elements, its report and its schemes."""
        return DirectorAssembly(self.system, self._state(state), inputs).system

    def simulate(  # type: ignore[override]
        self, state: Any, t: float | Sequence[float], step: float = 1e-2, method: str = "energy-momentum", inputs: Mapping[str, float] | None = None,
        **options: Any,
    ) -> Solution:  # fmt: skip
        """Motion from a state of the reference system in steps of ``step`` seconds.

        ``method`` is one of the schemes of :meth:`AssembledSystem.simulate` ("energy-momentum", "variational", "generalized-alpha" …), to which
        further options go (``reduction``, ``tolerance``, ``adaptive`` …).  The solution has the usual channels, and those of the scheme
        behind ``step.`` (energies at the ends of steps, balance, momenta, violation of constraints, iterations).
        """
        start = self._state(state)
        check_closed(self.reference, start)
        span = (start.t, start.t + float(t)) if np.ndim(t) == 0 else (float(t[0]), float(t[1]))  # type: ignore[index,arg-type]
        if self.model.events:
            raise InputError(
                f"event '{next(iter(self.model.events))}' cannot be watched by the energy-consistent engine; use another formulation"
            )
        self.system.refresh()
        built = DirectorAssembly(self.system, start, inputs)
        try:
            raw = built.system.simulate(span[1], step, method, start=span[0], **options)
        except SimulationError as error:
            raise SimulationError(str(error), self._translated(start, error.solution)) from None
        return self._translated(start, raw)

    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest violation of the constraints along a solution of this formulation; velocities meet them in the mean over a step."""
        if "step.constraints.violation" not in solution:
            raise InputError("this solution was not simulated in directors; its constraint errors are not known")
        return float(solution["step.constraints.violation"].max()), 0.0

    def _translated(self, start: State, raw: Solution) -> Solution:
        """The assembled system's run in the language of the reference system."""
        names = list(self.model.bodies)
        motion = [
            np.stack([raw[f"{n}.{what}"] for n in names], axis=1) for what in ("position", "rotation", "velocity", "angular_velocity")
        ]
        rows = tree_states(self.reference, start, raw.t, *motion)
        about = {"model": self.model.name, "formulation": "directors", **raw.metadata}
        solution = solution_of(self.reference, raw.t, rows, about)
        own = [n for n in raw.names if n.split(".")[0] in ("energy", "momentum", "constraints", "newton")]
        extra = {f"step.{n}": Channel(raw[n], raw.channel(n).unit, raw.channel(n).description) for n in own}
        found = solution.with_channels(**extra)
        found.assembled = raw  # type: ignore[attr-defined]
        return found


__all__ = ["DirectorAssembly", "Directors"]
