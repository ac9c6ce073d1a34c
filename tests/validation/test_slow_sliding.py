"""Contacts that begin to slide, and that end to, in any direction: the direction follows the force the faster the slower they slide."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jourdain as jd

SIDES = np.array([0.2, 0.15, 0.1])
PLACE = ("free.x", "free.y", "free.z", "free.orientation.e0", "free.orientation.e1", "free.orientation.e2")


@cache
def box() -> jd.System:
    m = jd.Model("box")
    m.ground.shapes += [jd.plane()]
    m.free("free", m.ground, m.body("box", shape=jd.box(*SIDES, density=1000.0)))
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    return m.compile()


def on_a_corner(seed: int) -> jd.State:
    """A box that is let go 1 cm above the floor, one corner down."""
    turn = Rotation.random(random_state=seed)
    low = 0.5 * np.abs(turn.as_matrix()[2]) @ SIDES
    x, y, z, w = turn.as_quat()
    return box().state({"free.z": low + 0.01} | {f"free.orientation.e{k}": e for k, e in enumerate((w, x, y, z))})


def fallen(seed: int, **way: Any) -> tuple[jd.Solution, np.ndarray]:
    sol = box().simulate(on_a_corner(seed), t=0.17, **way)
    return sol, np.array([sol[name][-1] for name in PLACE])


@pytest.mark.filterwarnings("ignore:.*steps have reached:RuntimeWarning")
@pytest.mark.parametrize("seed", [4, 8, 11])
def test_a_box_that_sticks_on_a_corner_and_slips_is_as_exact_as_its_tolerance(seed: int) -> None:
    """It needed 20 000 steps for a hundred microseconds.  Places at 0.17 s by rtol 1e-6, 1e-8, 1e-10; energy and what friction took make up what there was."""
    (coarse, a), (fine, b), (_, c) = (
        fallen(seed, rtol=rtol, atol=0.01 * rtol, method=method) for rtol, method in ((1e-6, "dopri5"), (1e-8, "dopri5"), (1e-10, "dop853"))
    )
    assert coarse.statistics["steps"] < 400 and fine.statistics["steps"] < 3000
    assert np.abs(a - c).max() < 1e-6 and np.abs(b - c).max() < 1e-8
    taken = fine["contacts.dissipated"][-1]
    assert taken > 0.05 and fine["energy.total"][0] - fine["energy.total"][-1] == pytest.approx(taken, abs=1e-8)


@pytest.mark.parametrize("seed", [4, 8])
def test_moreaus_steps_come_to_the_same_place(seed: int) -> None:
    """An impact is at the end of its step, wherever it is in it: errors are up to a part of the step, in m and s, and scatter below that."""
    _, exact = fallen(seed)
    for h in (1e-3, 2.5e-4, 6.25e-5):
        assert np.abs(fallen(seed, method="moreau", step=h)[1] - exact).max() < 2.0 * h


def test_runs_of_auto_keep_their_contacts() -> None:
    """At the limit of stability no other sort of method takes over: none knows set-valued laws."""
    sol, _ = fallen(8)
    assert "turns" not in sol.statistics
    assert len(sol.contacts.impacts) == 1
