"""Conserving laws on the joints of a model: friction that sticks and slips, standard solids, in trees and loops."""

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError


def pendulum(**options: float) -> jd.Model:
    m = jd.Model("braked pendulum")
    rod = m.body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.revolute("hinge", m.ground, rod, axis="y", **options)
    return m


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_friction_that_sticks_agrees_with_the_regularised_law_and_holds(reduction: str) -> None:
    """Tree engine: F tanh(v/ε), which creeps; here the pendulum comes to rest off the vertical and stays."""
    m, start = pendulum(), {"hinge.angle": 0.0}
    m.friction(m.joints["hinge"], 2.0, viscous=0.1, smoothing=1e-4)
    exact = m.compile().simulate(start, 2.0, rtol=1e-9, atol=1e-10, times=np.linspace(0.0, 2.0, 201))
    laws = [(jd.elements.Plastic(), {"stiffness": 2e6, "limit": 2.0}), (jd.elements.Viscous(), {"damping": 0.1})]
    directors = pendulum().compile(formulation="directors")
    sol = directors.simulate(start, 2.0, step=0.001, outputs=201, elements={"hinge": laws}, reduction=reduction)
    assert np.abs(sol["hinge.angle"] - exact["hinge.angle"]).max() < 2e-3
    raw = directors.simulate(start, 6.0, step=0.005, elements={"hinge": laws}, reduction=reduction)
    assert np.ptp(raw["step.energy.total"] + raw["step.energy.dissipated"]) < 1e-11 and raw["step.energy.dissipated"][-1] > 1.0
    late = raw["hinge.angle"][raw.t > 5.0]
    assert np.ptp(late) < 5e-4 and abs(late[-1] - np.pi / 2) > 0.05


def test_a_standard_solid_in_a_joint_against_a_state_of_the_tree_engine() -> None:
    """A spring in parallel with a spring and a dashpot in series: α̇ = (φ − α)/τ."""
    m = pendulum(stiffness=0.5)
    hinge = m.joints["hinge"]
    inner = m.state("inner", 0.3)
    m.rate(inner, 2.0 * (hinge.position - inner))
    m.force(hinge, -3.0 * (hinge.position - inner))
    exact = m.compile().simulate({"hinge.angle": 0.3}, 1.0, rtol=1e-11, atol=1e-12)["hinge.angle"][-1]
    solid = {"hinge": (jd.elements.Viscoelastic(), {"stiffness": 0.5, "branch": 3.0, "viscosity": 1.5})}
    directors = pendulum().compile(formulation="directors")
    errors = [abs(directors.simulate({"hinge.angle": 0.3}, 1.0, step=h, elements=solid)["hinge.angle"][-1] - exact) for h in (0.01, 0.005)]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.1)


LENGTHS = {"crank": 0.35, "coupler": 0.8, "rocker": 0.7}


def loop(cut: str, damping: float = 0.0) -> jd.Model:
    """A four-bar of uniform rods whose pin between coupler and rocker is damped; ``cut`` names the hinge that closes the loop."""
    m = jd.Model("four-bar", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (m.body(n, mass=x, com=(x / 2, 0, 0), inertia=(1e-3, x**3 / 12, x**3 / 12)) for n, x in LENGTHS.items())
    m.revolute("crank", m.ground, crank, axis="z")
    m.revolute("knee", crank.at(LENGTHS["crank"], 0, 0), coupler, axis="z")
    m.revolute("pin", coupler.at(LENGTHS["coupler"], 0, 0), rocker.at(LENGTHS["rocker"], 0, 0), axis="z", cut=cut == "pin", damping=damping)
    m.revolute("bearing", m.ground.at(1.0, 0, 0), rocker, axis="z", cut=cut == "bearing")
    return m


def test_a_law_on_the_joint_that_closes_a_loop() -> None:
    """The tree engine damps the same pin as a joint of its tree."""
    reference = loop("bearing", damping=0.2).compile()
    start = {"crank.angle": 1.0}
    exact = reference.simulate(reference.assemble(start), 1.0, rtol=1e-10, atol=1e-11)["crank.angle"][-1]
    directors = loop("pin").compile(formulation="directors")
    assert "pin.angle" not in directors.reference.coordinate_names
    begun, errors = directors.reference.assemble(start), []
    for h in (0.01, 0.005):
        sol = directors.simulate(begun, 1.0, step=h, elements={"pin": (jd.elements.Viscous(), {"damping": 0.2})})
        assert np.ptp(sol["step.energy.total"] + sol["step.energy.dissipated"]) < 1e-11
        errors.append(abs(sol["crank.angle"][-1] - exact))
    assert errors[0] < 5e-3 and errors[0] / errors[1] == pytest.approx(4.0, abs=0.3), errors


def test_elements_on_the_wrong_joints_are_refused() -> None:
    directors = pendulum().compile(formulation="directors")
    law = (jd.elements.Viscous(), {"damping": 0.1})
    with pytest.raises(InputError, match="'knee': there is no such joint"):
        directors.simulate({}, 1.0, elements={"knee": law})
    with pytest.raises(InputError, match=r"joint 'hinge': .* give an element of one coordinate"):
        directors.simulate({}, 1.0, elements={"hinge": (jd.elements.DirectorBody(), {})})
    m = jd.Model("ball")
    m.spherical("socket", m.ground, m.body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)))
    with pytest.raises(InputError, match="'socket': it is "):
        m.compile(formulation="directors").simulate({}, 1.0, elements={"socket": law})
