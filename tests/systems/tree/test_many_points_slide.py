"""A face that slides and turns on four points, whose normal forces the laws leave open: forces are a function of the state, which methods can follow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd

START = {"fa.z": 0.13, "fa.x_rate": 1.0, "fa.orientation.omega_z": 2.0}


def sliding() -> jd.System:
    m = jd.Model("slides")
    m.ground.shapes.append(jd.plane())
    m.free("fa", m.ground, m.body("a", shape=jd.box(0.2, 0.3, 0.25, density=1000.0)))
    m.contact("c", law=jd.contact.rigid(friction=0.3))
    return m.compile()


def test_few_steps_follow_a_box_that_slides_and_turns() -> None:
    s = sliding()
    run = s.simulate(START, t=0.5, method="dop853", rtol=1e-10, atol=1e-12)
    assert run.statistics["steps"] < 300  # 31 000 while forces of the four points jumped from evaluation to evaluation
    taken = run["energy.total"] + run["contacts.dissipated"]
    assert np.ptp(taken) < 1e-9 * taken[0]
    assert np.abs(run["fa.x_rate"][-1]) < 1e-12


def test_what_is_asked_besides_changes_no_digit() -> None:
    s = sliding()
    whole = s.simulate(START, t=0.5, method="dop853", rtol=1e-9, atol=1e-11)
    some = s.simulate(START, t=0.5, method="dop853", rtol=1e-9, atol=1e-11, times=np.linspace(0.0, 0.5, 11))
    for name in ("fa.x", "fa.orientation.e3"):
        assert some[name][-1] == whole[name][-1]


def test_events_are_where_steps_of_moreau_tend_to() -> None:
    """Without turning, friction has the direction of sliding on all four points, whatever each of them bears: its sum is determined."""
    s, start = sliding(), {n: x for n, x in START.items() if "omega" not in n}
    exact = s.simulate(start, t=0.5, method="dop853", rtol=1e-9, atol=1e-11)
    for step in (1e-3, 2.5e-4):
        stepped = s.simulate(start, t=0.5, method="moreau", step=step)
        assert stepped["fa.x"][-1] == pytest.approx(exact["fa.x"][-1], abs=0.5 * step**2)


def thrown(seed: int) -> tuple[jd.System, dict[str, float]]:
    """Two boxes in space, at random."""
    m, rng, given = jd.Model("two", gravity=(0, 0, 0)), np.random.default_rng(seed), dict[str, float]()
    for name in "ab":
        m.free(f"f{name}", m.ground, m.body(name, shape=jd.box(0.2, 0.3, 0.25, density=1000.0)))
    m.contact("c", law=jd.contact.rigid(friction=0.3))
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    aside, speed = 0.03 * rng.normal(size=3), -2 * way + 0.3 * rng.normal(size=3)
    for i, x in enumerate("xyz"):
        given |= {f"fa.{x}": 0.5 * way[i] + aside[i], f"fa.{x}_rate": speed[i]}
        given |= {f"fa.orientation.omega_{x}": rng.normal(), f"fb.orientation.omega_{x}": rng.normal()}
    for name in "ab":
        e = rng.normal(size=4)
        given |= {f"f{name}.orientation.e{k}": v for k, v in enumerate(e / np.linalg.norm(e))}
    return m.compile(), given


@pytest.mark.parametrize("seed", range(8))
def test_books_that_do_not_close_are_told(seed: int) -> None:
    s, given = thrown(seed)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = s.simulate(given, t=0.4, method="dop853", rtol=1e-10, atol=1e-12)
    taken = run["energy.total"] + run["contacts.dissipated"]
    if np.ptp(taken) > 1e-4 * taken[0]:
        assert any("do not trust this run" in str(w.message) for w in told)
    else:
        assert not told or np.ptp(taken) > 1e-7 * taken[0]
