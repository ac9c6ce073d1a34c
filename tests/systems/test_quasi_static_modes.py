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


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive"])
def test_quasi_static_modes_are_the_limit_of_vibrating_ones(formulation: str) -> None:
    """Steps of eight radians of the first mode and more: the difference from the full motion falls with the square of the stiffness."""
    gaps = []
    for E in (2.0e11, 8.0e11):
        s = swing(E).compile(formulation=formulation)
        start = s.quasi_static({})
        full = s.simulate(start, t=0.5, rtol=1e-10, atol=1e-13)
        few = s.simulate(start, t=0.5, method="generalized-alpha", step=2e-2, quasi_static="arm.*")
        gaps.append(np.abs(few["arm.mode1"] - full.at(few.t)["arm.mode1"]).max())
        assert gaps[-1] < 2e-4 * np.abs(full["arm.mode1"]).max()
    assert 8.0 < gaps[0] / gaps[1] < 32.0  # e ∝ 1/E, and the part left out ∝ 1/E of that


@pytest.mark.parametrize(("method", "share"), [("generalized-alpha", 1e-3), ("hht", 0.05), ("newmark", 5e-3)])
@pytest.mark.parametrize("formulation", ["recursive", "cartesian"])
def test_a_mode_at_rest_elsewhere_falls_to_its_load(method: str, share: float, formulation: str) -> None:
    """Within what the scheme makes of the driven motion in steps of 10 ms, which in Cartesian coordinates is part of it."""
    s = swing().compile(formulation=formulation)
    full = s.simulate(s.quasi_static({}), t=0.5, rtol=1e-10, atol=1e-13)
    few = s.simulate({}, t=0.5, method=method, step=1e-2, quasi_static="arm.*")
    late = few.t > 0.3
    expected = full.at(few.t[late])["arm.mode1"]
    assert np.abs(few["arm.mode1"][late] - expected).max() < share * np.abs(expected).max()


@pytest.mark.parametrize("formulation", ["recursive", "cartesian"])
@pytest.mark.parametrize("frame", ["pinned", "tangent", "mean axes"])
def test_loops_of_any_frame_keep_closed(formulation: str, frame: str) -> None:
    """Joint coordinates of a loop make good for what modes do at their nodes."""
    s = loop(frame).compile(formulation=formulation)
    start = s.quasi_static(s.assemble())
    full = s.simulate(start, t=0.1, rtol=1e-9)
    few = s.simulate(start, t=0.1, method="generalized-alpha", step=1e-3, quasi_static=["rod.mode3", "rod.mode4"])
    for name in ("rod.mode1", "rod.mode3", "guide.displacement"):
        size = np.abs(full[name]).max()
        assert np.abs(few[name] - full.at(few.t)[name]).max() < 0.05 * size + 1e-7


def test_restarts_and_steppers_go_on_with_quasi_static_modes() -> None:
    s = swing().compile()
    options = {"method": "generalized-alpha", "step": 1e-3, "quasi_static": ["arm.mode2", "arm.mode3"]}
    whole = s.simulate({}, t=0.4, **options)
    second = s.simulate(s.simulate({}, t=0.2, **options), t=0.2, **options)
    assert second["arm.mode1"][-1] == whole["arm.mode1"][-1] and second["arm.mode3"][-1] == whole["arm.mode3"][-1]
    stepper = s.stepper({}, step=1e-3, method="generalized-alpha", quasi_static=["arm.mode2", "arm.mode3"])
    for _ in range(400):
        stepper.advance()
    assert stepper.state.q[s.coordinate_names.index("arm.mode3")] == pytest.approx(whole["arm.mode3"][-1], rel=1e-6)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"method": "generalized-alpha", "step": 1e-3, "quasi_static": "arm.mode9"},
            r"'arm.mode9' is no mode .* there are arm.mode1, arm.mode2",
        ),
        ({"method": "generalized-alpha", "step": 1e-3, "quasi_static": "hinge.angle"}, r"'hinge.angle' is no mode"),
        ({"method": "generalized-alpha", "quasi_static": "arm.*"}, r"quasi_static: steps that adapt would resolve them; give a step"),
        (
            {"method": "generalized-alpha", "step": 1e-4, "quasi_static": "arm.mode1"},
            r"'arm.mode1' has 65.4.* Hz, which steps of 0.0001 s resolve",
        ),
        ({"method": "generalized-alpha", "step": 1e-2, "rho": 0.9, "quasi_static": "arm.*"}, r"rho = 0, the default .* not with rho = 0.9"),
        ({"method": "trapezoidal", "step": 1e-2, "quasi_static": "arm.*"}, r"not with the trapezoidal rule"),
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
