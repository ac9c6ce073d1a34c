"""Bodies that move by more than their thickness in a step: nothing is passed through, and a step of any length gives the impact of short ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.systems.run import SimulationError

RIGID = jd.contact.rigid
SHEET = jd.mesh(
    (
        np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [-1, -1, -0.002], [1, -1, -0.002], [1, 1, -0.002], [-1, 1, -0.002]]),
        np.array([[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6], [0, 4, 5], [0, 5, 1], [1, 5, 6], [1, 6, 2], [2, 6, 7], [2, 7, 3], [3, 7, 4], [3, 4, 0]]),
    )
)  # fmt: skip
TARGETS: dict[str, Any] = {"plane": jd.plane(), "plate": jd.box(2, 2, 0.002).at(0, 0, -0.001), "sheet": SHEET}
BODIES: dict[str, Any] = {
    "sphere": jd.sphere(0.01, density=1e3), "box": jd.box(0.02, 0.02, 0.02, density=1e3), "capsule": jd.capsule(0.01, 0.02, density=1e3),
    "cylinder": jd.cylinder(0.01, 0.02, density=1e3),
}  # fmt: skip


def shot(body: str, target: str, law: Any) -> jd.Model:
    m = jd.Model("shot", gravity=(0, 0, 0))
    m.ground.shapes.append(TARGETS[target])
    m.free("f", m.ground, m.body("b", shape=BODIES[body]))
    m.contact("c", m.bodies["b"], m.ground, law=law)
    return m


@pytest.mark.parametrize("method", ["moreau", "nonsmooth-generalized-alpha"])
@pytest.mark.parametrize("target", ["plate", "sheet"])
@pytest.mark.parametrize("body", BODIES)
def test_thin_things_throw_back_as_a_floor_does(body: str, target: str, method: str) -> None:
    """0.4 m in a step, and 2 mm of wall."""
    start = {"f.z": 0.533, "f.x": 0.03, "f.z_rate": -200.0}
    found = [shot(body, t, RIGID(restitution=0.5)).compile().simulate(start, 0.01, method=method, step=2e-3) for t in (target, "plane")]
    assert found[0]["f.z_rate"][-1] == pytest.approx(100.0, abs=1e-6)
    for name in ("f.z", "f.x_rate", "f.orientation.omega_y"):
        assert found[0][name][-1] == pytest.approx(found[1][name][-1], abs=1e-6)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("step", [2e-3, 1e-3, 5e-4, 3e-4, 1e-5])
def test_a_fast_ball_grips_with_its_surface(step: float, restitution: float) -> None:
    """With friction enough it rolls after the impact: v = 5/7 v₀, whatever the step; its arm is the radius, however far from the floor the middle of the step is."""
    start = {"f.z": 0.533, "f.z_rate": -200.0, "f.x_rate": 20.0}
    for target in ("plane", "plate"):
        sol = (
            shot("sphere", target, RIGID(friction=0.4, restitution=restitution)).compile().simulate(start, 0.01, method="moreau", step=step)
        )
        assert sol["f.x_rate"][-1] == pytest.approx(100.0 / 7.0, rel=1e-7)
        assert sol["f.orientation.omega_y"][-1] == pytest.approx(1e4 / 7.0, rel=1e-7)


@pytest.mark.parametrize("formulation", ["recursive", "cartesian", "natural", "directors"])
def test_two_bodies_pass_each_other_in_no_formulation(formulation: str) -> None:
    """A ball against a thin plate that comes towards it: energy and momenta, as in short steps."""
    m = jd.Model("two", gravity=(0, 0, 0))
    a, b = m.body("a", shape=jd.sphere(0.01, density=1e3)), m.body("b", shape=jd.box(0.4, 0.4, 0.004, density=1e3))
    m.free("fa", m.ground, a)
    m.free("fb", m.ground, b)
    m.contact("c", a, b, law=RIGID(restitution=1.0))
    s, start = m.compile(formulation=formulation), {"fa.z": 0.533, "fa.z_rate": -150.0, "fb.z_rate": 50.0, "fa.x": 0.01}
    long, short = (s.simulate(start, 0.01, method="moreau", step=h) for h in (2e-3, 1e-4))
    assert np.ptp(long["energy.total"]) < 1e-9 * long["energy.total"][0]
    for name in ("fa.z_rate", "fb.z_rate", "fb.orientation.omega_y"):
        assert long[name][-1] == pytest.approx(short[name][-1], rel=1e-6)


def test_steps_that_are_far_too_long_are_told() -> None:
    with pytest.raises(SimulationError, match="bodies move by hundreds of times their thickness within a step; take a smaller step"):
        shot("sphere", "plate", RIGID()).compile().simulate({"f.z": 0.5, "f.z_rate": -1e5}, 0.01, method="moreau", step=2e-3)
