"""Times may be written with their unit wherever one is given."""

import numpy as np
import pytest

import jourdain as jd


def driven() -> tuple[jd.Model, jd.System]:
    m = jd.Model("slider")
    j = m.prismatic("x", m.ground, m.body("b", mass=2.0), axis="x", stiffness=8.0, damping=0.1)
    m.force(j, m.input("F", unit="N"))
    return m, m.compile()


def test_times_with_units_mean_what_they_say():
    m, s = driven()
    law = 3.0 - m.joints["x"].velocity
    by_text = s.simulate(t="0.1 s", inputs={"F": jd.Controller(law, period="2 ms")}, method="rk4", step="0.5 ms", outputs=11)
    by_number = s.simulate(t=0.1, inputs={"F": jd.Controller(law, period=2e-3)}, method="rk4", step=5e-4, outputs=11)
    assert np.array_equal(by_text["x.displacement"], by_number["x.displacement"])
    a, b = s.stepper({"x": 0.1}, step="1 ms"), s.stepper({"x": 0.1}, step=1e-3)
    assert a.step == b.step and np.array_equal(a.advance([0.0]), b.advance([0.0]))
    shake = {"F": 5.0 * jd.sin(3.0 * m.time)}
    ways = [s.periodic({}, period, inputs=shake).state["x"] for period in (2 * np.pi / 3, f"{2000 * np.pi / 3!r} ms")]
    assert ways[0] == pytest.approx(ways[1], rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda s: jd.Controller(lambda x: 0.0, period="2 mm"), "period.*mm"),
        (lambda s: jd.Controller(lambda x: 0.0, period="soon"), "period"),
        (lambda s: s.stepper({}, step="1 kg"), "step.*kg"),
        (lambda s: s.periodic({}, "1 rad"), "period.*rad"),
        (lambda s: s.simulate(t=1.0, inputs={"F": jd.Controller(lambda x: 0.0, period="-2 ms")}), "period -0.002 s must be a positive"),
    ],
)
def test_a_time_of_another_dimension_is_refused(wrong, told):
    with pytest.raises(jd.InputError, match=told):
        wrong(driven()[1])
