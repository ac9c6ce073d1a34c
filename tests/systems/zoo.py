"""Small models that together use every kind of joint, load, drive, coupling and constraint, with consistent random states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jourdain as jd
from jourdain.library.mechanisms import four_bar, rssr, slider_crank
from jourdain.library.nonholonomic import chaplygin_sleigh, rolling_disk
from jourdain.library.suspensions import five_link_suspension
from jourdain.systems.state import State

KINDS = ("revolute", "prismatic", "universal", "spherical", "cylindrical", "fixed", "planar", "free", "helical", "sequence")


def consistent(system: Any, q: np.ndarray, rng: np.random.Generator, t: float = 0.0) -> State:
    """A random velocity that the constraints allow, at a closed position."""
    v, z = rng.normal(size=system.nv), system.state().z
    if system.equations_of_motion.rows:
        f = system.function("constraint_velocities")
        extra = {"z": z, "u": system.input_values()}
        for _ in range(2):
            w, J = f(np.array([t]), q, v, *(extra[n] for n in list(f.inputs)[3:]))
            v = v - np.linalg.lstsq(J, w, rcond=1e-10)[0]
    return State(system, q, v, z, t)


def assembled(model: jd.Model, seed: int = 1, t: float = 0.0, **guess: Any) -> tuple[Any, State]:
    """The compiled system with a closed random state near a guess."""
    system = model.compile()
    rng = np.random.default_rng(seed)
    q = system.assemble({}, guess=guess, t=t).q if system.equations_of_motion.rows else system.configuration.random(rng)
    return system, consistent(system, q, rng, t)


def bar(m: jd.Model, name: str, rng: np.random.Generator) -> Any:
    """A body with a general inertia and centre of mass."""
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    J = Q @ np.diag(rng.uniform(0.1, 0.19, 3)) @ Q.T
    return m.body(name, mass=float(rng.uniform(0.5, 2.0)), com=rng.uniform(-0.3, 0.3, 3).tolist(), inertia=J.tolist())


def place(body: Any, rng: np.random.Generator) -> Any:
    """A random frame on a body."""
    axis = rng.normal(size=3)
    return body.at(*rng.uniform(-0.5, 0.5, 3).tolist(), rotation=((axis / np.linalg.norm(axis)).tolist(), float(rng.uniform(-2, 2))))


def random_mechanism(seed: int, bodies: int = 4, loops: int = 2) -> tuple[Any, State]:
    """A random tree of random joints closed by rods and balls, with springs and dampers, at a closed state."""
    rng = np.random.default_rng(seed)
    q0 = None
    for stage in range(2):  # first without loops, to know where the bodies are
        rng = np.random.default_rng(seed)
        m = jd.Model(f"random {seed}")
        made = [m.ground]
        for i in range(bodies):
            body = bar(m, f"b{i}", rng)
            kind = str(rng.choice(KINDS[:5] if i == bodies - 1 else KINDS))
            options: dict[str, Any] = (
                {"pitch": 0.3} if kind == "helical" else {"sequence": ["Tz", "Rx", "Ry"]} if kind == "sequence" else {}
            )
            if kind in ("revolute", "prismatic") and rng.random() < 0.5:
                options |= {"damping": 0.3, "stiffness": 2.0, "rotor_inertia": 0.05, "gear_ratio": 3.0}
            m.joint(kind, f"j{i}", place(made[int(rng.integers(len(made)))], rng), place(body, rng), **options)
            made.append(body)
        m.spring("spring", place(made[1], rng), place(made[-1], rng), stiffness=20.0, length=0.4, damping=1.0)
        ends = [(place(made[int(rng.integers(1, len(made)))], rng), place(m.ground, rng)) for _ in range(loops)]
        if stage == 1:
            assert q0 is not None
            for i, (a, b) in enumerate(ends):
                d = np.linalg.norm(point(q0[1], a) - point(q0[1], b))
                m.rod(f"rod{i}", a, b, float(d), mass=0.5 if i == 0 else None)
        system = m.compile()
        if stage == 0:
            q = system.configuration.random(rng) * 0.5
            q = system.configuration.normalise(q)
            q0 = (q, dict(zip(m.bodies, zip(*system.function("poses")(np.array([0.0]), q), strict=True), strict=True)))
    assert q0 is not None
    return system, consistent(system, q0[0], rng)


def point(poses: dict[str, Any], frame: Any) -> np.ndarray:
    """World position of a frame as numbers."""
    local = np.array([float(e) for e in frame.position])
    if frame.body.is_ground:
        return local
    p, R = poses[frame.body.name]
    return p + R @ local


def laws_and_drives() -> tuple[Any, State]:
    """A driven, a locked and a following joint, laws of joint coordinates, a bushing, a load with reaction, a user state."""
    m, rng = jd.Model("laws and drives"), np.random.default_rng(5)
    a, b, c, d, e = (bar(m, n, rng) for n in "abcde")
    first = m.revolute("first", m.ground, a, axis="z")
    second = m.revolute("second", a.at(0.5, 0, 0), b, axis=(0, 0.6, 0.8))
    third = m.prismatic("third", b.at(0.2, 0.1, 0), c, axis="x", mimic=(second, 0.4, 0.1))
    m.drive(first, lambda t: 0.3 + 0.8 * t + 0.1 * t**2)
    ball = m.universal("fourth", c.at(0, 0.3, 0), d)
    m.force(ball, lambda x, v, t: -3.0 * x - 0.2 * v, coordinate="angle1")
    m.torque(second, lambda x, v, t: 2.0 * jd.sin(x) - 0.5 * v + t)
    m.joint_spring(third, stiffness=5.0, damping=0.1)
    m.bushing("bush", m.ground.at(0.3, 0, 0), d.at(0, 0, 0.2), stiffness=(10, 20, 30, 1, 2, 3), damping=(1, 1, 1, 0.1, 0.1, 0.1))
    m.load("pair", d.at(0.1, 0, 0), force=(1, 2, 3), torque=(0.1, 0.2, 0.3), axes=a, reaction=b.at(0, 0.1, 0))
    held = m.sequence("fifth", a.at(0, 0, 0.4), e, ["Rx", "Tz", "Ry"])
    m.lock(held, 0.2, coordinate="z")
    z = m.state("z", 0.7)
    m.rate(z, -2.0 * z + second.position)
    m.load("by state", e, force=(z, 0, 0))
    s = m.compile()
    rng = np.random.default_rng(2)
    return s, consistent(s, 0.4 * s.configuration.random(rng), rng, 0.3)


def couplings() -> tuple[Any, State]:
    """A gear pair, a rack, a user equation with sensors, a pulley and a cylindrical loop."""
    m, rng = jd.Model("couplings"), np.random.default_rng(7)
    a, b, c, d = (bar(m, n, rng) for n in "abcd")
    first, second = m.revolute("first", m.ground, a, axis="x"), m.revolute("second", m.ground.at(0, 0.5, 0), b, axis="x")
    slider = m.prismatic("slider", m.ground.at(0, 0, 0.7), c, axis="y")
    m.free("free", m.ground, d, orientation="xyz")
    m.gear("gear", first, second, -2.0)
    m.rack("rack", second, slider, 0.1, 0.05)
    s = m.sensor("tip", d.at(0.1, 0.2, 0.3), a)
    m.constraint("on sphere", s.position.dot(s.position) - 1.0)
    m.pulley("rope", a.at(0, 0.3, 0.1), c.at(0, 0.1, 0), d.at(0.1, 0, 0), length=2.5)
    m.spring("spring", b.at(0, 0.2, 0.2), d.at(0, 0, 0.3), stiffness=40.0, length=0.3, damping=2.0)
    return assembled(m, 3, **{"free.x": 0.8, "free.y": 0.3, "free.z": 0.5, "first.angle": 0.4})


ZOO: dict[str, Callable[[], tuple[Any, State]]] = {
    "four-bar": lambda: assembled(four_bar(), **{"crank.angle": 1.0, "coupler.angle": -0.9, "rocker.angle": 1.6}),
    "slider-crank": lambda: assembled(slider_crank(gravity=9.81), **{"crank.angle": 0.6, "rod.angle": -0.8, "piston.displacement": 0.18}),
    "RSSR": lambda: assembled(rssr()),
    "RSSR driven": lambda: assembled(rssr(speed=3.0), t=0.2),
    "five-link": lambda: assembled(five_link_suspension()),
    "sleigh": lambda: assembled(chaplygin_sleigh(), **{"sleigh.angle": 0.4}),
    "rolling disk": lambda: assembled(rolling_disk(), **{"disk.z": 0.09, "disk.rx": 1.1, "disk.rz": 0.3}),
    "laws and drives": laws_and_drives,
    "couplings": couplings,
    "random 1": lambda: random_mechanism(1),
    "random 2": lambda: random_mechanism(2),
    "random 3": lambda: random_mechanism(3, 5, 1),
}
