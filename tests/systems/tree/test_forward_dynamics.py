"""Accelerations under given joint forces: with all loads and loops, and of the bare tree under a name that says so."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain import library


def loaded_four_bar() -> jd.Model:
    m = library.four_bar()
    m.joint_spring(m.joints["rocker"], 3.0, damping=0.2)
    m.force(m.joints["crank"], m.input("motor", 0.7))
    return m


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_no_joint_forces_give_the_accelerations_of_the_motion(formulation: str) -> None:
    s = loaded_four_bar().compile(formulation=formulation)
    x = s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0})
    for motor in (0.7, -2.0):
        found = s.forward_dynamics(x.q, x.v, np.zeros(3), inputs={"motor": motor})
        np.testing.assert_allclose(found, s.accelerations(x, {"motor": motor}), atol=1e-9)


def test_a_joint_force_acts_as_a_motor_does() -> None:
    s = loaded_four_bar().compile()
    x = s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0})
    torque = np.zeros(3)
    torque[s.coordinate_names.index("crank.angle")] = 1.3
    np.testing.assert_allclose(s.forward_dynamics(x.q, x.v, torque), s.accelerations(x, {"motor": 2.0}), atol=1e-10)


def test_many_states_at_once_and_room_for_the_result() -> None:
    s = loaded_four_bar().compile()
    states = [s.assemble({"crank.angle": a}, velocities={"crank.angle_rate": 1.0}) for a in (0.2, 0.9, 1.4)]
    q, v = np.array([x.q for x in states]), np.array([x.v for x in states])
    out = np.empty((3, 3))
    assert s.forward_dynamics(q, v, np.zeros(3), out=out) is out
    np.testing.assert_allclose(out, [s.accelerations(x) for x in states], atol=1e-10)


def test_the_bare_tree_knows_neither_loads_nor_loops() -> None:
    s, rng = loaded_four_bar().compile(), np.random.default_rng(3)
    q, v, tau = rng.normal(size=(3, 3))
    a = s.tree_accelerations(q, v, tau)
    np.testing.assert_allclose(s.inverse_dynamics(q, v, a), tau, atol=1e-10)
    x = s.assemble({"crank.angle": 0.9})
    assert np.abs(s.tree_accelerations(x.q, x.v, np.zeros(3)) - s.forward_dynamics(x.q, x.v, np.zeros(3))).max() > 1.0


def test_both_are_one_without_loads_and_loops() -> None:
    s, rng = library.double_pendulum().compile(), np.random.default_rng(4)
    q, v, tau = rng.normal(size=(3, 5, 2))
    np.testing.assert_array_equal(s.forward_dynamics(q, v, tau), s.tree_accelerations(q, v, tau))
