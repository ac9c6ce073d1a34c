"""Starts of modes: quasi-static and periodic (spec 17, section 3.3), and the balance of the modal rows (sections 3.5, 3.6)."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.model.elastic.flexible import FlexibleBody
from tests.formalisms.flexible.clouds import chain
from tests.formalisms.flexible.test_slider_crank import SPEED, slider_crank
from tests.systems.test_quasi_static_modes import loop, swing

PERIOD = 2 * np.pi / SPEED


def test_a_quasi_static_start_does_not_ring() -> None:
    """A slow drive: from rest modes ring about what they follow; from the quasi-static start they only follow."""
    s = swing().compile()
    still, start = s.state({}), s.quasi_static({})
    assert np.abs(s.accelerations(start)).max() < 1e-3 * np.abs(s.accelerations(still)).max()
    ringing, smooth = (s.simulate(x, t=0.3, rtol=1e-10, atol=1e-13)["arm.mode1_rate"] for x in (still, start))
    assert np.abs(smooth).max() < 0.02 * np.abs(ringing).max()


def test_a_quasi_static_start_at_rest_is_the_equilibrium() -> None:
    st = jd.structures
    m = jd.Model("cantilever")
    part = st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.02, 0.02), st.STEEL, elements=8)
    m.fixed("clamp", m.ground, m.flexible_body("beam", part, frame="tangent", at="start", modes=5).node("start"))
    s = m.compile()
    found, expected = s.quasi_static(), s.equilibrium().state
    assert np.abs(found.q).max() > 1e-4 and np.abs(found.q - expected.q).max() < 1e-12


def test_a_quasi_static_start_closes_loops_and_keeps_the_rest() -> None:
    s = loop("tangent").compile()
    x = s.assemble(t=0.01)
    found = s.quasi_static(x)
    h, _ = s.function("constraints")(np.array([found.t]), found.q)
    assert np.abs(h).max() < 1e-10 and found.t == x.t
    modes = [s.velocity_names.index(f"rod.mode{k}_rate") for k in (1, 2, 3, 4)]
    assert np.abs(s.accelerations(found)[modes]).max() < 0.05 * np.abs(s.accelerations(x)[modes]).max()
    only = s.quasi_static(x, modes="rod.mode3")
    assert only.q[s.coordinate_names.index("rod.mode1")] == x.q[s.coordinate_names.index("rod.mode1")]


@pytest.mark.parametrize("formulation", ["recursive", "cartesian"])
def test_17_T7_mean_torque_of_the_periodic_motion_vanishes(formulation: str) -> None:
    s = slider_crank().compile(formulation=formulation)
    found = s.periodic(s.quasi_static(s.assemble()), period=PERIOD)
    sol = s.simulate(found.state, t=PERIOD, rtol=1e-11, atol=1e-14, outputs=4001)
    torque = sol["main.drive_force"]
    assert abs(np.trapezoid(torque, sol.t) / PERIOD) < 1e-6 < 1e-5 * np.abs(torque).max()
    for name in ("rod.mode1", "rod.mode2", "rod.mode1_rate", "pin.angle1_rate"):
        assert sol[name][-1] == pytest.approx(sol[name][0], abs=1e-7 * np.abs(sol[name]).max())
    # no damping: the monodromy matrix is one of a Hamiltonian system
    assert np.abs(found.multipliers) == pytest.approx(np.ones(4), abs=1e-3) and found.stable
    # from modes at rest the mean is not zero, because they do not come back (the specification's number)
    rest = s.simulate(s.assemble(), t=PERIOD, rtol=1e-11, atol=1e-14, outputs=4001)
    assert abs(np.trapezoid(rest["main.drive_force"], rest.t) / PERIOD) == pytest.approx(0.0145, rel=0.03)


def test_damped_modes_run_into_the_periodic_motion() -> None:
    m = slider_crank()
    damped = jd.Model("damped", gravity=(0, 0, 0))
    part = m.bodies["rod"].part.with_damping(0.05)  # type: ignore[attr-defined]
    crank = damped.body("crank", mass=0.0378, com=(0.076, 0, 0), inertia=(1.9e-7, 7.324e-5, 7.324e-5))
    rod = damped.flexible_body("rod", part)
    slider = damped.body("slider", mass=0.0626, inertia=(4.18e-6,) * 3)
    main = damped.revolute("main", damped.ground, crank)
    damped.universal("pin", crank.at(0.152, 0, 0), rod.node("start"), axes=("z", "y"))
    damped.spherical("wrist", rod.node("end"), slider, cut=True)
    damped.prismatic("guide", damped.ground, slider, axis="x")
    damped.drive(main, lambda t: SPEED * t)
    s = damped.compile()
    found = s.periodic(s.assemble(), period=PERIOD)
    late = s.simulate(s.assemble(), t=10 * PERIOD, rtol=1e-10, atol=1e-13, times=[10 * PERIOD])
    assert late["rod.mode1"][-1] == pytest.approx(found.state.q[s.coordinate_names.index("rod.mode1")], rel=1e-4)
    assert np.abs(found.multipliers).max() < 1.0


@pytest.mark.parametrize(
    ("period", "told"), [(0.03, "not their period"), (None, "must be a positive number"), (-1.0, "must be a positive number")]
)
def test_periods_that_are_none_are_told(period: object, told: str) -> None:
    s = slider_crank().compile()
    with pytest.raises(jd.JourdainError, match=told):
        s.periodic(s.assemble(), period=period)


def test_17_T5_the_modal_block_is_met_by_reactions_found_body_by_body() -> None:
    s = slider_crank("pin").compile()
    sol = s.simulate(s.assemble(), t=0.03, rtol=1e-10, outputs=30)
    found = s.modal_balance(sol, "rod")
    assert found.asked.shape == (30, 2) and np.abs(found.residual).max() < 1e-9  # pinned modes give no force to a ball or a hinge
    s = loop("tangent", stiffening=True, damping=0.02).compile()
    sol = s.simulate(s.assemble(), t=0.1, rtol=1e-9, outputs=30)
    found = s.modal_balance(sol, "rod")
    assert np.abs(found.asked).max() > 0.1 and np.abs(found.residual).max() < 1e-11 * np.abs(found.asked).max()
    with pytest.raises(jd.InputError, match="'crank' is no flexible body"):
        s.modal_balance(sol, "crank")


def test_17_T5_modal_blocks_of_any_chain() -> None:
    """Nodes that turn and move by modes of second order, a body hung by either end, loads at nodes."""
    s = chain(3)[0].compile()
    rng = np.random.default_rng(4)
    x = s.state(
        dict(zip(s.coordinate_names, 0.2 * rng.normal(size=s.nq), strict=True)),
        dict(zip(s.velocity_names, rng.normal(size=s.nv), strict=True)),
    )
    for name, body in s.model.bodies.items():
        if isinstance(body, FlexibleBody):
            found = s.modal_balance(x, name)
            assert np.abs(found.residual).max() < 1e-10 * max(1.0, np.abs(found.asked).max())
