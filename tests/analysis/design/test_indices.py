"""Sobol's indices and elementary effects of Ishigami's function, written as a criterion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr

PI = float(np.pi)


@pytest.fixture(scope="module")
def ishigami() -> jd.Problem:
    """sin x₁ + 7 sin² x₂ + 0.1 x₃⁴ sin x₁ over (−π, π)³, as the value at the end of an idle run."""
    m = jd.Model("ishigami", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    for i in (1, 2, 3):
        m.parameter(f"x{i}", 0.3, bounds=(-PI, PI))
    run = jd.Analysis(m.compile(), "simulate", {}, t=0.01)
    return jd.Problem(run, ["x1", "x2", "x3"], {"y": cr.final("sin(x1) + 7*sin(x2)^2 + 0.1*x3^4*sin(x1)")})


def test_shares_of_the_variance(ishigami: jd.Problem, tmp_path: Path) -> None:
    """Exact: V = 49/8 + π⁴/50 + π⁸/1800 + 1/2, V₁ = (1 + π⁴/50)²/2, V₂ = 49/8, V₁₃ = 8π⁸/(225·100)."""
    V1, V2, V13 = 0.5 * (1 + PI**4 / 50) ** 2, 49 / 8, 8 * PI**8 / 22500
    V = V1 + V2 + V13
    found = ishigami.sensitivity("sobol", samples=512)
    assert found.first[0] == pytest.approx([V1 / V, V2 / V, 0.0], abs=0.04)
    assert found.total[0] == pytest.approx([(V1 + V13) / V, V2 / V, V13 / V], abs=0.04)
    assert found.runs == 512 * 5 and (found.first_error < 0.15).all()
    found.plot(file=tmp_path / "shares.png")
    assert "first" in str(found) and (tmp_path / "shares.png").stat().st_size > 5000


def test_elementary_effects(ishigami: jd.Problem) -> None:
    """x₃ acts through x₁ only: a large spread beside its mean; workers change no bit."""
    found = ishigami.sensitivity("morris", samples=40)
    assert found.runs <= 40 * 4 and found.first.shape == (1, 3) and found.total[0, 2] > 0.8 * found.first[0, 2]
    again = ishigami.sensitivity("morris", samples=40, workers=2)
    assert (again.first == found.first).all()


def test_effects_of_a_plane_are_its_slopes() -> None:
    m = jd.Model("plane", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    for n in ("a", "b"):
        m.parameter(n, 0.5, bounds=(0.0, 2.0))
    plane = jd.Problem(jd.Analysis(m.compile(), "simulate", {}, t=0.01), ["a", "b"], {"y": cr.final("3*a - 5*b")})
    found = plane.sensitivity("morris", samples=8)
    assert found.first[0] == pytest.approx([6.0, 10.0], rel=1e-12) and found.total[0] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_bad_input(ishigami: jd.Problem) -> None:
    with pytest.raises(jd.InputError, match="'sobol' or 'morris'"):
        ishigami.sensitivity("fast")
    with pytest.raises(jd.InputError, match="power of two"):
        ishigami.sensitivity("sobol", samples=100)
