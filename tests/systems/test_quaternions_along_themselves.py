"""Generalised-α with Euler parameters near (1, 0, 0, 0), along which they have next to no inertia: no step is lost, order two at every step size."""

import numpy as np
import pytest

import jourdain as jd


def bead_on_a_turning_wire() -> jd.Model:
    """A parabola that turns about its axis by a motor; a slide without influence carries the place of the bead along the wire."""
    m = jd.Model("bead on a turning wire")
    hub = m.body("hub", mass=1.0, inertia=(0.02, 0.03, 0.025))
    hinge = m.revolute("hub", m.ground, hub, axis="z", damping=0.02)
    bead = m.body("bead", mass=0.5, inertia=(1e-3,) * 3)
    m.free("bead", m.ground, bead, orientation="quaternion")
    place = m.prismatic("place", m.ground, m.body("slide", mass=0.01, inertia=(1e-4,) * 3), axis="x")
    m.point_on_curve("wire", bead, lambda s: (s, 0.0 * s, 0.8 * s * s), place, on=hub)
    m.force(hinge, m.input("motor", 0.2))
    return m


@pytest.mark.filterwarnings("ignore")
def test_no_step_is_lost_where_quaternions_have_no_inertia() -> None:
    model = bead_on_a_turning_wire()
    s = model.compile(formulation="cartesian")
    x = s.assemble({"place.displacement": 0.2, "hub.angle": 0.1}, guess={"bead.x": 0.2, "bead.z": 0.03}, velocities={"hub.angle_rate": 2.0})
    exact = model.compile().simulate(x, 0.3, rtol=1e-11, atol=1e-13)
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        sol = s.simulate(x, 0.3, "generalized-alpha", step=step)
        assert sol.statistics["rejected"] == 0 and sol.statistics["factorizations"] < 30
        assert np.abs(sol["x.slide.e0"] - 1.0).max() < 1e-10
        errors.append([abs(sol[n][-1] - exact[n][-1]) for n in ("place.displacement", "hub.angle")])
    ratios = np.divide(errors[:-1], errors[1:])
    assert ratios == pytest.approx(4.0, abs=0.2)
