"""Several analyses a design: closed forms of a run, its modes and another model at once."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr


def oscillator(name: str = "oscillator", hung: bool = False) -> jd.System:
    m = jd.Model(name, gravity=(0, 0, -9.81) if hung else (0, 0, 0))
    k, c = m.parameter("k", 3.0, "N/m", bounds=(0.5, 20.0)), m.parameter("c", 0.3, "N s/m", bounds=(0.05, 5.0))
    slide = m.prismatic("z", m.ground, m.body("mass", mass=1.0), axis="z")
    m.joint_spring(slide, k, damping=c)
    return m.compile()


def analyses() -> dict[str, jd.Analysis]:
    s = oscillator()
    swing = jd.Analysis(s, "simulate", {"z.displacement_rate": 1.0}, t=80.0, rtol=1e-9, atol=1e-12)
    return {"swing": swing, "modes": jd.Analysis(s, "modal", {}), "hung": jd.Analysis(oscillator("other", True), "equilibrium", {})}


def test_gradients_of_three_analyses() -> None:
    """∫ẍ² = c/2 + k/(2c), f = √k/2π and −g/k by k and c, exactly."""
    problem = jd.Problem(analyses(), ["k", "c"], {"swing.shake": cr.integral("z.displacement_acc^2"), "modes.f": cr.frequency(0), "hung.sag": cr.value("-z.displacement")})  # fmt: skip
    g = problem.analysis.gradient(problem.minimise, ["k", "c"])
    k, c = 3.0, 0.3
    expected = [[1 / (2 * c), 0.5 - k / (2 * c**2)], [1 / (4 * np.pi * np.sqrt(k)), 0.0], [-9.81 / k**2, 0.0]]
    assert g.matrix == pytest.approx(np.array(expected), rel=1e-6, abs=1e-9)
    assert problem.analysis.evaluate(problem.minimise, {"k": k, "c": c}) == pytest.approx(dict(g.values), rel=1e-12)


def test_a_run_under_constraints_of_others() -> None:
    """Least ∫ẍ² = c/2 + k/(2c) with a sag of at most 2 m: k = 9.81/2, c = √k."""
    problem = jd.Problem(
        analyses(), ["k", "c"], {"swing.shake": cr.integral("z.displacement_acc^2")}, {"hung.sag": cr.value("-z.displacement") <= "2 m"}
    )
    best = problem.optimise()
    assert best.values["k"] == pytest.approx(9.81 / 2, rel=1e-5) and best.values["c"] == pytest.approx(np.sqrt(9.81 / 2), rel=1e-3)
    assert best.active == ["hung.sag"]
    best.apply()
    assert {a.system.parameters["k"] for a in problem.analysis.analyses.values()} == {best.values["k"]}


def test_criteria_without_an_analysis() -> None:
    with pytest.raises(jd.InputError, match=r"criterion 'shake' names none of the analyses.*swing, modes, hung"):
        jd.Problem(analyses(), ["k"], {"shake": cr.integral("z.displacement^2")}).optimise()
