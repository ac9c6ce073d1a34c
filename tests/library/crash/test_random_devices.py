"""Devices with any numbers a user may give: refused in words, or crushed with books that close."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError

lib = jd.library
WRONG = [0.0, -1.0, float("nan"), float("inf"), "2 m", "3 kN", None, "much"]


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Now and then what is no such number."""
    return st.integers(0, 11).flatmap(lambda k: st.sampled_from(WRONG) if k == 0 else good)


FORCES, LENGTHS, SLOPES = st.floats(1e4, 5e6), st.floats(1e-3, 2.0), st.floats(1e6, 1e10)
ROWS = {
    "levels": st.lists(mostly(FORCES), min_size=1, max_size=3),
    "ends": st.lists(mostly(LENGTHS), min_size=1, max_size=3),
    "stiffness": mostly(SLOPES) | st.lists(mostly(SLOPES), min_size=1, max_size=3),
}
MORE = {
    "traction": mostly(st.just(0.0) | FORCES),
    "bottoming": st.none() | mostly(SLOPES),
    "rate": st.none() | mostly(st.floats(0.0, 0.5)) | st.tuples(mostly(st.floats(0.1, 100.0)), mostly(st.floats(0.5, 8.0))),
    "stretch": st.booleans(),
}


def crash(device: Any, mass: float, speed: float) -> None:
    """What the car has lost is in the device, whichever way it came there."""
    sol = lib.barrier(lib.train([mass], front=device), speed).compile().simulate(t=0.15, rtol=1e-9, atol=1e-11)
    energy, start = sol["front.energy"] + sol["energy.kinetic"], sol["energy.kinetic"][0]
    assert np.abs(energy - energy[0]).max() < 1e-6 * start
    force = sol["front.force"]
    assert np.isfinite(force).all() and force.min() >= -device.traction * (1 + 1e-9)
    if device.rate is not None:
        return  # its energy is its work; what of it comes back is not told
    slopes = zip(device.levels[1:], device.stiffness, device.stiffness[1:], strict=False)
    back = sum(
        max(0.0, 0.5 * f * f * (1 / after - 1 / before)) for f, before, after in slopes
    )  # softer slopes hold more, from the step that ends on them
    assert np.diff(sol["front.dissipated"]).min() > -1e-6 * start - back


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.fixed_dictionaries(ROWS, optional=MORE))
def test_any_device_is_refused_in_words_or_made(given: dict[str, Any]) -> None:
    try:
        device = lib.crush_device(**given, name="LE")
    except (InputError, jd.ModelError) as error:
        assert "'LE'" in str(error) and "\n" not in str(error)
        return
    d = np.linspace(0.0, 3.0, 400)
    f, e = np.array([device.force(x) for x in d]), np.array([device.energy(x) for x in d])
    assert (np.diff(f) >= -1e-9 * f.max()).all() and (np.diff(e) > 0).all()


@settings(max_examples=8, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_device_that_is_made_keeps_its_books(data: st.DataObject) -> None:
    """Rising levels, ends in order, slopes steep enough: a run, not a refusal."""
    n = data.draw(st.integers(1, 3))
    levels = np.cumsum([data.draw(st.floats(1e5, 2e6)) for _ in range(n)])
    slopes = [data.draw(st.floats(2e7, 1e9)) for _ in range(n)]
    ends, x = [], 0.0
    for level, before, k in zip(levels, [0.0, *levels], slopes, strict=False):
        x += (level - before) / k + data.draw(st.floats(1e-3, 0.6))
        ends.append(x)
    more = {
        "traction": data.draw(st.sampled_from([0.0, 5e5])), "bottoming": data.draw(st.sampled_from([None, 5e8])),
        "rate": data.draw(st.sampled_from([None, 0.05])), "stretch": data.draw(st.booleans()),
    }  # fmt: skip
    crash(lib.crush_device(levels, ends, slopes, **more), data.draw(st.floats(5e3, 1e5)), data.draw(st.floats(0.5, 30.0)))


@pytest.mark.parametrize("wrong", [-1.0, 0.0, float("nan"), float("inf"), "3 N", None])
@pytest.mark.parametrize("make", [
    lambda x: lib.hydraulic_buffer(x, 0.1), lambda x: lib.draft_gear(x, 0.1), lambda x: lib.contact_device(x), lambda x: lib.train([x]),
    lambda x: lib.barrier(lib.train([1e4]), x), lambda x: lib.truck(lib.train([1e4]), 10.0, mass=x), lambda x: lib.s_beam(x), lambda x: lib.s_beam(mass=x),
    lambda x: lib.spatial_train(cars=x), lambda x: lib.train(x), lambda x: lib.crush_device(1e6, 0.5, x), lambda x: lib.train([1e4, 1e4], x or 3.0),
], ids=["buffer", "gear", "contact", "mass", "speed", "truck", "side", "beam", "cars", "masses", "slope", "coupler"])  # fmt: skip
def test_numbers_that_cannot_be_are_refused_in_one_sentence(make: Any, wrong: Any) -> None:
    with pytest.raises((InputError, jd.ModelError)) as error:
        make(wrong)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_device_whose_force_grows_with_the_rate_comes_to_rest_under_load() -> None:
    """Cowper and Symonds' power is infinitely steep at rest: a mass pushed onto a plateau by less than its force stays there, and does not turn without end."""
    device = lib.crush_device([2e5, 4e5], [0.3, 0.6], 2e7, rate=(40.0, 5.0), name="tube")
    m = jd.Model("pushed")
    x = m.prismatic("x", m.ground, m.body("block", mass=1e4, inertia=(1.0, 1.0, 1.0)), axis="x")
    m.force(x, 2.05e5 - device.act(m, "tube", x.position, x.velocity))
    m.initial["x.displacement_rate"] = 1.0
    sol = m.compile().simulate(t=2.0)
    assert sol["tube.force"][-1] == pytest.approx(2.05e5, rel=1e-3) and 0.0 < sol["x.displacement_rate"][-1] < 1e-3
    assert np.abs(sol["energy.error"]).max() < 1e-5 * sol["energy.kinetic"][0] + 1e-3


@pytest.mark.parametrize("method", ["dopri5", "radau", "rosenbrock", "adams", "rk4"])
def test_couplers_that_stretch_rest_at_the_start_of_a_long_train(method: str) -> None:
    """Cars far from the front do not move at first: what rounding makes of their rates is no turn of a device."""
    coupler = lib.crush_device([6e5, 1.2e6], [0.2, 0.5], 3e7, traction=3e5, stretch=True)
    train = lib.train([40e3, 12e3, 30e3, 22e3, 45e3], couplers=coupler, front=coupler)
    own = {"step": 1e-4} if method == "rk4" else {"rtol": 1e-7}
    sol = lib.buffer_stop(train, 9.0, stop=lib.crush_device(1e6, 0.5, 1e8)).compile().simulate(t=0.4, method=method, **own)
    assert np.abs(sol["energy.error"]).max() < (1e-3 if method == "rk4" else 1e-5) * sol["energy.kinetic"][0]
