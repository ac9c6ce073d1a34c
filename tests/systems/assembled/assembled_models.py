"""Small assembled systems that several tests use, with element types written here."""

import numpy as np

from jourdain.elements.element import Composite, Element
from jourdain.elements.rigid import DirectorBody, PlanarBody
from jourdain.systems.assembled.system import AssembledSystem


class Particle(Element):
    """A point mass in the plane."""

    blocks = {"p": 2}
    constants = {"mass": 1}

    def mass(self, s):
        return {("p", i, "p", i): s.mass for i in range(2)}

    def momenta(self, s):
        momentum = s.velocity.pair("p") * s.mass
        return momentum, s.pair("p").cross(momentum)


class LennardJones(Element):
    """V = strength [(σ²/r²)⁶ − (σ²/r²)³]."""

    blocks = {"a": 2, "b": 2}
    constants = {"strength": 1, "sigma2": 1}

    def potential(self, s):
        d = s.pair("a") - s.pair("b")

        def V(r2):
            x = s.sigma2 / r2
            return s.strength * (x * x * x * x * x * x - x * x * x)

        return [Composite(V, (d.dot(d),))]


class Ball(Element):
    """A spherical joint between points of two director bodies."""

    blocks = {"a": 12, "b": 12}
    constants = {"on_a": 3, "on_b": 3}

    def constraints(self, s):
        gap = s.vector("b") - s.vector("a")
        for k in range(3):
            gap = gap + s.vector("b", k + 1) * s.on_b[k] - s.vector("a", k + 1) * s.on_a[k]
        return [(c, [gap[i]]) for i, c in enumerate("xyz")]


class PlanarPin(Element):
    """A pin between points of two planar bodies."""

    blocks = {"a": 6, "b": 6}
    constants = {"on_a": 2, "on_b": 2}

    def constraints(self, s):
        gap = s.pair("b") - s.pair("a")
        for k in range(2):
            gap = gap + s.pair("b", k + 1) * s.on_b[k] - s.pair("a", k + 1) * s.on_a[k]
        return [("x", [gap.x]), ("y", [gap.y])]


def dumbbell():
    """Two unit masses bound by a Lennard-Jones potential (Uhlar, chapter 2)."""
    s = AssembledSystem("dumbbell")
    a, b = s.coordinates("a", 2, (0, 1), (5, 0)), s.coordinates("b", 2, (0, 0), (-5, 0))
    s.add(Particle(), "mass a", {"p": a}, {"mass": 1.0})
    s.add(Particle(), "mass b", {"p": b}, {"mass": 1.0})
    s.add(LennardJones(), "bond", {"a": a, "b": b}, {"strength": 4 * 16.2, "sigma2": 0.5 ** (1 / 3)})
    return s


def top(omega=(1.0, 2.0, 3.0), velocity=(0.3, -0.2, 0.1), inertia=(1.0, 2.0, 2.5), mass=2.0):
    """A free rigid body."""
    s = AssembledSystem("top")
    q = DirectorBody.coordinates_of()
    body = s.coordinates("top", 12, q, DirectorBody.rates_of(q, velocity, omega))
    s.add(DirectorBody(), "body", {"body": body}, DirectorBody.numbers(mass, inertia))
    return s


LENGTH = 0.8


def chain(n, gravity=(0.0, 0.0, -9.81), omega=(0.0, 0.0, 0.0)):
    """n rods on balls, horizontal at the start; the first one hangs on the ground."""
    s = AssembledSystem("chain")
    last = s.coordinates("ground", 12, DirectorBody.coordinates_of(), fixed=True)
    end = (0.0, 0.0, 0.0)
    for i in range(n):
        q = DirectorBody.coordinates_of((i * LENGTH, 0.0, 0.0))
        body = s.coordinates(f"rod{i}", 12, q, DirectorBody.rates_of(q, np.cross(omega, q[:3]), omega))
        numbers = DirectorBody.numbers(1.5, [[0.02, 0.003, 0.0], [0.003, 0.09, 0.001], [0.0, 0.001, 0.1]], (0.4, 0.05, 0.02), gravity)
        s.add(DirectorBody(), f"body{i}", {"body": body}, numbers)
        s.add(Ball(), f"ball{i}", {"a": last, "b": body}, {"on_a": end, "on_b": (0.0, 0.0, 0.0)})
        last, end = body, (LENGTH, 0.0, 0.0)
    return s


def planar_pendulum(n=1, gravity=(0.0, -9.81), turns=1.0):
    """n planar rods on pins, horizontal at the start."""
    s = AssembledSystem("planar pendulum")
    last, end = s.coordinates("ground", 6, PlanarBody.coordinates_of(), fixed=True), (0.0, 0.0)
    for i in range(n):
        q = PlanarBody.coordinates_of((i * LENGTH, 0.0))
        body = s.coordinates(f"rod{i}", 6, q, PlanarBody.rates_of(q, (0.0, turns * i * LENGTH), turns))
        s.add(PlanarBody(), f"body{i}", {"body": body}, PlanarBody.numbers(2.0, 0.1, (0.4, 0.0), gravity))
        s.add(PlanarPin(), f"pin{i}", {"a": last, "b": body}, {"on_a": end, "on_b": (0.0, 0.0)})
        last, end = body, (LENGTH, 0.0)
    return s
