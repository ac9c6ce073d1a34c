"""Equilibrium and modes of assembled systems against closed forms and the tree engine."""

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.assembled_system import AssembledSystem
from jourdain.formalisms.elements.element import Composite, Element, Internal
from tests.analysis.assembled_models import LENGTH, Particle, chain, planar_pendulum


class Spring(Element):
    """A spring of rest length 1 from the origin with a dashpot across it, and a weight along −y."""

    blocks = {"p": 2}
    constants = {"stiffness": 1, "damping": 1, "weight": 1}

    def potential(self, s):
        r2 = s.p[0] * s.p[0] + s.p[1] * s.p[1]
        return [Composite(lambda x: 0.5 * s.stiffness * (jd.sqrt(x) - 1.0) ** 2, (r2,)), s.weight * s.p[1]]

    def internal(self, s):
        moved = [b - a for a, b in zip(s.at0.p, s.at1.p, strict=True)]
        work = s.damping / s.h * (moved[0] * moved[0] + moved[1] * moved[1])
        return Internal({("p", i): s.damping / s.h * moved[i] for i in range(2)}, dissipated=work)


def spring(damping=0.0):
    s = AssembledSystem("spring")
    p = s.coordinates("p", 2, (0.6, -0.9))
    s.add(Particle(), "mass", {"p": p}, {"mass": 2.0})
    s.add(Spring(), "spring", {"p": p}, {"stiffness": 100.0, "damping": damping, "weight": 20.0})
    return s


def test_equilibrium_and_modes_of_a_spring_pendulum():
    s = spring()
    found = s.equilibrium()
    assert found.q == pytest.approx([0.0, -1.2], abs=1e-9)
    assert found.imbalance < 1e-6
    # along the spring √(k/m), across it √(g/l) with the stretched length
    modes = s.modal(found.q)
    assert modes.frequencies * 2 * np.pi == pytest.approx([np.sqrt(20.0 / 2.0 / 1.2), np.sqrt(50.0)], rel=1e-7)
    assert modes.damping == pytest.approx([0.0, 0.0], abs=1e-9)


def test_damping_ratios():
    s = spring(damping=4.0)
    modes = s.modal(np.array([0.0, -1.2]))
    omega = np.array([np.sqrt(10.0 / 1.2), np.sqrt(50.0)])
    assert np.abs(modes.eigenvalues) == pytest.approx(omega, rel=1e-6)
    assert modes.damping == pytest.approx(4.0 / (2 * 2.0 * omega), rel=1e-6)


@pytest.mark.parametrize("reduction", ["none", "bodies"])
def test_double_pendulum_hangs_down_and_swings_like_the_tree(reduction):
    s = planar_pendulum(2, turns=0.0)
    found = s.equilibrium(reduction)
    assert found.q[12:14] == pytest.approx([0.0, -LENGTH], abs=1e-8)
    # −λ carries the weight of both rods
    assert found.multipliers["pin0.y"] == pytest.approx(-4.0 * 9.81, rel=1e-8)
    m = jd.Model("planar", gravity=(0, -9.81, 0))
    first, second = (m.body(n, mass=2.0, com=(0.4, 0, 0), inertia=(0.05, 0.05, 0.1)) for n in ("first", "second"))
    m.revolute("a", m.ground, first, axis="z")
    m.revolute("b", first.at(LENGTH, 0, 0), second, axis="z")
    system = m.compile()
    expected = sorted(system.modal(system.state({"a.angle": -np.pi / 2})).frequencies)
    assert s.modal(found.q).frequencies == pytest.approx(expected, rel=1e-7)


def test_spatial_chain_has_the_modes_of_its_swing():
    s = chain(1)
    found = s.equilibrium("bodies")
    modes = s.modal(found.q)
    assert modes.eigenvalues.size == 3
    # turning about the vertical is free, two swings remain
    assert modes.frequencies[0] == pytest.approx(0.0, abs=1e-4)
    assert np.all(modes.frequencies[1:] > 0.5)
    assert modes.shapes.shape == (24, 3)
