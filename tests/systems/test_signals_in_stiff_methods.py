"""Inputs that are signals of time in methods that need ∂f/∂t: the same run as with the expression of time in the law itself."""

import numpy as np
import pytest

import jourdain as jd

TIMES = np.linspace(0.0, 1.0, 21)
SIGNALS = {
    "function": lambda t: jd.sin(3.0 * t),
    "table": jd.table(TIMES, np.sin(3.0 * TIMES)),
    "arrays": (TIMES, np.sin(3.0 * TIMES)),
}
WAYS = {
    "tree": (False, {}),
    "projected": (True, {}),
    "reduced": (True, {"reduction": "reduced"}),
    "closed": (True, {"reduction": "closed"}),
    "semi-recursive": (True, {"formulation": "semi-recursive"}),
    "cartesian": (True, {"formulation": "cartesian"}),
    "natural": (False, {"formulation": "natural"}),
}


def swing(geared, signal, options):
    """A damped pendulum with a torque that is a signal, as an input or (a function) in its law; perhaps geared to a wheel."""
    m = jd.Model("swing", gravity=(0, 0, -9.81))
    joint = m.revolute("joint", m.ground, m.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0.0, 0.0)), axis="y")
    torque = m.input("torque") if signal is None else signal(m.time)
    m.force(joint, torque - 0.5 * joint.velocity)
    start = {"joint.angle": 0.3}
    if geared:
        wheel = m.revolute("wheel", m.ground, m.body("wheel", mass=1.0, inertia=(0.2, 0.2, 0.2)), axis="y")
        m.constraint("gear", joint.position - 2.0 * wheel.position)
    s = m.compile(**options)
    return s, s.assemble(start | {"wheel.angle": 0.15}) if geared else start


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["rosenbrock", "radau"])
def test_signals_take_the_steps_of_laws_of_time(way, method):
    """The reference is the run whose law holds the expression; without ∂u/∂t Rosenbrock's steps fall to order 1 (hundreds of times as many)."""
    geared, options = WAYS[way]
    settings = {"t": 1.0, "method": method, "rtol": 1e-8, "atol": 1e-10}
    s, start = swing(geared, SIGNALS["function"], options)
    by_law = s.simulate(start, **settings)
    s, start = swing(geared, None, options)
    by_input = s.simulate(start, inputs={"torque": SIGNALS["function"]}, **settings)
    assert by_input.statistics["steps"] == pytest.approx(by_law.statistics["steps"], rel=0.02)
    assert by_input["joint.angle"][-1] == pytest.approx(by_law["joint.angle"][-1], abs=1e-10)


@pytest.mark.parametrize("kind", SIGNALS)
def test_signals_of_every_kind_cost_what_the_motion_costs(kind):
    s, start = swing(False, None, {})
    rosenbrock = s.simulate(start, t=1.0, inputs={"torque": SIGNALS[kind]}, method="rosenbrock", rtol=1e-8, atol=1e-10)
    other = s.simulate(start, t=1.0, inputs={"torque": SIGNALS[kind]}, method="dop853", rtol=1e-11, atol=1e-13)
    assert rosenbrock.statistics["steps"] < 500
    assert rosenbrock["joint.angle"][-1] == pytest.approx(other["joint.angle"][-1], abs=1e-8)
