"""What a running study tells of itself: every design once, the front and the best so far, in the words of the page."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis import news as news_module
from jourdain.analysis.design import progress as told
from jourdain.analysis.design.front import hypervolume, undominated


@pytest.fixture(scope="module")
def problem() -> jd.Problem:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    k = m.parameter("k", 1.0, "N/m", bounds=(0.3, 4.0))
    c = m.parameter("c", 1.5, "N s/m", bounds=(0.5, 3.0))
    m.joint_spring(m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x"), k, damping=c)
    swing = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=40.0)
    both = {"shake": cr.integral("x.displacement_acc^2"), "sway": cr.integral("x.displacement^2")}
    return jd.Problem(swing, ["k", "c"], both, {"reach": cr.largest("x.displacement") <= 0.4})


def heard(problem: jd.Problem) -> list[dict[str, Any]]:
    """All that the page was told."""
    assert problem.page is not None
    return [json.loads(e.split("data: ", 1)[1]) for e in problem.page.events() if e.startswith("id:")]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news_module, "PAUSE", 0.0)


@pytest.mark.parametrize("workers", [None, 2])
def test_an_evolution_tells_its_front(problem: jd.Problem, at_once: None, workers: int | None) -> None:
    pytest.importorskip("pymoo")
    urls: list[str] = []
    front = problem.pareto("nsga2", population=8, generations=3, seed=1, watch=urls.append, workers=workers)
    assert problem.page is not None and urls == [problem.page.url]
    news = heard(problem)
    rows = [row for message in news for row in message["new"]]
    assert (
        len(rows) == len(problem.space.seen)
        and news[-1]["end"] == "done"
        and news[-1]["runs"] == problem.space.runs + problem.space.gradients
    )
    assert (news[-1]["done"], news[-1]["total"], news[-1]["stage"]) == (3, 3, "generations")
    # the front that was told, from scratch: of all designs that keep the constraint
    good = [i for i, row in enumerate(rows) if row["ok"]]
    y = np.array([rows[i]["y"] for i in good])
    assert sorted(news[-1]["front"]) == [good[i] for i in np.flatnonzero(undominated(y))]
    reference = y[: told.FIRST].max(axis=0)
    assert news[-1]["reference"] == reference.tolist()
    assert news[-1]["volume"] == pytest.approx(hypervolume(y, reference), rel=1e-12)
    volumes = [m["volume"] for m in news if m["volume"] is not None]
    assert volumes == sorted(volumes)
    assert {tuple(d.criteria.values()) for d in front} <= {tuple(rows[i]["y"]) for i in good}
    kept = {tuple(row["y"]) for row in rows if not row["ok"]}
    assert kept and not kept & {tuple(d.criteria.values()) for d in front}  # some miss the constraint, and are told so
    problem.page.close()


def test_an_optimisation_tells_its_best(problem: jd.Problem, at_once: None) -> None:
    best = problem.optimise({"shake": 1.0, "sway": 2.0}, watch=lambda _: None)
    news = heard(problem)
    assert news[-1]["best"]["value"] == pytest.approx(best.objective, rel=1e-6)
    course = [m["best"]["value"] for m in news if m["best"]]
    assert course == sorted(course, reverse=True)
    assert problem.page is not None
    problem.page.close()


def test_points_of_a_front_and_the_time_left(problem: jd.Problem, at_once: None, tmp_path: Path) -> None:
    first = problem.pareto("epsilon", points=4, samples=4, watch=lambda _: None, store=tmp_path / "a.db")
    before = heard(problem)
    assert [m for m in before if m["left"] is not None][-1]["left"] == 0.0 and before[-1]["done"] == before[-1]["total"] == 2
    again = problem.pareto("epsilon", points=4, samples=4, watch=lambda _: None, store=tmp_path / "a.db")
    assert again.values.tobytes() == first.values.tobytes()
    kept = heard(problem)
    assert kept[-1]["runs"] == 0 and all(m["left"] is None for m in kept)  # what comes from a store tells nothing of the time
    assert sum(len(m["new"]) for m in kept) == sum(len(m["new"]) for m in before)


def test_how_it_ended_is_told(problem: jd.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jd.Analysis, "evaluate", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        problem.optimise({"shake": 1.0}, watch=lambda _: None)
    assert "interrupted" in heard(problem)[-1]["end"]
    with pytest.raises(jd.InputError, match="watch = 'yes' must be True"):
        problem.optimise({"shake": 1.0}, watch="yes")  # type: ignore[arg-type]


def test_the_page_is_for_those_who_know_its_address(problem: jd.Problem) -> None:
    problem.sensitivity("morris", 4, watch=lambda _: None)
    assert problem.page is not None
    with problem.page as page:
        host, path = page.url.removeprefix("http://").split("/", 1)
        assert host.startswith("127.0.0.1:")

        def status(where: str, **headers: str) -> int:
            connection = HTTPConnection(host, timeout=20)
            connection.request("GET", where, headers=headers)
            reply = connection.getresponse()
            reply.read()
            connection.close()
            return reply.status

        assert status(f"/{path}") == 200
        assert status("/") == status("/events") == status("/wrong/events") == 404
        assert status(f"/{path}", Host="evil.example") == 403
