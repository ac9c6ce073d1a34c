"""A joint that closes a loop turns about its axis in the same sense as one in the tree, whatever the axis' sign."""

import numpy as np
import pytest

import jourdain as jd


def four_bar(axis: str, cut: bool) -> jd.Model:
    m = jd.Model("four-bar", gravity=(0, -9.81, 0))
    bars = [m.body(f"bar{i}", mass=1.0, com=(x / 2, 0, 0), inertia=(0, 0.1, 0.1)) for i, x in enumerate((0.5, 1.2, 0.8))]
    m.revolute("A", m.ground, bars[0], axis="z", cut=False)
    m.revolute("B", bars[0].at(0.5, 0, 0), bars[1], axis="z", cut=False)
    m.revolute("D", m.ground.at(1.0, 0, 0), bars[2], axis="z", cut=not cut)
    hinge = m.revolute("C", bars[1].at(1.2, 0, 0), bars[2].at(0.8, 0, 0), axis=axis, cut=cut)
    m.joint_spring(hinge, 30.0, rest=0.4, damping=0.5)
    m.output("C.measured", hinge.position)
    return m


@pytest.mark.parametrize("axis", ["z", "-z"])
def test_cut_joint_has_the_sense_of_its_axis(axis):
    runs = []
    for cut in (True, False):
        system = four_bar(axis, cut).compile()
        last = {"D.angle": 1.5} if cut else {"C.angle": 1.2 if axis == "z" else -1.2}
        start = system.assemble({"A.angle": 0.9}, guess={"B.angle": -0.6, **last})
        runs.append(system.simulate(start, 0.5, rtol=1e-10, atol=1e-12, times=np.linspace(0, 0.5, 6)))
    first, second = runs
    assert np.allclose(first["A.angle"], second["A.angle"], atol=1e-8)
    assert np.allclose(first["C.measured"], second["C.measured"], atol=1e-8)
    assert np.ptp(first["A.angle"]) > 0.1
