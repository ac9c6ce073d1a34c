"""Mobility counted and by rank: textbook mechanisms with known answers."""

import math

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import SolverError
from jourdain.library.course import COUPLER, CRANK, course_slider_crank, crank_at
from jourdain.library.mechanisms import bricard, double_pendulum, four_bar, n_four_bar, rssr
from jourdain.library.nonholonomic import chaplygin_sleigh, rolling_disk


def revolute_four_bar():
    """A plane four-bar of four spatial revolute joints: three equations of its loop are redundant."""
    m = jd.Model("four revolutes")
    a, b, c = (m.body(n, mass=1.0) for n in "abc")
    tilt = ("x", 0.3)
    m.revolute("A", m.ground, a, axis="z")
    m.revolute("B", a.at(0.3, 0, 0), b, axis="z")
    m.revolute("C", b.at(1.0, 0, 0, rotation=tilt), c.at(0.5, 0, 0, rotation=tilt), axis=(0.0, math.sin(0.3), math.cos(0.3)))
    m.close("D", c, m.ground.at(0.9, 0, 0), "revolute", axis="z")
    return m


def test_slider_crank():
    s = course_slider_crank().compile()
    found = s.mobility(crank_at(s, 1.0))
    assert (found.spatial_count, found.planar_count, found.freedoms, found.position_freedoms) == (0, 1, 1, 1)
    assert not found.is_singular
    assert found.redundant == ("pin[3]",)  # across the plane
    assert found.indeterminate == ()  # where nothing acts across


def test_overconstrained_plane_mechanism():
    s = revolute_four_bar().compile()
    found = s.mobility(s.assemble({"A": 0.5}, guess={"B": -0.3, "C": 1.0}))
    assert (found.spatial_count, found.planar_count, found.freedoms) == (-2, 1, 1)
    assert len(found.redundant) == found.equations - 2
    assert found.equations == 5 and found.overconstrained == ("D",)


def test_bricard_moves_although_counting_gives_nothing():
    s = bricard().compile()
    found = s.mobility(s.assemble({}))
    assert (found.spatial_count, found.planar_count, found.freedoms) == (0, None, 1)
    assert found.overconstrained == ("P6",)
    assert "redundant equations: P6[" in str(found)
    assert "reactions of P1, P2, P3, P4, P5, P6 are not unique" in str(found)


def test_parallelogram_is_singular_in_line():
    """Where all rods lie in one line the parallelogram can change into a crossed one: two freedoms of velocity."""
    s = n_four_bar(1).compile()
    flat = s.state({"A0": -math.pi / 2, "A1": -math.pi / 2, "B0": math.pi / 2})
    found = s.mobility(flat)
    assert (found.freedoms, found.generic_freedoms) == (2, 1)
    assert found.is_singular
    assert "the motion may branch here" in str(found)
    upright = s.mobility(s.state({}))
    assert not upright.is_singular
    assert upright.freedoms == 1


def test_near_a_singular_position_the_condition_is_small():
    s = n_four_bar(1).compile()
    conditions = []
    for angle in (0.5, 0.05, 0.005):
        a = -math.pi / 2 + angle
        conditions.append(s.mobility(s.state({"A0": a, "A1": a, "B0": -a})).condition)
    assert conditions[0] > conditions[1] > conditions[2] > 0.0
    assert conditions[1] / conditions[2] == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize(("model", "position", "velocity"), [(rolling_disk, 5, 3), (chaplygin_sleigh, 3, 2)])
def test_constraints_on_velocities_leave_positions_free(model, position, velocity):
    s = model().compile()
    start = s.assemble({"disk.rx": 1.2}, guess={"disk.z": 0.09}) if model is rolling_disk else s.assemble({})
    found = s.mobility(start)
    assert (found.position_freedoms, found.freedoms) == (position, velocity)


def test_trees_and_space():
    found = double_pendulum().compile().mobility()
    assert (found.planar_count, found.freedoms, found.independent) == (2, 2, ("shoulder.angle", "elbow.angle"))
    s = rssr().compile()
    spatial = s.mobility(s.assemble({"crank": 0.4}, guess={"rocker": 0.5}))
    assert (spatial.spatial_count, spatial.planar_count, spatial.freedoms) == (1, None, 1)
    s = four_bar().compile()
    assert s.mobility(s.assemble({"crank": 0.7}, guess={"coupler": 0.3, "rocker": 1.4})).planar_count == 1


def test_lock_up_is_where_geometry_puts_it():
    """With the crank longer than the coupler it can be driven to θ = asin(a₂/a₁) only."""
    s = course_slider_crank(crank=COUPLER, coupler=CRANK).compile()
    start = s.assemble({"crank": 0.1}, guess={"coupler": -0.2, "slider": 0.45})
    with pytest.raises(SolverError, match="the mechanism locks at t = ") as failure:
        s.kinematics(np.linspace(0.0, 1.0, 101), {"crank": lambda t: 0.1 + t}, x0=start)
    angle = float(str(failure.value).split("crank.angle = ")[1].split(")")[0])
    assert angle == pytest.approx(math.asin(CRANK / COUPLER), abs=2e-6)


def test_two_ways_to_assemble():
    """For one crank angle the slider stands before or behind the crank: x = a₁ cos θ ± a₂ cos φ."""
    s = course_slider_crank().compile()
    theta = math.radians(60)
    phi = math.asin(-CRANK / COUPLER * math.sin(theta))
    found = sorted(state["slider.displacement"] for state in s.assembly_modes({"crank": theta}).values())
    expected = [CRANK * math.cos(theta) + sign * COUPLER * math.cos(phi) for sign in (-1, 1)]
    assert found == pytest.approx(expected, abs=1e-12)
