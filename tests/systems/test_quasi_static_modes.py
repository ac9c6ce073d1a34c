"""Modes that follow their loads at once in generalised-α runs, and the note on the mode that steps follow."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd

st = jd.structures


def swing(E: float = 2.0e11, modes: int = 3, lift: float = 0.0) -> jd.Model:
    """A beam clamped to a driven hub with a mass at its tip, hung in gravity."""
    m = jd.Model("swing")
    part = st.beam((0, 0, 0), (0.5, 0, 0), st.rectangle(0.01, 0.02), st.Material(E, 0.3, 7800.0), elements=8)
    hub = m.body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    arm = m.flexible_body("arm", part, frame="tangent", at="start", modes=modes, bending="z")
    hinge = m.revolute("hinge", m.ground, hub, axis="y")
    m.fixed("clamp", hub, arm.node("start"))
    m.fixed("load", arm.node("end"), m.body("tip", mass=0.3, inertia=(1e-4,) * 3))
    m.drive(hinge, lambda t: 0.3 * jd.sin(3.0 * t) + lift)
    return m


def loop(frame: str = "tangent", **options: object) -> jd.Model:
    m = jd.Model("loop", gravity=(0, 0, -9.81))
    part = st.beam((0, 0, 0), (0.305, 0, 0), st.circle(0.0064), st.Material(2.0e11, 0.3, 7705.0), elements=10)
    crank = m.body("crank", mass=0.0378, com=(0.076, 0, 0), inertia=(1.9e-7, 7.324e-5, 7.324e-5))
    rod = m.flexible_body("rod", part, frame=frame, modes=4, **({"at": "start"} if frame == "tangent" else {}), **options)
    slider = m.body("slider", mass=0.0626, inertia=(4.18e-6,) * 3)
    main = m.revolute("main", m.ground, crank, axis="z")
    m.universal("pin", crank.at(0.152, 0, 0), rod.node("start"), axes=("z", "y"))
    m.spherical("wrist", rod.node("end"), slider, cut=True)
    m.prismatic("guide", m.ground, slider, axis="x")
    m.drive(main, lambda t: 20.0 * t)
    return m


def test_a_quasi_static_mode_stands_where_its_row_is_met() -> None:
    """At every step K e = the loads of gravity and of the drive's motion, with ė = ë = 0: what the static problem of the instant gives."""
    s = swing().compile()
    sol = s.simulate({}, t=1.0, method="generalized-alpha", step=1e-3, quasi_static="arm.*")
    for k in (1, 100, 737, 1000):
        x = s.state({n: sol[n][k] for n in s.coordinate_names}).with_values(t=float(sol.t[k]))
        assert np.abs(s.accelerations(x)).max() < 1e-4  # without the amplitudes, thousands
    assert np.abs(sol["arm.mode1_rate"]).max() == 0.0 and np.abs(sol["arm.mode1"])[1:].min() > 1e-5


def test_cartesian_coordinates_agree_where_the_start_is_quasi_static() -> None:
    """There the tip is a body of its own, which keeps its inertia: both are the slow motion of a stiff mode."""
    found = []
    for formulation in ("recursive", "cartesian"):
        s = swing().compile(formulation=formulation)
        found.append(
            s.simulate(s.quasi_static({}), t=0.3, method="generalized-alpha", step=5e-4, rho=0.5, quasi_static="arm.*")["arm.mode1"]
        )
    assert np.abs(found[1] - found[0]).max() < 5e-5 * np.abs(found[0]).max()


def test_stiff_modes_as_quasi_static_are_the_limit_of_vibrating_ones() -> None:
    """The difference of the tip's load from the full model falls with the square of the stiffness, steps being far longer than the period."""
    gaps = []
    for E in (2.0e11, 8.0e11):
        s = swing(E).compile()
        start = s.quasi_static({})
        full = s.simulate(start, t=0.5, rtol=1e-10, atol=1e-13)
        few = s.simulate(start, t=0.5, method="generalized-alpha", step=2e-3, quasi_static="arm.*")
        gaps.append(np.abs(few["arm.mode1"] - full.at(few.t)["arm.mode1"]).max())
        assert np.abs(full["arm.mode1"]).max() > 100 * gaps[-1]
    assert 8.0 < gaps[0] / gaps[1] < 32.0  # e ∝ 1/E, and the part left out ∝ 1/E of that


@pytest.mark.parametrize("method", ["generalized-alpha", "hht", "newmark", "trapezoidal"])
def test_every_scheme_and_formulation_closes_loops_with_quasi_static_modes(method: str) -> None:
    rho = {} if method == "trapezoidal" else {"rho": 0.9}
    found = []
    for formulation in ("recursive", "cartesian"):
        s = loop().compile(formulation=formulation)
        sol = s.simulate(s.assemble(), t=0.1, method=method, step=2e-4, quasi_static=["rod.mode3", "rod.mode4"], **rho)
        found.append([sol[f"rod.mode{k}"][-1] for k in (1, 2, 3, 4)] + [sol["guide.displacement"][-1]])
    np.testing.assert_allclose(found[0], found[1], rtol=2e-3, atol=1e-8)
    full = s.simulate(s.assemble(), t=0.1, rtol=1e-9)
    assert found[0][4] == pytest.approx(full["guide.displacement"][-1], abs=1e-5)


def test_restarts_events_and_steppers_go_on_with_quasi_static_modes() -> None:
    s = swing().compile()
    options = {"method": "generalized-alpha", "step": 1e-3, "quasi_static": ["arm.mode2", "arm.mode3"]}
    whole = s.simulate({}, t=0.4, **options)
    first = s.simulate({}, t=0.2, **options)
    second = s.simulate(first, t=0.2, **options)
    assert second["arm.mode1"][-1] == whole["arm.mode1"][-1] and second["arm.mode3"][-1] == whole["arm.mode3"][-1]
    plain = s.simulate({}, t=0.4, method="generalized-alpha", step=1e-3)  # what was static is not any more
    again = s.simulate({}, t=0.4, **options)
    assert plain["arm.mode3"][-1] != whole["arm.mode3"][-1] and again["arm.mode3"][-1] == whole["arm.mode3"][-1]
    stepper = s.stepper({}, step=1e-3, method="generalized-alpha", quasi_static=["arm.mode2", "arm.mode3"])
    for _ in range(400):
        stepper.advance()
    assert stepper.state.q[s.coordinate_names.index("arm.mode3")] == pytest.approx(whole["arm.mode3"][-1], rel=1e-9)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"method": "generalized-alpha", "step": 1e-3, "quasi_static": "arm.mode9"},
            r"'arm.mode9' is no mode .* there are arm.mode1, arm.mode2",
        ),
        ({"method": "generalized-alpha", "step": 1e-3, "quasi_static": "hinge.angle"}, r"'hinge.angle' is no mode"),
        ({"method": "generalized-alpha", "quasi_static": "arm.*"}, r"quasi_static.* give the step"),
        ({"quasi_static": "arm.*"}, r"take no option 'quasi_static'"),
        ({"method": "radau", "quasi_static": "arm.*"}, r"take no option 'quasi_static'"),
    ],
)
def test_what_cannot_be_quasi_static_is_told(options: dict, told: str) -> None:
    with pytest.raises(jd.InputError, match=told):
        swing().compile().simulate({}, t=0.1, **options)


def test_the_note_names_the_mode_that_steps_follow() -> None:
    s = swing(modes=4).compile()
    part = s.model.bodies["arm"].part  # type: ignore[attr-defined]
    sol = s.simulate({}, t=0.4)
    note = sol.metadata["note"]
    assert "'arm.mode4'" in note and "quasi_static=['arm.mode4']" in note and note in str(sol)
    fastest = max(part.frequencies[-1], part.free_frequencies[-1]) / (2 * np.pi)
    assert f"{fastest:.4g} Hz" in note
    assert "note" not in s.simulate({}, t=0.4, method="generalized-alpha", step=1e-4).metadata
    assert "note" not in s.simulate({}, t=0.001).metadata
    rigid = jd.library.pendulum().compile().simulate({"hinge.angle": 1.0}, t=50.0)
    assert rigid.statistics["steps"] > 1000 and "note" not in rigid.metadata
