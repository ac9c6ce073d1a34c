"""The live page of a study in a headless browser: what was told is shown, while it runs and after."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis import news
from jourdain.analysis.design import progress as told
from jourdain.analysis.design.front import SAME
from jourdain.library import pendulum
from jourdain.view.chromium import Browser

pytestmark = pytest.mark.browser


def test_a_front_grows_in_the_page(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "PAUSE", 0.0)
    m = jd.Model("oscillator <b>", gravity=(0, 0, 0))
    c = m.parameter("c", 1.5, "N s/m", bounds=(0.2, 3.0))
    m.joint_spring(m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x"), 1.0, damping=c)
    swing = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=40.0)
    problem = jd.Problem(swing, ["c"], {"shake": cr.integral("x.displacement_acc^2"), "sway": cr.integral("x.displacement^2")})
    browser.messages.clear()
    seen: list[int] = []
    tick = told.Progress.tell

    def looked(self: told.Progress, at_once: bool = False, end: str = "") -> None:
        tick(self, at_once, end)
        if self.done == 2 and not seen and not end:  # while it runs
            browser.wait(f"study.rows.length === {len(self.values)}")
            seen.append(browser.evaluate("document.querySelectorAll('#s .front').length"))
            assert browser.evaluate("document.querySelector('#stage').textContent") == "points 2/3"

    monkeypatch.setattr(told.Progress, "tell", looked)
    front = problem.pareto("epsilon", points=5, samples=8, watch=browser.go)
    assert seen and problem.page is not None
    browser.wait("document.body.dataset.ended === 'yes' && document.querySelector('#end').textContent === 'done'")
    page = browser.evaluate("[study.rows.length, study.now.front.length, document.querySelector('h1').textContent]")
    assert page[0] == len(problem.space.seen) and page[2] == "oscillator <b>: front by epsilon"
    told_front = browser.evaluate("study.now.front.map(i => study.rows[i].y)")
    rows = browser.evaluate("study.rows.map(r => r.y)")
    for (
        d
    ) in front:  # all of them are told; the page's front takes every design that has run, the front one of those that are nearly the same
        y = list(d.criteria.values())
        assert y in rows and np.abs(np.array(told_front) - y).max(axis=1).min() < SAME
    browser.evaluate("document.querySelector('#s .front').onclick()")
    assert browser.evaluate("document.querySelectorAll('#t tr').length") == 2
    assert browser.messages == []
    problem.page.close()


def test_runs_of_a_sweep_in_the_page(browser: Browser) -> None:
    browser.messages.clear()
    outputs = {"end": "hinge.angle", "path": lambda sol: sol["hinge.angle"][:2]}
    parameters = {"length": [0.5, 1.0, 1.5, 2.0]}
    with pendulum().compile().sweep({"hinge.angle": 0.1}, 0.2, parameters, outputs=outputs, watch=browser.go, threads=2).page as page:
        browser.wait("document.body.dataset.ended === 'yes' && document.querySelector('#end').textContent === 'done'")
        assert browser.evaluate("[...study.rows].sort((a, b) => a.n - b.n).map(r => r.x[0])") == parameters["length"]
        assert browser.evaluate("document.querySelectorAll('#s .dot').length") == 4  # end over length
        assert (
            browser.evaluate("['h', 'besttile', 'volumetile'].map(i => document.getElementById(i).getBoundingClientRect().width === 0)")
            == [True] * 3
        )
        browser.evaluate("document.querySelector('#b').value = 2, document.querySelector('#b').onchange()")
        assert browser.evaluate("document.querySelectorAll('#s .dot').length") == 0  # what is not one number is not drawn
        assert page.url.startswith("http://127.0.0.1:") and browser.messages == []
