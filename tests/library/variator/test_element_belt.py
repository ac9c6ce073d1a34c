"""A belt element by element, each a body in contact, as referee of the elastic model."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library.variator.element_belt import ElementRun
from jourdain.library.variator.parts import Elements, Friction, Pulley, Rings


def soft(count: int):
    """Soft elements and rings, rigid sheaves: steps of some microseconds are enough for every element."""
    length = 0.6516
    rigid = Pulley(sheaves=None, shaft=None, collar=1e8, play=0.0)
    return jd.library.push_belt_variator(
        ratio=1.0, thrust=10e3, pulleys=(rigid, rigid), spacing=2e-3,
        elements=Elements(count=count, thickness=length / count, EA=1e6, EI=0.0, axial_stiffness=6e8 / count, k_minus=0.0, k_plus=0.0),
        rings=Rings(count=1, EA=3e5, mass_per_length=1.5, saddle=1e-3, thickness=1e-5, EI=0.0, length=0.65450),
        friction=Friction(v_eps=0.02, ring_mu_c=0.05, ring_mu_s=0.05, ring_v_eps=0.02),
    )  # fmt: skip


def test_polygon_and_balances_of_a_short_run() -> None:
    """Elements are as far apart as their size; forces on pulleys and belt are those of the books."""
    belt = jd.library.element_belt(soft(40), torque=20.0, ramp=0.01)
    run = belt.simulate(0.04)
    places = run.elements[:, :, 0]
    assert len(belt.model.bodies) == 2 * 40 + 4
    assert np.hypot(*(np.roll(places, -1, axis=0) - places).T).mean() == pytest.approx(belt.chord, rel=2e-3)
    # thrust of the driven sheave, and the torque that span forces make (1)
    assert run.thrust[1] == pytest.approx(10e3, rel=0.03)
    f = run.span_forces
    assert f["P_t1"] < -20.0
    assert f["P_t2"] == pytest.approx(0.0, abs=20.0)
    # no momentum from nowhere: what flanks do to the belt is what the belt does to both sheaves
    s = run.solution
    total = sum(s[f"flank.{name}.force"] for name in ("dr", "dn", *(f"element{k}" for k in range(40))))
    assert np.abs(total).max() < 1e-8 * np.abs(s["flank.dn.force"]).max()


@pytest.mark.slow
def test_T30_span_forces_of_both_formulations() -> None:
    """The referee comes to the elastic model as its elements become smaller: within 5 % at 120 elements."""
    cvt = soft(120)
    ours = cvt.steady(0.6, t=0.6)
    belt = jd.library.element_belt(cvt, torque=ours.torque[1], groove=ours.belt.driving.z / 2)
    run = ElementRun(belt, belt.simulate(0.5).solution, 0.6)
    for name in ("P_t1", "T_t1", "T_t2"):
        assert run.span_forces[name] == pytest.approx(ours.span_forces[name], rel=0.05), name
    assert run.thrust == pytest.approx(ours.thrust, rel=0.06)


def test_too_few_elements() -> None:
    length = 0.6516
    cvt = jd.library.push_belt_variator(elements=Elements(count=8, thickness=length / 8))
    with pytest.raises(InputError, match="8 elements are too few"):
        jd.library.element_belt(cvt)
    assert math.isfinite(jd.library.element_belt(soft(40)).step)
