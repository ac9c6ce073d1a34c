"""Geometric stiffening in trees and loops: columns that buckle, blades that stiffen."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd

st = jd.structures
E, LENGTH, DENSITY, SECTION = 2.1e11, 1.0, 7800.0, st.rectangle(0.01, 0.02)
BUCKLING = np.pi**2 * E * SECTION.Iz / LENGTH**2
PINNED = np.pi**2 * np.sqrt(E * SECTION.Iz / (DENSITY * SECTION.area * LENGTH**4))


def column(load: float, stiffening: bool = True, formulation: str = "recursive") -> jd.System:
    """A beam between a fixed pin and one that slides along it, pulled (or pushed) along its axis: a closed loop."""
    m = jd.Model("column", gravity=(0, 0, 0))
    part = st.beam((0, 0, 0), (LENGTH, 0, 0), SECTION, st.Material(E, 0.3, DENSITY), elements=16)
    beam = m.flexible_body("beam", part, frame="pinned", modes=4, bending="y", stiffening=stiffening)
    end = m.body("end", mass=1.0, inertia=(1e-3,) * 3)
    m.revolute("pin", m.ground, beam.node("start"))
    m.revolute("other", beam.node("end"), end, cut=True)
    m.prismatic("guide", m.ground, end, axis="x")
    m.load("pull", end, force=(load, 0, 0))
    return m.compile(formulation=formulation)


@pytest.mark.parametrize("share", [0.5, -0.5, -0.9, -0.99])
def test_frequency_of_a_loaded_column(share: float) -> None:
    s = column(share * BUCKLING)
    lowest = min(abs(m.eigenvalue) for m in s.modal(s.assemble()).modes)
    assert lowest / PINNED == pytest.approx(np.sqrt(1.0 + share), rel=1e-4 / (1.0 + share))


def test_a_column_buckles_beyond_eulers_load() -> None:
    s = column(-1.02 * BUCKLING)
    assert s.modal(s.assemble()).unstable
    linear = column(-1.02 * BUCKLING, stiffening=False)
    assert not linear.modal(linear.assemble()).unstable


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian"])
def test_energy_is_kept_with_stiffening(formulation: str) -> None:
    s = column(0.3 * BUCKLING, formulation=formulation)
    run = s.simulate(s.assemble({"beam.mode1": 0.02}), t=0.02, rtol=1e-9, atol=1e-11)
    assert np.ptp(run["energy.error"]) < 1e-6 * run["energy.kinetic"].max()
    assert run["beam.mode1"].min() < -0.019


def test_finite_elements_with_stiffening_are_the_beam_of_second_order() -> None:
    blade, steel = st.rectangle(0.001, 0.02), st.Material(209e9, 0.3, 7850.0)
    part = st.beam((0, 0, 0), (0.5, 0, 0), blade, steel, elements=30).reduce(modes=8, frame="tangent", bending="y")
    m = jd.Model("blade", gravity=(0, 0, 0))
    hub = m.body("hub", mass=1.0, inertia=(0.1,) * 3)
    beam = m.flexible_body("beam", part, stiffening=True)
    joint = m.revolute("joint", m.ground, hub)
    m.fixed("clamp", hub.at(0.075, 0, 0), beam.node("start"))
    m.drive(joint, lambda t: 10.0 * t)
    found = [abs(k.eigenvalue) for k in m.compile().modal().modes][:3]
    np.testing.assert_allclose(found, [21.93961, 133.83919, 370.38843], rtol=1e-4)
