"""Given steps: a run over the instants of another one, in every formulation; what it gives is smooth in the parameters."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from tests.systems.test_stepper import FIXED, STEP, WAYS, machine

ONE_STEP = ("bs32", "dopri5", "dop853", "rosenbrock", *FIXED)


@pytest.fixture(scope="module")
def systems():
    made = {}

    def get(way, **options):
        key = (tuple(WAYS[way][0].items()), tuple(options.items()))
        if key not in made:
            s = machine(**options).compile(**WAYS[way][0])
            made[key] = s, s.assemble({"A.angle": 0.7}, guess={"B.angle": -0.4, "C.angle": 1.6}, velocities={"A.angle": 3.0})
        return made[key]

    return get


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ONE_STEP)
def test_a_run_repeats_itself(systems, way, method):
    s, start = systems(way)
    options = {"rtol": 1e-6, "atol": 1e-8, **WAYS[way][1]}
    first = s.simulate(start, 0.1, method, **({"step": STEP} if method in FIXED else {}), **options)
    again = s.simulate(start, 0.1, method, steps=first, rtol=1e-2, **WAYS[way][1])
    np.testing.assert_array_equal(again.t, first.t)
    assert again.statistics["steps"] == first.statistics["steps"] and again.statistics["rejected"] == 0
    for name in ("A.angle", "heat"):
        np.testing.assert_allclose(again[name], first[name], rtol=1e-12)


def test_differences_are_smooth_in_a_parameter():
    """Difference quotients of any width are the derivative: no step is refused or made longer between the runs."""
    m = jd.Model("swing")
    k = m.parameter("k", 3.0)
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1.0)), axis="y")
    m.force(hinge, lambda x, v, t: -k * x)
    s = m.compile()
    vector = lambda value: np.array([value if n == "k" else x for n, x in s.parameters.items()])
    run = lambda value, **options: s.simulate({"hinge.angle": 1.0}, 5.0, parameters=vector(value), **options)["hinge.angle"][-1]
    own = s.simulate({"hinge.angle": 1.0}, 5.0, rtol=1e-4, atol=1e-6)
    exact = (run(3.0 + 1e-4, rtol=1e-12, atol=1e-13) - run(3.0 - 1e-4, rtol=1e-12, atol=1e-13)) / 2e-4
    for h in (1e-3, 1e-5, 1e-7):
        quotient = (run(3.0 + h, steps=own) - run(3.0 - h, steps=own)) / (2 * h)
        assert quotient == pytest.approx(exact, rel=2e-3)


def test_events_cut_given_steps(systems):
    s, start = systems("projected", jumps=True)
    inputs = {"motor": 1.5}
    first = s.simulate(start, 0.8, "dopri5", inputs=inputs)
    assert (np.diff(first.t) == 0.0).any()
    again = s.simulate(start, 0.8, "dopri5", inputs=inputs, steps=first)
    assert again["heat"][-1] == pytest.approx(first["heat"][-1], rel=1e-9)
    other = s.simulate(start, 0.8, "dopri5", inputs={"motor": 1.6}, steps=first)  # its events come at other times
    tight = s.simulate(start, 0.8, "dop853", inputs={"motor": 1.6}, rtol=1e-11, atol=1e-12)
    assert other["heat"][-1] == pytest.approx(tight["heat"][-1], rel=1e-6)


def test_instants_and_refusals(systems):
    s, start = systems("projected")
    instants = np.array([0.0, 0.01, 0.015, 0.04, 0.05])
    sol = s.simulate(start, 0.05, "dopri5", steps=instants)
    np.testing.assert_array_equal(sol.t, instants)
    for method in ("adams", "radau"):
        with pytest.raises(InputError, match=f"method '{method}' cannot take given steps.*use one of euler"):
            s.simulate(start, 0.05, method, steps=instants)
    with pytest.raises(InputError, match="generalised-α runs take no option 'steps'"):
        s.simulate(start, 0.05, "generalized-alpha", steps=instants)
    with pytest.raises(InputError, match="steps= gives every step; leave out step="):
        s.simulate(start, 0.05, "rk4", steps=instants, step=1e-3)
    with pytest.raises(InputError, match="do not cover the run from 0 to 0.06 s"):
        s.simulate(start, 0.06, "rk4", steps=instants)
    with pytest.raises(InputError, match="must be finite, at least two, and in the order"):
        s.simulate(start, 0.05, "rk4", steps=instants[::-1])
    with pytest.raises(InputError, match="has not kept every step"):
        s.simulate(start, 0.05, "dopri5", steps=s.simulate(start, 0.05, outputs=5))
    with pytest.raises(InputError, match="neither a solution nor instants"):
        s.simulate(start, 0.05, "dopri5", steps="rk4")
    d = machine().compile(formulation="directors")
    with pytest.raises(InputError, match="directors runs take no option 'steps'"):
        d.simulate(start, 0.05, steps=instants)
