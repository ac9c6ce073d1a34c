"""A push belt element by element: every element, every link of the ring and every sheave a body, every force one of contact or of a hinge.

This is the referee of the elastic model: another formulation (Lagrangian, in bodies, by the contact engine alone) of the same parts.  One half of the belt is modelled,
cut at its middle plane, with one sheave a pulley; forces along the belt and torques are doubled when they are told.  Elements move and turn in the plane of the belt: round faces
meet those of their neighbours in the pitch line, a flank the sheave's cone, two saddles the ring.  The ring pack is one closed chain of links with elastic hinges on the neutral
line of the innermost ring; more links than elements, and no multiple of them: as many would catch on the saddles like teeth, with a force of T φ²/4 a link against the
friction μ T φ of an angle φ.  A run starts from the steady state of the elastic model: elements as far apart and as deep in the groove as their forces there make them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError
from ...model.contact.penalty_laws import kelvin_voigt, regularised
from ...model.joints import Joint
from ...model.model import Model
from ...model.shapes import capsule, cone, cylinder, sphere
from ...model.units import quantity
from ...results.solution import Solution
from ...symbolic.functions import maximum, sqrt, where
from ...systems.system import System
from .geometry import Array, Path, largest_torque
from .state import SteadyState
from .variator import Variator

#: Radius of saddles and of the sides of links (m), and the layer (m) beside the flanks in which they lie.
ROUND, LAYER = 1e-3, -0.02
#: Play of the ring between saddle and ears (m).
SLOT = 0.2e-3
#: Saddles of an element lie so far before and behind its middle, as part of its thickness.
APART = 0.25
#: Links of the ring for an element.
LINKS = 1.382
#: Height of an element as a plate that turns (m).
HEIGHT = 12e-3
#: Damping of contacts between elements and of hinges, over the critical one.
LOSS = 0.05
#: Damping against the running path while a belt settles, over the critical one of a body between its neighbours, and how many steps it takes to let go.
SETTLING, SETTLED = 0.3, 400
#: Steps of velocity Verlet over those of Runge–Kutta: 0.84/ω. It is stable up to 2/ω, but at twice this step the fastest swings of links lose and win more energy than all friction takes.
VERLET = 0.35
#: Part of the spans, from both ends, that does not count when their forces are told.
ENDS = 0.15


@dataclass(frozen=True, eq=False)
class ElementBelt:
    """A variator's belt as bodies in contact.

    Args:
        variator: of which elements, rings, friction, inertias and the thrust are read; sheaves and shafts are rigid here.
        torque: on the driven shaft (N m). speed: of the driving shaft (rad/s).
        start: the steady state of the elastic model that a run begins with; found for the torque and the speed unless it is given.
    """

    variator: Variator
    torque: float = 0.0
    speed: float = 2000 * math.pi / 30
    start: SteadyState | None = None
    _start: dict[str, float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.variator.elements.count < 12:
            raise InputError(f"element belt: {self.variator.elements.count} elements are too few to lie on two pulleys; take 12 or more")

    @property
    def path(self) -> Path:
        return self.variator.path

    @property
    def count(self) -> int:
        return self.variator.elements.count

    @property
    def links(self) -> int:
        """Links of the ring."""
        return round(LINKS * self.count)

    @cached_property
    def steady(self) -> SteadyState:
        """The steady state of the elastic model, with sheaves and shafts that are rigid."""
        if self.start is not None:
            return self.start
        rigid = tuple(replace(p, sheaves=None, shaft=None, collar=1e8, play=0.0) for p in self.variator.pulleys)
        return replace(self.variator, pulleys=rigid).steady(torque=self.torque, speed=self.speed)  # type: ignore[arg-type]

    @cached_property
    def chord(self) -> float:
        """Distance of elements that close the path as a polygon without play: the diameter of round faces."""
        b = self.variator.elements.thickness
        line = _Line(self.path, np.array([0.0, 0.5 * self.path.length]), np.zeros(2))
        return b * (1 + line.closed(self.count, lambda s: b)[1])

    @cached_property
    def link(self) -> float:
        """Length of a link of the ring without tension: a polygon around the saddles instead of the ring's circle."""
        path, M, rings = self.path, self.links, self.variator.rings
        corners = sum(
            (r + rings.offset) * a * (path.length / M / r) ** 2 / 12 for r, a in zip((path.r_dr, path.r_dn), path.wraps, strict=True)
        )
        return (rings.length + corners) / M

    @property
    def masses(self) -> tuple[float, float]:
        """Of half an element, and of half a link."""
        v = self.variator
        return 0.5 * v.elements.mass_per_length * v.elements.thickness, 0.5 * v.rings.count * v.rings.mass_per_length * self.link

    @property
    def stiffness(self) -> dict[str, float]:
        """Of half an element along the belt, of a flank along its normal, and of a hinge (N/m)."""
        v = self.variator
        return {
            "push": 0.5 * v.elements.EA / v.elements.thickness,
            "flank": 2 * v.elements.axial_stiffness / math.cos(v.wedge) ** 2,
            "hinge": 0.5 * v.rings.count * v.rings.EA / self.link,
        }

    @property
    def step(self) -> float:
        """A step (s) that fourth-order Runge–Kutta takes without growing: 2.4 over the fastest rate of hinges, elements and friction."""
        v, K, (m, ring) = self.variator, self.stiffness, self.masses
        on_arc = v.thrust / (min(self.path.wraps) * min(self.path.r_dr, self.path.r_dn) / v.elements.thickness)
        # a link swings on its hinges and on a saddle at its end, an element between its neighbours and against flanks that rub
        link = math.sqrt(12 * K["hinge"] / ring + K["push"] * (4 / ring + 1 / m))
        lever = 0.5 * v.rings.thickness / self.link  # of friction that turns a link
        pressed = v.thrust * math.tan(v.wedge) / math.pi * v.elements.thickness / min(self.path.r_dr, self.path.r_dn)
        turned = 1.5 * v.friction.ring_mu_c * pressed / v.friction.ring_v_eps * (1 + 12 * lever**2) / ring
        rates = link, 2 * math.sqrt(K["push"] / m), 1.5 * v.friction.mu * on_arc / v.friction.v_eps / m, turned
        return 2.4 / max(rates)

    @cached_property
    def model(self) -> Model:
        """The bodies, joints, hinges and contacts."""
        m = Model("element belt", gravity=(0, 0, 0))
        self._elements(m)
        self._ring(m)
        self._pulleys(m)
        self._contacts(m)
        return m

    @cached_property
    def system(self) -> System:
        return self.model.compile()

    @cached_property
    def _line(self) -> _Line:
        """The belt's line as the elastic model has it."""
        return _Line(self.path, self.steady.fields.s, self.steady["w"])

    def _moves(self, m: Model, joint: Joint, s: float, place: Array, tangent: Array, speed: float, mass: float, stiffness: float) -> None:
        """Start of a body, and the dampers that hold it to the running path at first: a path laid out by corners is nowhere quite in equilibrium."""
        v, turn = tangent * speed, float(self.path.curvature(s)) * speed
        start = {"x": (place[0], v[0]), "y": (place[1], v[1]), "angle": (math.atan2(tangent[1], tangent[0]), turn)}
        for c, (value, rate) in start.items():
            self._start[f"{joint.name}.{c}"], self._start[f"{joint.name}.{c}_rate"] = float(value), float(rate)
        x, y = (joint.coordinate(c).q[0] for c in "xy")
        along_x, along_y = _tangent(self.path, s, 2 * SETTLED * self.step * self.speed * self.path.r_dr, x, y)
        hold = SETTLING * 2 * math.sqrt(stiffness * mass) * maximum(1.0 - m.time / (SETTLED * self.step), 0.0)
        for c, aim in (("x", speed * along_x), ("y", speed * along_y)):
            m.force(joint, -hold * (joint.coordinate(c).v[0] - aim), coordinate=c, name=f"{joint.name}.settles_{c}")

    def _elements(self, m: Model) -> None:
        v, rings, radius = self.variator, self.variator.rings, 0.5 * (self.path.r_dr + self.path.r_dn)
        s, strain = self.steady.fields.s, self.steady.belt.layers.strain[0]
        speed = self.steady["v"]

        places, _ = self._line.closed(self.count, lambda x: self.chord * (1 + float(_around(x, s, strain, self.path))))
        mass, K = self.masses[0], self.stiffness["push"]
        b, up = v.elements.thickness, rings.saddle - ROUND - (APART * v.elements.thickness) ** 2 / (2 * radius)
        for k, at in enumerate(places):
            e = m.body(
                f"element{k}",
                mass=mass,
                inertia=(mass * HEIGHT**2 / 12, mass * b**2 / 12, mass * (b**2 + HEIGHT**2) / 12),
                shape=cylinder(self.chord / 2, v.elements.width / 2).at(0, 0, v.elements.width / 4),
            )
            joint = m.planar(f"e{k}", m.ground, e)
            e.add_collision(sphere(self.chord / 2), f"face{k}")
            e.add_collision(sphere(1e-3).at(0, 0, v.elements.width / 2 - 1e-3 / math.cos(v.wedge)), f"flank{k}")
            for x in (-APART * b, APART * b):
                e.add_collision(sphere(ROUND).at(x, -up, LAYER), f"saddle{k}")
            self._moves(m, joint, at, self._line.points(at), self._line.tangent(at), float(_around(at, s, speed, self.path)), mass, K)

    def _ring(self, m: Model) -> None:
        path, length, rings, M = self.path, self.link, self.variator.rings, self.links
        s, tension, speed = self.steady.fields.s, self.steady["T"], self.steady["v_k"][0]
        stretch = 1 / (rings.count * rings.EA)
        line = replace(self._line, above=rings.offset, corner=length)

        corners, _ = line.closed(M, lambda x: length * (1 + stretch * float(_around(x, s, tension, path))))
        ends = np.array([line.points(x) for x in corners])
        begins = np.roll(ends, 1, axis=0)
        mass, k_hinge = self.masses[1], self.stiffness["hinge"]
        d_hinge = 2 * LOSS * math.sqrt(k_hinge * mass)
        half = ROUND - 0.5 * rings.thickness
        links = []
        for k in range(M):
            link = m.body(
                f"link{k}",
                mass=mass,
                inertia=(0.0, mass * length**2 / 12, mass * length**2 / 12),
                shape=capsule(1.2e-3, length, axis="x", colour="#33383d"),
            )
            joint = m.planar(f"l{k}", m.ground, link)
            # the element's ears hold the ring from outside: here the link has a second side, below the saddles
            for side in (-half, half + rings.thickness + 2 * ROUND + SLOT):
                link.add_collision(capsule(ROUND, length, axis="x").at(0, side, LAYER), f"ring{k}")
            links.append((link.frame("begin", position=(-length / 2, 0, 0)), link.frame("end", position=(length / 2, 0, 0))))
            t = (ends[k] - begins[k]) / np.hypot(*(ends[k] - begins[k]))
            middle = float(np.mod(corners[k] - 0.5 * length, path.length))
            self._moves(m, joint, middle, 0.5 * (ends[k] + begins[k]), t, float(_around(middle, s, speed, path)), mass, k_hinge)
        for k in range(M):
            stiff, lossy = (k_hinge, k_hinge, 0, 0, 0, 0), (d_hinge, d_hinge, 0, 0, 0, 0)
            m.bushing(f"hinge{k}", links[k][1], links[(k + 1) % M][0], stiff, lossy)

    def _pulleys(self, m: Model) -> None:
        v, path, found = self.variator, self.path, self.steady.belt
        slope, rim = math.tan(v.wedge), 0.5 * path.centres + max(path.r_dr, path.r_dn)
        for name, x, part, state in (("dr", 0.0, v.pulleys[0], found.driving), ("dn", path.centres, v.pulleys[1], found.driven)):
            axle = m.body(f"{name}_axle", mass=2.0, inertia=(0.002,) * 3)
            m.prismatic(f"{name}_groove", m.ground.frame(name, position=(x, 0, 0)), axle, axis="z")
            drawn = cone(0.2 * part.hub, part.rim, part.rim * slope, axis="z", anchor="start", colour="#c9ced4")
            sheave = m.body(name, mass=1.0, inertia=(part.inertia / 3, part.inertia / 3, part.inertia / 2), shape=drawn)
            m.revolute(f"{name}_shaft", axle, sheave, axis="z")
            sheave.add_collision(cone(0.0, rim, rim * slope, axis="z", anchor="start"), f"sheave_{name}")
            self._start[f"{name}_groove.displacement"], self._start[f"{name}_shaft.angle_rate"] = 0.5 * state.z, state.omega
        m.drive(m.joints["dr_shaft"], lambda t: self.speed * t)
        m.lock(m.joints["dr_groove"], self._start.pop("dr_groove.displacement"))
        del self._start["dr_shaft.angle_rate"]
        delay = v.pulleys[1].delay * 0.25 * v.elements.axial_stiffness * path.wraps[1] * path.r_dn / v.elements.thickness
        m.force(m.joints["dn_groove"], lambda z, rate, t: -v.thrust - delay * rate)
        m.force(m.joints["dn_shaft"], -0.5 * self.torque)

    def _contacts(self, m: Model) -> None:
        f, K, mass = self.variator.friction, self.stiffness, self.masses[0]
        faces, saddles, rings = m.shapes("face*"), m.shapes("saddle*"), m.shapes("ring*")
        flanks, sheaves = m.shapes("flank*"), m.shapes("sheave_*")
        D = 2 * LOSS * math.sqrt(K["push"] * mass)
        m.contact("push", faces, law=kelvin_voigt(K["push"], D))
        m.contact("flank", flanks, sheaves, law=kelvin_voigt(K["flank"], 0.0, friction=regularised(f.mu, f.v_eps)))
        m.contact("ring", saddles, rings, law=kelvin_voigt(K["push"], D, friction=regularised(f.ring_mu_c, f.ring_v_eps)))

    def simulate(self, t: float, step: float | None = None, outputs: int = 201, method: str = "rk4") -> ElementRun:
        """From the elastic model's steady state to a time.

        method: "rk4", or "velocity-verlet", of order two, whose steps are 0.35 times as long and take one evaluation instead of four.
        """
        own = self.step * (VERLET if method == "velocity-verlet" else 1.0)
        h = own if step is None else step
        return ElementRun(self, self.system.simulate(dict(self._start), t=t, method=method, step=h, outputs=outputs))


def _around(x: float, s: Array, values: Array, path: Path) -> Any:
    """A field at a place of the closed path."""
    return np.interp(x, s, values, period=path.length)


@dataclass(frozen=True, eq=False)
class _Line:
    """A closed line, displaced outwards from a path by w(s) and by a height; where it carries the corners of links of a length, by their height over the circle, too."""

    path: Path
    s: Array
    w: Array
    above: float = 0.0
    corner: float = 0.0

    def points(self, x: float) -> Array:
        out = float(_around(x, self.s, self.w, self.path)) + self.above
        kap = float(self.path.curvature(x))
        if kap > 0:
            out += (1 / kap + out) * (1 / math.cos(math.atan(0.5 * self.corner / (1 / kap + out))) - 1)
        return np.asarray(self.path.points([x], [out])[0])

    def tangent(self, x: float) -> Array:
        t = self.points(x + 1e-6) - self.points(x - 1e-6)
        return np.asarray(t / np.hypot(*t))

    def closed(self, number: int, distance: Any) -> tuple[Array, float]:
        """Places on the line, each a distance from the one before, and the strain of all distances with which the last is the first again."""
        strain = 0.0
        for _ in range(5):
            places, x = [], 0.0
            for _ in range(number):
                places.append(x)
                at, d = self.points(x), distance(x) * (1 + strain)
                x += d
                for _ in range(4):
                    x += d - float(np.hypot(*(self.points(x) - at)))
            strain -= (x - self.path.length) / self.path.length
        return np.array(places), strain


def _tangent(path: Path, s: float, reach: float, x: Any, y: Any) -> tuple[Any, Any]:
    """Direction of the path at (x, y), for a body that begins at s and moves on by a reach at most: of the sections that it meets."""
    borders = path.borders
    first, last = (int(np.searchsorted(borders, np.mod(a, path.length), side="right")) - 1 for a in (s, s + reach))
    here, there = _direction(path, first % 4, x, y), _direction(path, last % 4, x, y)
    if first % 4 == last % 4:
        return here
    at, t = path.points([borders[last]])[0], _straight(path, 1 if {first % 4, last % 4} & {1} else 3)
    beyond = (x - at[0]) * t[0] + (y - at[1]) * t[1] > 0.0
    return where(beyond, there[0], here[0]), where(beyond, there[1], here[1])


def _straight(path: Path, section: int) -> Array:
    begin, end = path.points([path.borders[section] + 1e-9, path.borders[section + 1] - 1e-9])
    return np.asarray((end - begin) / np.hypot(*(end - begin)))


def _direction(path: Path, section: int, x: Any, y: Any) -> tuple[Any, Any]:
    if section in (1, 3):
        t = _straight(path, section)
        return float(t[0]), float(t[1])
    dx = x - (path.centres if section == 2 else 0.0)
    r = sqrt(dx * dx + y * y)
    return -y / r, dx / r


@dataclass(frozen=True, eq=False)
class ElementRun:
    """A run of an element belt; numbers are those of the whole belt, means over the last ``part`` of the run."""

    belt: ElementBelt
    solution: Solution
    part: float = 0.3

    @cached_property
    def _late(self) -> slice:
        n = self.solution.t.size
        return slice(int((1 - self.part) * n), n)

    def _of(self, kind: str, *names: str) -> Array:
        number = self.belt.count if kind == "e" else self.belt.links
        return np.array([[self.solution[f"{kind}{k}.{name}"] for name in names] for k in range(number)])

    @cached_property
    def elements(self) -> Array:
        """Places (x, y) of elements over time: (elements, 2, instants)."""
        return self._of("e", "x", "y")

    @cached_property
    def P(self) -> Array:
        """Force between an element and the next (N), negative in compression: (elements, instants)."""
        d = np.roll(self.elements, -1, axis=0) - self.elements
        rate = self._of("e", "x_rate", "y_rate")
        d_rate = np.roll(rate, -1, axis=0) - rate
        size = np.hypot(d[:, 0], d[:, 1])
        K, mass = self.belt.stiffness["push"], self.belt.masses[0]
        depth, closing = self.belt.chord - size, -(d * d_rate).sum(axis=1) / size
        force = np.maximum(K * depth + 2 * LOSS * math.sqrt(K * mass) * closing, 0.0)
        return np.where(depth > 0, -2 * force, 0.0)

    @cached_property
    def T(self) -> Array:
        """Tension of the ring (N) between a link and the next: (links, instants)."""
        x, y, angle = (self._of("l", name)[:, 0] for name in ("x", "y", "angle"))
        half = 0.5 * self.belt.link
        gap_x = np.roll(x - half * np.cos(angle), -1, axis=0) - (x + half * np.cos(angle))
        gap_y = np.roll(y - half * np.sin(angle), -1, axis=0) - (y + half * np.sin(angle))
        return np.asarray(2 * self.belt.stiffness["hinge"] * np.hypot(gap_x, gap_y))

    def _in_span(self, places: Array, upper: bool) -> Array:
        """Where in (bodies, 2, instants) a body is in the inner part of a span: t1 is the lower, t2 the upper one."""
        a = self.belt.path.centres
        x, y = places[:, 0], places[:, 1]
        return (x > ENDS * a) & (x < (1 - ENDS) * a) & ((y > 0) == upper)

    @cached_property
    def span_forces(self) -> dict[str, float]:
        """P and T of both spans (N)."""
        late, out = self._late, {}
        middles = 0.5 * (self.elements + np.roll(self.elements, -1, axis=0))[..., late]
        links = self._of("l", "x", "y")[..., late]
        for name, upper in (("t1", False), ("t2", True)):
            here, there = self._in_span(middles, upper), self._in_span(links, upper)
            out[f"P_{name}"] = float(self.P[:, late][here].mean())
            out[f"T_{name}"] = float(self.T[:, late][there].mean())
        return out

    @property
    def speed(self) -> tuple[float, float]:
        """ω_dr, ω_dn (rad/s)."""
        return self.belt.speed, float(self.solution["dn_shaft.angle_rate"][self._late].mean())

    @property
    def thrust(self) -> tuple[float, float]:
        """Q_dr, Q_dn (N)."""
        return tuple(float(self.solution[f"flank.{name}.Fz"][self._late].mean()) for name in ("dr", "dn"))  # type: ignore[return-value]

    @property
    def torques(self) -> tuple[float, float]:
        """M_dr of the driving pulley on the belt, M_dn of the belt on the driven pulley (N m)."""
        dr, dn = (float(self.solution[f"flank.{name}.Mz"][self._late].mean()) for name in ("dr", "dn"))
        return -2 * dr, 2 * dn

    @property
    def torque_ratio(self) -> float:
        """M/M* with M* of the smaller thrust."""
        v = self.belt.variator
        return self.torques[1] / largest_torque(self.belt.path.r_dn, min(self.thrust), v.friction.mu, v.wedge)

    def __repr__(self) -> str:
        f, (a, b), (x, y), (q, p) = self.span_forces, self.torques, self.speed, self.thrust
        return (
            f"{self.belt.count} elements, speed ratio {x / y:.4f}, torques {a:.2f} and {b:.2f} N m, thrusts {q:.0f} and {p:.0f} N; "
            f"spans: P {f['P_t1']:.0f} and {f['P_t2']:.0f} N, T {f['T_t1']:.0f} and {f['T_t2']:.0f} N"
        )


def element_belt(variator: Variator, torque: float | str = 0.0, speed: float | str = "2000 rpm", **options: Any) -> ElementBelt:
    """The belt of a variator element by element, under a torque on the driven shaft; ``.simulate(t)`` runs it."""
    load = quantity(torque, expects="N m") if isinstance(torque, str) else float(torque)
    omega = quantity(speed, expects="rad/s") if isinstance(speed, str) else float(speed)
    if not (math.isfinite(load) and 0 < omega < math.inf):
        raise InputError(f"element belt: torque = {torque!r} and speed = {speed!r} must be finite, the speed positive")
    return ElementBelt(variator, torque=load, speed=omega, **options)


__all__ = ["ElementBelt", "ElementRun", "element_belt"]
