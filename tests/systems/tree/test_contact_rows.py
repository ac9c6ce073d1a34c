"""Rows of runs with rigid contacts that are not those of its steps: given times, resampled runs, files and pages of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd

START = {"free.z": 0.3, "free.x_rate": 1.0, "slide.displacement_rate": 1.0}
WAYS: tuple[dict[str, Any], ...] = ({"method": "moreau", "step": 1e-3}, {"rtol": 1e-9})
BOOKS = ("energy.supplied", "energy.dissipated", "energy.error")


def pushed_ball() -> jd.Model:
    """A ball that a force pushes over a floor, beside a slide with a damper."""
    m = jd.Model("rows")
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.free("free", m.ground, ball)
    m.load("push", ball, force=(0.3 * m.input("F", 2.0), 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("sled", mass=1.0, inertia=(1, 1, 1)), axis="x", damping=0.5)
    m.output("acceleration", slide.acceleration)
    m.contact("floor", ball, m.ground, law=jd.contact.rigid(friction=0.2, restitution=0.5))
    return m


@pytest.mark.parametrize("way", WAYS, ids=("steps", "events"))
def test_all_channels_are_known_at_other_rows(way: dict[str, Any], tmp_path: Path) -> None:
    s = pushed_ball().compile()
    full = s.simulate(START, t=0.5, **way)
    for rows in (s.simulate(START, t=0.5, outputs=51, **way), full.resample(51)):
        for name in BOOKS:  # between given rows a run knows no more than straight lines
            assert rows[name][-1] == pytest.approx(full[name][-1], abs=2e-5)
        np.testing.assert_allclose(rows["slide.displacement_acc"], -0.5 * rows["slide.displacement_rate"], atol=2e-3)
        rows.save(tmp_path / "rows.npz")
        again = jd.load_solution(tmp_path / "rows.npz")
        assert set(again.names) == set(rows.names)
        np.testing.assert_array_equal(again["acceleration"], rows["acceleration"])


@pytest.mark.parametrize("way", WAYS, ids=("steps", "events"))
def test_between_its_rows_accelerations_are_interpolated_like_forces_of_contacts(way: dict[str, Any]) -> None:
    full = pushed_ball().compile().simulate(START, t=0.5, **way)
    mass = 1000.0 * 4 / 3 * np.pi * 0.05**3
    assert full.at(0.1234)["free.x_acc"] == pytest.approx(0.6 / mass, rel=1e-6)  # in flight
    late = full.at(0.4997)
    assert mass * late["free.x_acc"] == pytest.approx(late["floor.ball.force"][0] + 0.6, abs=1e-6)


def test_a_page_follows_a_file(tmp_path: Path) -> None:
    run = pushed_ball().compile().simulate(START, t=0.2, method="moreau", step=5e-3)
    run.save(tmp_path / "run.npz")  # every channel is computed now
    run.save_page(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size > 1000
