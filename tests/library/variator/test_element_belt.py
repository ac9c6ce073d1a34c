"""A belt element by element, each a body in contact, as referee of the elastic model."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library.variator.element_belt import VERLET, ElementRun
from jourdain.library.variator.parts import Elements, Friction, Pulley, Rings


def soft(count: int, v_eps: float = 0.1):
    """Soft elements and rings, rigid sheaves: steps of some microseconds are enough for every element."""
    length = 0.6516
    rigid = Pulley(sheaves=None, shaft=None, collar=1e8, play=0.0)
    return jd.library.push_belt_variator(
        ratio=1.0, thrust=10e3, pulleys=(rigid, rigid), spacing=2e-3,
        elements=Elements(count=count, thickness=length / count, EA=1e6, EI=0.0, axial_stiffness=6e8 / count, k_minus=0.0, k_plus=0.0),
        rings=Rings(count=1, EA=3e5, mass_per_length=1.5, saddle=1e-3, thickness=1e-5, EI=0.0, length=0.65450),
        friction=Friction(v_eps=v_eps, ring_mu_c=0.05, ring_mu_s=0.05, ring_v_eps=v_eps),
    )  # fmt: skip


@cache
def settled():
    """A belt of twenty-four elements, and its state after 2 ms."""
    belt = jd.library.element_belt(soft(24, 0.02), torque=30.0)
    return belt, belt.simulate(2e-3, outputs=3).solution.final_state()


def test_a_belt_of_bodies_starts_in_the_steady_state_and_turns() -> None:
    """Elements lie as far apart and as deep as the elastic model has them: nothing is violent at first; they turn with the pulleys; books of forces close."""
    belt = jd.library.element_belt(soft(40), torque=59.8)
    steady, run = belt.steady, belt.simulate(0.006, outputs=61)
    places = run.elements[:, :, 0]
    assert len(belt.model.bodies) == 40 + belt.links + 4 and belt.links == 55
    assert np.hypot(*(np.roll(places, -1, axis=0) - places).T).mean() == pytest.approx(belt.chord, rel=4e-3)
    s = run.solution
    for name, thrust in zip(("dr", "dn"), steady.thrust, strict=True):
        assert np.abs(s[f"flank.{name}.Fz"] / thrust - 1).max() < 0.25, name
    assert run.P.min() > 1.5 * steady["P"].min() and run.T.max() < 1.2 * steady["T"].max() and run.T.min() > 0.7 * steady["T"].min()
    assert run.span_forces["P_t1"] == pytest.approx(steady.span_forces["P_t1"], rel=0.15)
    # on the driving arc elements turn as fast as they go round, swinging in the slot of the ring
    x, y = run.elements[:, 0, -1], run.elements[:, 1, -1]
    on = x < -0.02
    assert 5 < on.sum() < 20
    inside = run.elements[:, 0] < -0.02
    assert run._of("e", "angle_rate")[:, 0][inside].mean() == pytest.approx(belt.speed, rel=0.05)
    angles = run._of("e", "angle")[on, 0, -1]
    assert np.abs(np.cos(angles) * x[on] + np.sin(angles) * y[on]).max() < 0.06 * 0.055
    # no momentum from nowhere: what flanks do to the belt is what the belt does to both sheaves
    total = sum(s[f"flank.{name}.force"] for name in ("dr", "dn", *(f"element{k}" for k in range(40))))
    assert np.abs(total).max() < 1e-8 * np.abs(s["flank.dn.force"]).max()


@pytest.mark.parametrize("method", ["velocity-verlet", "rk4"])
def test_books_of_a_belt_of_bodies_close(method: str) -> None:
    """At the belt's own steps what is missed of the energy is less than a hundredth of what friction and dampers take, once corners have settled."""
    belt, state = settled()
    h = belt.step * (VERLET if method == "velocity-verlet" else 1.0)
    s = belt.system.simulate(state, t=(state.t, state.t + 200 * h), method=method, step=h, outputs=201)
    assert s["energy.dissipated"][-1] > 0.01
    assert np.abs(s["energy.error"]).max() < 0.01 * s["energy.dissipated"][-1]


@pytest.mark.slow
@pytest.mark.parametrize(("rubs", "near"), [(0.0, 0.05), (0.05, 0.07)], ids=["smooth rings", "rings that rub"])
def test_T30_span_forces_of_both_formulations(rubs: float, near: float) -> None:
    """60 elements against the elastic model: everything within 5 % where rings do not rub; with rubbing ones P and the driving thrust within 7 %:
    the ring drags free elements along t2, so that they find their play elsewhere, see docs/validation.md."""
    cvt = soft(60)
    cvt = replace(cvt, friction=replace(cvt.friction, ring_mu_c=rubs, ring_mu_s=rubs))
    steady = cvt.steady(0.6, t=0.8)
    belt = jd.library.element_belt(cvt, torque=steady.torque[1], start=steady)
    run = ElementRun(belt, belt.simulate(0.3, outputs=1501).solution, 0.6)
    found, expected = run.span_forces, steady.span_forces
    assert run.torques[1] == pytest.approx(steady.torque[1], rel=0.01)
    assert (found["T_t1"], found["T_t2"]) == pytest.approx((expected["T_t1"], expected["T_t2"]), rel=0.05)
    assert found["P_t1"] == pytest.approx(expected["P_t1"], rel=near if rubs else 0.01)
    assert found["P_t2"] == pytest.approx(0.0, abs=5.0)
    assert run.thrust == pytest.approx(steady.thrust, rel=near)


def test_too_few_elements() -> None:
    length = 0.6516
    cvt = jd.library.push_belt_variator(elements=Elements(count=8, thickness=length / 8))
    with pytest.raises(InputError, match="8 elements are too few"):
        jd.library.element_belt(cvt)
    assert math.isfinite(jd.library.element_belt(soft(40)).step)
