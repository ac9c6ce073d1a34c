"""The page of a front: all designs with their numbers, and a page of motion for each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.design.front import Front


def front() -> Front:
    m = jd.Model("oscillator <1>", gravity=(0, 0, 0))
    c = m.parameter("c", 0.4, "N s/m", bounds=(0.1, 3.0))
    slide = m.prismatic("x", m.ground, m.body("mass", mass=1.0, shape=jd.box(0.1, 0.1, 0.1)), axis="x")
    m.joint_spring(slide, 1.0, damping=c)
    swing = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=10.0)
    problem = jd.Problem(swing, ["c"], {"shake": cr.integral("x.displacement_acc^2"), "way": cr.integral("x.displacement^2")})
    return problem.pareto(points=3, samples=4, progress=False)


def test_a_page_with_designs_that_play(tmp_path: Path) -> None:
    found = front()
    page = found.save_page(tmp_path / "front.html")
    text = page.read_text(encoding="utf-8")
    assert "oscillator &lt;1&gt;" in text and "__DATA__" not in text and "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    data = json.loads(text.split("const D=")[1].split(";const NS")[0])
    assert data["names"] == ["shake", "way", "c"] and data["units"] == ["m^2/s^3", "m^2 s", "N s/m"] and data["criteria"] == 2
    assert [row["x"] for row in data["rows"]] == [[*d.criteria.values(), *d.values.values()] for d in found.designs]
    assert found.designs[data["knee"]] is found.knee
    for row in data["rows"]:
        assert (tmp_path / row["page"]).stat().st_size > 50_000
    plain = found.save_page(tmp_path / "plain.html", play=False)
    assert "page" not in plain.read_text(encoding="utf-8").split("const D=")[1].split(";const NS")[0] and not (tmp_path / "plain").exists()


def test_an_empty_front(tmp_path: Path) -> None:
    from dataclasses import replace

    with pytest.raises(jd.InputError, match="no design to show"):
        replace(front(), designs=()).save_page(tmp_path / "none.html")
