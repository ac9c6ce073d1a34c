"""Problems drawn at random for the default method: pendulums, loops, contacts by penalty, hard springs, dampers, controllers, drives, events.

Each kind is a function of a generator of random numbers; what is drawn is the same for the same seed, and told in the title.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jourdain as jd
from jourdain import library

#: Title, system, start, duration (s), and whether a reference is better found implicitly.
Case = tuple[str, Any, Any, float, bool]


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two of the same sign, with equal chances for equal ratios, to two digits."""
    return float(f"{float(np.exp(rng.uniform(np.log(low), np.log(high)))):.2g}")


def _chain(name: str, links: int) -> tuple[jd.Model, list[Any]]:
    m = jd.Model(name)
    last, joints = m.ground, []
    for k in range(links):
        body = m.body(f"link{k}", mass=1.0, com=(0.25, 0, 0), inertia=(0.0, 0.021, 0.021))
        at = last if k == 0 else last.at(0.5, 0, 0)
        joints.append(m.revolute(f"joint{k}", at, body, axis="y"))
        last = body
    return m, joints


def swinging(rng: np.random.Generator) -> Case:
    """A chain of pendulums with little friction."""
    links, damping = int(rng.integers(2, 6)), _between(rng, 1e-3, 1e-1)
    m, joints = _chain("chain", links)
    for joint in joints:
        m.joint_spring(joint, stiffness=0.0, damping=damping)
    s = m.compile()
    return f"chain of {links} pendulums, friction {damping:g}", s, s.state({"joint0.angle": 0.5}), 5.0, False


def springy(rng: np.random.Generator) -> Case:
    """A chain of pendulums whose joints are hard springs with dampers."""
    links, k, d = int(rng.integers(2, 6)), _between(rng, 1e3, 1e6), _between(rng, 1e1, 1e3)
    m, joints = _chain("springy chain", links)
    for joint in joints[1:]:
        m.joint_spring(joint, stiffness=k, damping=d)
    s = m.compile()
    return f"chain of {links}, joints of {k:g} N m and {d:g} N m s", s, s.state({"joint0.angle": 0.5}), 3.0, True


def hanging(rng: np.random.Generator) -> Case:
    """A mass that swings on a hard spring, with or without a damper."""
    k, damped = _between(rng, 1e4, 1e7), bool(rng.integers(2))
    m = library.spring_pendulum(stiffness=k)
    if damped:
        body = m.bodies["bob"]
        m.damper("damper", m.ground, body, damping=1e-3 * k)
    s = m.compile()
    return f"spring pendulum of {k:g} N/m, {'damped' if damped else 'undamped'}", s, s.state({"mass.x": 1.0}), 5.0, True


def falling(rng: np.random.Generator) -> Case:
    """A ball that falls onto ground that gives way, bounces and rests."""
    k = _between(rng, 1e4, 1e7)
    m = jd.Model("ball")
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.free("free", m.ground, ball)
    d = 0.1 * float(np.sqrt(k))
    m.contact("floor", ball, m.ground, law=jd.contact.kelvin_voigt(stiffness=k, damping=d))
    s = m.compile()
    return f"ball on ground of {k:g} N/m", s, s.state({"free.z": 0.3, "free.x_rate": 0.2}), 2.0, True


def governed(rng: np.random.Generator) -> Case:
    """A slider-crank whose speed is held by a controller."""
    gain = _between(rng, 1e-1, 1e3)
    m = library.slider_crank()
    m.force(m.joints["crank"], lambda q, v, t: gain * (3.0 - v))
    s = m.compile()
    return f"slider-crank, speed held by a gain of {gain:g}", s, s.assemble({"crank.angle": 0.3}), 3.0, True


def arm(rng: np.random.Generator) -> Case:
    """A robot's arm that follows a motion by proportional and differential gains."""
    links, kp = int(rng.integers(2, 5)), _between(rng, 1e2, 1e5)
    kd = _between(rng, 0.05, 1.0) * float(np.sqrt(kp))
    m, joints = _chain("arm", links)
    for k, joint in enumerate(joints):
        m.force(joint, lambda q, v, t, k=k: kp * (0.5 * jd.sin(t + k) - q) - kd * v)
    s = m.compile()
    return f"arm of {links}, gains {kp:g} and {kd:.2g}", s, s.state({}), 5.0, True


def drive(rng: np.random.Generator) -> Case:
    """A light motor that drives a load through a hard shaft."""
    J, k = _between(rng, 1e-5, 1e-2), _between(rng, 1e2, 1e5)
    d = _between(rng, 1e-3, 1e-1) * float(np.sqrt(k * J))
    m = jd.Model("drive", gravity=(0, 0, 0))
    motor, load = m.body("motor", mass=1.0, inertia=(J, J, J)), m.body("load", mass=1.0, inertia=(1.0, 1.0, 1.0))
    a = m.revolute("a", m.ground, motor, axis="z")
    b = m.revolute("b", motor, load, axis="z")
    m.joint_spring(b, stiffness=k, damping=d)
    m.force(a, lambda q, v, t: 5.0 * jd.sin(3.0 * t) - 0.1 * v)
    s = m.compile()
    return f"drive, motor {J:g} kg m², shaft {k:g} N m, {d:.2g} N m s", s, s.state({}), 3.0, True


def sticking(rng: np.random.Generator) -> Case:
    """A mass on a spring and a moving belt, whose friction changes sign within a small speed."""
    small = _between(rng, 1e-5, 1e-2)
    m = jd.Model("belt", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(rail, stiffness=100.0, damping=0.1)
    m.force(rail, lambda x, v, t: 3.0 * jd.tanh((0.2 - v) / small) * (1.0 - 0.3 * jd.tanh((v - 0.2) ** 2)))
    s = m.compile()
    return f"stick and slip within {small:g} m/s", s, s.state({}), 5.0, True


def stops(rng: np.random.Generator) -> Case:
    """A double pendulum whose second joint meets hard stops with damping."""
    k = _between(rng, 1e3, 1e6)
    m, joints = _chain("stops", 2)
    d = 0.02 * k**0.5
    m.force(
        joints[1],
        lambda q, v, t: -k * (jd.maximum(q - 0.5, 0.0) + jd.minimum(q + 0.5, 0.0)) - d * v * (jd.tanh(50.0 * (q * q - 0.25)) + 1.0),
    )
    s = m.compile()
    return f"double pendulum with stops of {k:g} N m", s, s.state({"joint0.angle": -1.5}), 5.0, False


def honey(rng: np.random.Generator) -> Case:
    """A pendulum in honey that is gone after a while, and comes back."""
    rate = _between(rng, 1e2, 1e6)
    m, joints = _chain("honey", 1)
    m.force(joints[0], lambda q, v, t: -rate * v * jd.exp(-20.0 * (1.0 + jd.cos(0.5 * t))))
    s = m.compile()
    return f"pendulum in honey of {rate:g} N m s that comes and goes", s, s.state({"joint0.angle": 0.3}), 15.0, True


def row(rng: np.random.Generator) -> Case:
    """Masses in a row with springs and dampers between them, shaken at one end."""
    masses, k = int(rng.choice([5, 10, 20])), _between(rng, 1e4, 1e7)
    d = _between(rng, 1e-3, 1e-2) * k
    m = jd.Model("row", gravity=(0, 0, 0))
    last = m.ground
    for i in range(masses):
        body = m.body(f"mass{i}", mass=1.0)
        rail = m.prismatic(f"rail{i}", last, body, axis="x")
        m.joint_spring(rail, stiffness=k, damping=d)
        if i == 0:
            m.force(rail, lambda x, v, t: 100.0 * jd.sin(5.0 * t))
        last = body
    s = m.compile()
    return f"{masses} masses in a row, {k:g} N/m, {d:.2g} N s/m", s, s.state({}), 2.0, True


def bouncing(rng: np.random.Generator) -> Case:
    """A hard oscillator that hits a wall, by events."""
    k = _between(rng, 1e2, 1e5)
    m = jd.Model("wall", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(rail, stiffness=k, damping=0.5)
    m.force(rail, lambda x, v, t: 0.05 * k * jd.sin(2.0 * t))
    m.event("wall", rail.position + 0.1, direction=-1, jump={rail.velocity: -0.5 * rail.velocity})
    s = m.compile()
    return f"oscillator of {k:g} N/m against a wall", s, s.state({"rail.displacement": 0.2}), 3.0, False


KINDS: tuple[Callable[[np.random.Generator], Case], ...] = (
    swinging, springy, hanging, falling, governed, arm, drive, sticking, stops, honey, row, bouncing,
)  # fmt: skip


def drawn(seed: int) -> Case:
    """The problem of a seed; kinds follow each other."""
    return KINDS[seed % len(KINDS)](np.random.default_rng(seed))
