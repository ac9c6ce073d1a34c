"""Loads: laws at joints, links between points, bushings, forces and torques at frames, user states, inputs, outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from ..errors import ModelError
from ..symbolic.expr import HALF, KINDS, ZERO, Expr, mul, neg, symbol
from ..symbolic.functions import absolute, exp, tanh
from ..symbolic.vectors import Vector
from .bodies import Body, Frame
from .dimensions import declared
from .joints import Joint, law_units
from .load_sorts import FrameLoad, JointForce, LinkForce, Load
from .pushing import pushing, smooth_sign
from .sensors import Sensor
from .values import number, traced, unit_axis, value, values, vector

if TYPE_CHECKING:
    from .contact.contacts import Rope
    from .contact.laws import Rigid
    from .parameters import Parameters

Law = Callable[..., Any]


@dataclass
class Input:
    """A named channel from outside: an actuator force, a set point."""

    name: str
    symbol: Expr
    value: float
    unit: str = ""


@dataclass
class Callback:
    """A Python function of expressions whose values enter laws through inputs of the same name."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Expr, ...]
    inputs: tuple[str, ...]


@dataclass
class UserState:
    """A state of the user's own differential equation ż = f."""

    name: str
    symbol: Expr
    initial: float
    rate: Expr | None = None
    unit: str = ""


@dataclass
class Output:
    """A named expression kept in results."""

    name: str
    expression: Expr
    unit: str = ""


class LoadMethods:
    """The part of a model that declares loads."""

    name: str
    time: Expr
    joints: dict[str, Joint]
    loads: dict[str, Load]
    inputs: dict[str, Input]
    callbacks: dict[str, Callback]
    states: dict[str, UserState]
    outputs: dict[str, Output]
    sensors: dict[str, Sensor]
    ground: Body
    rigid_stops: dict[str, Rigid]
    ropes: dict[str, Rope]
    #: bounds of dry friction that slides and that rests, by joint
    dry_friction: dict[str, tuple[Expr, Expr]]
    _parameters: Parameters
    _readings: dict[Expr, tuple[Sensor, str, int]]

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def _frame(self, given: Any, what: str) -> Frame: ...
        def _joint(self, given: Any, what: str) -> Joint: ...
        def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None: ...

    # -- laws at joints -------------------------------------------------------------------------------------------

    def force(self, joint: Joint, law: Law | Any, coordinate: str | None = None, name: str | None = None) -> JointForce:
        """A law at a joint: ``law(x, v, t)`` of position, velocity and time, or an expression; N or N m.

        The force acts in the direction of the coordinate on the child, and back on the parent.
        """
        self._joint(joint, "force")
        name = self._load_name(name, f"{joint.name}.force")
        c = joint._single() if coordinate is None else joint.coordinate(coordinate)
        given = traced(law, f"force '{name}'", c.q[0], c.v[0], self.time) if callable(law) else law
        load = JointForce(name, joint, c, value(given, f"force '{name}'", law_units(c.unit)["force"] if c.unit else None, law=True))
        self.loads[name] = load
        return load

    torque = force

    def joint_spring(self, joint: Joint, stiffness: Any, rest: Any = 0.0, damping: Any = 0.0, name: str | None = None) -> JointForce:
        """A linear spring and damper at a joint: −k(x − x₀) − d v."""
        self._joint(joint, "joint_spring")
        u = law_units(joint._single().unit)
        given = ("stiffness", stiffness, u["stiffness"]), ("rest", rest, u["rest"]), ("damping", damping, u["damping"])
        k, x0, d = values(f"spring at '{joint.name}'", *given)
        load = self.force(joint, lambda x, v, t: -k * (x - x0) - d * v, name=name or self._free_name(f"{joint.name}.spring"))
        load.potential = mul(HALF, k * (joint.position - x0) ** 2)
        load.kind, load.given = "joint_spring", {"stiffness": k, "rest": x0, "damping": d}
        return load

    def friction(
        self, joint: Joint, coulomb: Any, viscous: Any = 0.0, static: Any = None, stribeck: Any = 0.01, smoothing: Any = 1e-3,
        name: str | None = None,
    ) -> JointForce:  # fmt: skip
        """Dry friction regularised over the velocity ``smoothing``: Coulomb, or Stribeck when ``static`` is given.

        With ``smoothing=0`` it is Coulomb's set-valued law: the joint sticks without creeping up to ``static`` (``coulomb`` where it is not given) and slides under
        ``coulomb``, by ``method="moreau"`` and from event to event; the load that is returned is the viscous part.
        """
        what = f"friction at '{joint.name}'"
        u = law_units(joint._single().unit)
        fc, fv, vs, eps = values(
            what, ("coulomb", coulomb, u["force"]), ("viscous", viscous, u["damping"]), ("stribeck", stribeck, u["velocity"]),
            ("smoothing", smoothing, u["velocity"]),
        )  # fmt: skip
        fs = fc if static is None else value(static, f"{what}: static", u["force"])
        for word, e in (("coulomb", fc), ("viscous", fv), ("static", fs), ("smoothing", eps)):
            if e.is_number and float(e) < 0.0:
                raise ModelError(f"{what}: {word} = {float(e):g} must not be negative")
        if eps is ZERO:
            return self._dry(joint, fc, fs, fv, what, name)

        def law(x: Expr, v: Expr, t: Expr) -> Expr:
            level = fc if static is None else fc + (fs - fc) / (1.0 + (v / vs) ** 2)
            return -level * tanh(v / eps) - fv * v

        load = self.force(joint, law, name=name or self._free_name(f"{joint.name}.friction"))
        stribeck_law = {} if static is None else {"static": fs, "stribeck": vs}
        load.kind, load.given = "friction", {"coulomb": fc, "viscous": fv, **stribeck_law, "smoothing": eps}
        return load

    def _dry(self, joint: Joint, sliding: Expr, resting: Expr, viscous: Expr, what: str, name: str | None) -> JointForce:
        """Coulomb's law without smoothing."""
        self._unlocked(what)
        if joint.name in self.dry_friction:
            raise ModelError(f"{what}: there is dry friction in this joint already")
        for word, e in (("coulomb", sliding), ("static", resting)):
            if e.deps & ~KINDS["parameter"]:
                raise ModelError(f"{what}: {word} = {e} must be a number or depend on parameters alone where smoothing = 0")
        if sliding.is_number and resting.is_number and float(resting) < float(sliding):
            raise ModelError(f"{what}: static = {float(resting):g} must not be smaller than coulomb = {float(sliding):g}")
        self.dry_friction[joint.name] = (sliding, resting)
        load = self.force(joint, lambda x, v, t: -viscous * v, name=name or self._free_name(f"{joint.name}.friction"))
        held = {} if resting is sliding else {"static": resting}
        load.kind, load.given = "friction", {"coulomb": sliding, "viscous": viscous, **held, "smoothing": ZERO}
        return load

    def lugre(
        self, joint: Joint, coulomb: Any, static: Any, stribeck: Any, stiffness: Any, damping: Any = 0.0, viscous: Any = 0.0,
        name: str | None = None,
    ) -> JointForce:  # fmt: skip
        """LuGre friction (Canudas de Wit 1995): bristle deflection z as a user state, F = σ₀z + σ₁ż + fᵥv."""
        label = name or self._free_name(f"{joint.name}.lugre")
        what = f"friction '{label}'"
        u = law_units(joint._single().unit)
        fc, fs, vs, s0, s1, fv = values(
            what, ("coulomb", coulomb, u["force"]), ("static", static, u["force"]), ("stribeck", stribeck, u["velocity"]),
            ("stiffness", stiffness, u["stiffness"]), ("damping", damping, u["damping"]), ("viscous", viscous, u["damping"]),
        )  # fmt: skip
        z = self.state(f"{label}.bristle", 0.0, unit=joint._single().unit)
        v = joint.velocity
        g = (fc + (fs - fc) * exp(-((v / vs) ** 2))) / s0
        rate = v - absolute(v) / g * z
        self.rate(z, rate)
        load = self.force(joint, -(s0 * z + s1 * rate + fv * v), name=label)
        load.kind = "lugre"
        load.given = {"coulomb": fc, "static": fs, "stribeck": vs, "stiffness": s0, "damping": s1, "viscous": fv}
        return load

    def stop(
        self, joint: Joint, lower: Any = None, upper: Any = None, stiffness: Any = 1e5, damping: Any = 0.0, name: str | None = None
    ) -> JointForce:
        """Elastic end stops: a spring beyond each limit, with damping that never pulls."""
        what = f"stop at '{joint.name}'"
        low, high = lower if lower is not None else joint.limits[0], upper if upper is not None else joint.limits[1]
        if low is None and high is None:
            raise ModelError(f"{what}: give lower=, upper= or declare limits=(…) on the joint")
        c = joint._single()
        u = law_units(c.unit)
        k, d = values(what, ("stiffness", stiffness, u["stiffness"]), ("damping", damping, f"{u['damping']}/{c.unit}"))
        ends = {key: value(end, f"{what}: {key}", c.unit) for key, end in (("lower", low), ("upper", high)) if end is not None}

        def law(x: Expr, v: Expr, t: Expr) -> Expr:
            total = ZERO
            if "lower" in ends:
                total = total + pushing(ends["lower"] - x, -v, k, hysteresis=d)
            if "upper" in ends:
                total = total - pushing(x - ends["upper"], v, k, hysteresis=d)
            return total

        load = self.force(joint, law, name=name or self._free_name(f"{joint.name}.stop"))
        load.kind, load.given = "stop", {**ends, "stiffness": k, "damping": d}
        return load

    def stops(
        self, stiffness: Any = None, damping: Any = 0.0, joints: Sequence[Joint] | None = None, law: Rigid | None = None
    ) -> list[JointForce]:
        """Lets the ``limits`` of joints act: an elastic :meth:`stop` at every joint that has limits and no stop yet.

        ``stiffness`` is one value for all (as a number; by default that of :meth:`stop`), ``joints`` restricts it to some.  With
        ``law=jd.contact.rigid(restitution=e)`` joints do not pass their limits at all, in runs by ``method="moreau"``.
        """
        acting = {joint.name for load in self.loads.values() if load.kind == "stop" for joint in load.joints} | set(self.rigid_stops)
        chosen = self.joints.values() if joints is None else [self._joint(j, "stops") for j in joints]
        free = [j for j in chosen if j.limits != (None, None) and j.name not in acting]
        free = [j for j in free if len(j.coordinates) == 1 and j.coordinates[0].motion is None]
        if law is not None:
            from .contact.laws import Rigid

            if not isinstance(law, Rigid) or stiffness is not None:
                raise ModelError(
                    f"stops: law = {law} must be jd.contact.rigid(restitution=…), without stiffness=; elastic stops have no law="
                )
            self._unlocked("stops")
            self.rigid_stops |= {j.name: law for j in free}
            return []
        given = {} if stiffness is None else {"stiffness": stiffness}
        return [self.stop(j, damping=damping, **given) for j in free]

    # -- links between points -------------------------------------------------------------------------------------

    def link(
        self, name: str, *points: Body | Frame, law: Law | Any, kind: str = "link", along: Any = None, axes: Body | Frame | None = None
    ) -> LinkForce:
        """A tension between two points, or along a line over further points (pulleys, via points).

        ``law(z, rate, t)`` gives the tension (N, positive when it pulls) from the length z (m) and its rate. Two points that move against
        each other along one axis of a frame alone, say ``along="z", axes=frame``, have as z the signed displacement of the second one:
        it may pass through zero, where a length has no direction.
        """
        self._load_name(name, name)
        if len(points) < 2:
            raise ModelError(f"link '{name}' needs at least two points, got {len(points)}")
        frames = tuple(self._frame(p, f"link '{name}'") for p in points)
        z, rate = LinkForce.symbols(name)
        given = traced(law, f"link '{name}'", z, rate, self.time) if callable(law) else law
        load = LinkForce(name, frames, z, rate, value(given, f"link '{name}'", "N", law=True), kind=kind)
        if along is not None:
            self._along(load, along, axes)
        self.loads[name] = load
        return load

    def _along(self, load: LinkForce, axis: Any, axes: Body | Frame | None) -> None:
        """Gives a link the direction in which its length is counted."""
        what = f"link '{load.name}'"
        if len(load.points) != 2 or axes is None:
            raise ModelError(f"{what}: along={axis!r} is for two points and needs axes=, the frame that has this axis")
        load.along, load.axes = unit_axis(axis, what), self._frame(axes, what)

    def spring(
        self, name: str, a: Body | Frame, b: Body | Frame, stiffness: Any, length: Any, damping: Any = 0.0, preload: Any = 0.0
    ) -> LinkForce:
        """A linear spring and damper between two points: tension k(z − z₀) + d ż + preload."""
        what = f"spring '{name}'"
        given = ("stiffness", stiffness, "N/m"), ("length", length, "m"), ("damping", damping, "N s/m"), ("preload", preload, "N")
        k, z0, d, f0 = values(what, *given)
        load = self.link(name, a, b, law=lambda z, rate, t: k * (z - z0) + d * rate + f0, kind="spring")
        load.potential = mul(HALF, k * (load.length - z0) ** 2) + f0 * (load.length - z0)
        load.given = {"stiffness": k, "length": z0, "damping": d, "preload": f0}
        return load

    def damper(self, name: str, a: Body | Frame, b: Body | Frame, damping: Any) -> LinkForce:
        """A viscous damper between two points."""
        d = value(damping, f"damper '{name}': damping", "N s/m")
        load = self.link(name, a, b, law=lambda z, rate, t: d * rate, kind="damper")
        load.given = {"damping": d}
        return load

    @overload
    def rope(self, name: str, *points: Body | Frame, length: Any, stiffness: Any, damping: Any = 0.0) -> LinkForce: ...
    @overload
    def rope(self, name: str, *points: Body | Frame, length: Any, law: Rigid) -> Rope: ...
    def rope(
        self, name: str, *points: Body | Frame, length: Any, stiffness: Any = None, damping: Any = 0.0, law: Rigid | None = None
    ) -> LinkForce | Rope:
        """A rope that pulls and never pushes: elastic over any number of points with ``stiffness`` (N/m) and ``damping``, or, with
        ``law=jd.contact.rigid(restitution=e)``, of constant length between two points, where an impact makes it taut."""
        if (law is None) == (stiffness is None):
            raise ModelError(
                f"rope '{name}': give stiffness= (N/m) of an elastic rope, or law=jd.contact.rigid(restitution=…) of one that does not give way"
            )
        if law is not None:
            from .contact.contacts import declare_rope

            self._load_name(name, name)
            self._new_name(name, "rope", self.ropes)
            frames = tuple(self._frame(p, f"rope '{name}'") for p in points)
            self.ropes[name] = declare_rope(self, name, frames, length, law)  # type: ignore[arg-type]
            return self.ropes[name]
        given = ("stiffness", stiffness, "N/m"), ("length", length, "m"), ("damping", damping, "N s/m")
        k, z0, d = values(f"rope '{name}'", *given)
        load = self.link(name, *points, law=lambda z, rate, t: pushing(z - z0, rate, k, damping=d), kind="rope")
        load.given = {"stiffness": k, "length": z0, "damping": d}
        return load

    # -- wrenches at frames ---------------------------------------------------------------------------------------

    def load(
        self, name: str, frame: Body | Frame, force: Any = (0, 0, 0), torque: Any = (0, 0, 0), axes: Body | Frame | None = None,
        reaction: Body | Frame | None = None,
    ) -> FrameLoad:  # fmt: skip
        """A force (N) at a frame's origin and a torque (N m); each three values, or a function of time giving them.

        Components are along ``axes`` (the world's by default).  ``reaction`` names the frame that feels the opposite.
        """
        self._load_name(name, name)
        what = f"load '{name}'"
        f = traced(force, f"{what}: force", self.time) if callable(force) else force
        n = traced(torque, f"{what}: torque", self.time) if callable(torque) else torque
        item = FrameLoad(
            name, self._frame(frame, what), vector(f, f"{what}: force", "N", law=True), vector(n, f"{what}: torque", "N m", law=True),
            None if axes is None else self._frame(axes, what), None if reaction is None else self._frame(reaction, what),
        )  # fmt: skip
        for end in (item.frame, item.reaction):
            if end is not None and not item.torque.is_zero:
                end.require_turns(what)
        self.loads[name] = item
        return item

    def bushing(
        self, name: str, a: Body | Frame, b: Body | Frame, stiffness: Sequence[Any], damping: Sequence[Any] = (0,) * 6
    ) -> FrameLoad:
        """Six-component elastic mount between two frames: forces along and torques about the axes of ``a``.

        Rotations are measured by the small-angle vector of the relative rotation (exact to first order).
        """
        what = f"bushing '{name}'"
        stiffness, damping = list(stiffness), list(damping)
        if len(stiffness) != 6 or len(damping) != 6:
            raise ModelError(f"{what}: stiffness and damping have six entries (x, y, z, about x, y, z)")
        units = ["N/m"] * 3 + ["N m/rad"] * 3, ["N s/m"] * 3 + ["N m s/rad"] * 3
        rows = (("stiffness", stiffness), ("damping", damping))
        k, d = ([value(e, f"{what}: {n}", u) for e, u in zip(row, us, strict=False)] for (n, row), us in zip(rows, units, strict=True))
        self._load_name(name, name)
        fa, fb = self._frame(a, what), self._frame(b, what)
        for end in (fa, fb):
            end.require_turns(what)
        s = self.sensor(f"{name}.sensor", fb, fa)
        p, w, v, R = s.position, s.angular_velocity, s.velocity, s.rotation
        angles = Vector(mul(HALF, R[2, 1] - R[1, 2]), mul(HALF, R[0, 2] - R[2, 0]), mul(HALF, R[1, 0] - R[0, 1]))
        force = Vector(*(neg(k[i] * p[i] + d[i] * v[i]) for i in range(3)))
        torque = Vector(*(neg(k[3 + i] * angles[i] + d[3 + i] * w[i]) for i in range(3)))
        item = FrameLoad(name, fb, force, torque, fa, fa)
        item.potential = sum((mul(HALF, k[i] * p[i] ** 2) for i in range(3)), ZERO)
        item.kind, item.given = "bushing", {"stiffness": k, "damping": d}
        self.loads[name] = item
        return item

    def ground_contact(
        self, name: str, frame: Body | Frame, stiffness: Any, damping: Any = 0.0, friction: Any = 0.0, radius: Any = 0.0,
        height: Any = 0.0, smoothing: Any = 1e-3,
    ) -> FrameLoad:  # fmt: skip
        """A point or sphere against the plane z = height (a number or a function of x and y), by penalty with friction.

        The normal force k δ (1 + d δ̇) never pulls; friction is Coulomb's, regularised over the speed ``smoothing``.
        """
        what = f"contact '{name}'"
        k, d, mu, r, eps = values(
            what, ("stiffness", stiffness, "N/m"), ("damping", damping, "s/m"), ("friction", friction, "1"), ("radius", radius, "m"),
            ("smoothing", smoothing, "m/s"),
        )  # fmt: skip
        s = self.sensor(f"{name}.sensor", frame)
        level = value(traced(height, f"{what}: height", s.x, s.y) if callable(height) else height, f"{what}: height", "m")
        v = s.velocity
        w = s.angular_velocity
        slip = v + w.cross(Vector(ZERO, ZERO, neg(r)))
        normal = pushing(level + r - s.z, -v.z, k, hysteresis=k * d)
        x, y = smooth_sign((slip.x, slip.y), eps)
        tangent = Vector(neg(mu * normal * x), neg(mu * normal * y), ZERO)
        total = tangent + Vector(ZERO, ZERO, normal)
        item = self.load(name, frame, force=total, torque=Vector(ZERO, ZERO, neg(r)).cross(tangent))
        item.kind = "contact"
        item.given = {"stiffness": k, "damping": d, "friction": mu, "radius": r, "height": level, "smoothing": eps}
        return item

    # -- channels and states --------------------------------------------------------------------------------------

    def input(self, name: str, value: Any = 0.0, unit: str = "") -> Expr:
        """A named input channel; its value is a constant, a function of time, a table or a controller's at simulation."""
        self._unlocked(f"input '{name}'")
        self._new_name(name, "input", self.inputs)
        self.inputs[name] = Input(name, declared(symbol(name, "input"), unit), number(value, f"input '{name}'", unit or None), unit)
        return self.inputs[name].symbol

    def callback(self, name: str, function: Callable[..., Any], arguments: Sequence[Any], outputs: int = 1) -> Any:
        """A law that cannot be written as an expression: ``function(*values of arguments)`` gives ``outputs`` numbers.

        The symbols returned may stand in any law.  Python is then called at every evaluation, which is slow.  Answers and analyses about a state
        call it there, and take its derivatives by differences; implicit methods take the values as constants in their Jacobians.
        """
        what = f"callback '{name}'"
        if not callable(function):
            raise ModelError(f"{what}: {function!r} is not a function")
        if isinstance(outputs, bool) or not isinstance(outputs, int) or outputs < 1:
            raise ModelError(f"{what}: outputs = {outputs!r} is no number of outputs; give 1, 2, …")
        given = tuple(value(a, what) for a in arguments)
        names = (name,) if outputs == 1 else tuple(f"{name}.{i + 1}" for i in range(outputs))
        symbols = [self.input(n) for n in names]
        self.callbacks[name] = Callback(name, function, given, names)
        return symbols[0] if outputs == 1 else symbols

    def state(self, name: str, initial: Any = 0.0, unit: str = "") -> Expr:
        """A state of your own differential equation; give its rate with :meth:`rate`."""
        self._unlocked(f"state '{name}'")
        self._new_name(name, "state", self.states)
        self.states[name] = UserState(
            name, declared(symbol(name, "state"), unit), number(initial, f"state '{name}'", unit or None), None, unit
        )
        return self.states[name].symbol

    def rate(self, state: Expr, expression: Any) -> None:
        """The differential equation of a user state, ż = expression."""
        for item in self.states.values():
            if item.symbol is state:
                self._unlocked(f"rate of '{item.name}'")
                item.rate = value(expression, f"rate of state '{item.name}'", f"({item.unit})/s" if item.unit else None, law=True)
                return
        raise ModelError(f"{state} is not a state of the model '{self.name}'; declare it with m.state(name)")

    def output(self, name: str, expression: Any, unit: str = "") -> Output:
        """A named expression computed along every solution."""
        self._unlocked(f"output '{name}'")
        self._new_name(name, "output", self.outputs)
        self.outputs[name] = Output(name, value(expression, f"output '{name}'", unit or None, law=True), unit)
        return self.outputs[name]

    def sensor(self, name: str, frame: Body | Frame, relative_to: Body | Frame | None = None) -> Sensor:
        """Motion of a frame, for use in laws, constraints and outputs."""
        self._unlocked(f"sensor '{name}'")
        self._new_name(name, "sensor", self.sensors)
        reference = self.ground if relative_to is None else relative_to
        self.sensors[name] = Sensor(self, name, self._frame(frame, f"sensor '{name}'"), self._frame(reference, f"sensor '{name}'"))  # type: ignore[arg-type]
        return self.sensors[name]

    def _load_name(self, name: str | None, default: str) -> str:
        label = name or self._free_name(default)
        self._unlocked(f"load '{label}'")
        self._new_name(label, "load", self.loads)
        return label

    def _free_name(self, base: str) -> str:
        if base not in self.loads:
            return base
        n = 2
        while f"{base}{n}" in self.loads:
            n += 1
        return f"{base}{n}"


__all__ = ["Callback", "FrameLoad", "Input", "JointForce", "LinkForce", "Load", "LoadMethods", "Output", "UserState"]
