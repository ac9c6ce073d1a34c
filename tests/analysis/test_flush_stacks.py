"""Boxes of one size that stand flush on a board: corners lie on edges, and yet small motions and forces are those of joints in their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import SolverError

G, FORMULATIONS = 9.81, ("recursive", "cartesian", "natural", "directors")


def tray(friction: float | None, formulation: str = "recursive", joint: str = "fixed", speed: float = 0.0) -> tuple[Any, dict[str, float]]:
    """Two boxes on a board that swings about a hinge above them; without friction= joints hold them."""
    m = jd.Model("tray")
    board = m.body("board", shape=jd.box(0.1, 0.1, 0.02, density=2000.0))
    m.revolute("hinge", m.ground, board.at(0, 0, 0.5), axis="y")
    start, below, top = {"hinge.angle_rate": speed}, board, 0.01
    for i, height in enumerate((0.44, 0.34)):
        box = m.body(f"b{i}", shape=jd.box(0.1, 0.1, 0.1, density=1000.0))
        if friction is None:
            m.joint(joint, f"f{i}", below.at(0, 0, top), box.at(0, 0, -0.05))
        else:
            m.free(f"f{i}", m.ground, box)
            start |= {f"f{i}.z": -height, f"f{i}.x_rate": -height * speed, f"f{i}.orientation.omega_y": speed}
        below, top = box, 0.05
    if friction is not None:
        m.contact("all", law=jd.contact.rigid(friction=friction))
    return m.compile(formulation=formulation), start


def frequencies(s: Any, start: dict[str, float]) -> np.ndarray:
    return np.sort([abs(mode.eigenvalue) for mode in s.modal(start) if mode.kind != "rigid"])


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("friction", "joint"), [(0.5, "fixed"), (0.0, "planar")])
def test_modes_are_those_of_joints(formulation: str, friction: float, joint: str) -> None:
    np.testing.assert_allclose(frequencies(*tray(friction, formulation)), frequencies(*tray(None, formulation, joint)), rtol=1e-10)


def test_small_motions_about_one_that_goes_on() -> None:
    """At a speed, centrifugal forces add to the weight."""
    touching, held = (tray(friction, speed=1.5) for friction in (0.5, None))
    found, known = (np.sort_complex(s.linearise(start, inputs=[], outputs=[]).eigenvalues) for s, start in (touching, held))
    np.testing.assert_allclose(np.sort(np.abs(found))[-len(known) :], np.sort(np.abs(known)), rtol=1e-7)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_forces_for_rest_are_weights(formulation: str) -> None:
    """Each box is carried by m g net, inside the cones; no joint pushes."""
    s, start = tray(0.5, formulation)
    for found in (s.static_forces(start), s.inverse_dynamics_along(s.simulate(start, 0.004, "moreau", step=1e-3))):
        np.testing.assert_allclose(found["hinge"], 0.0, atol=1e-9)
        for box in ("b0", "b1"):
            np.testing.assert_allclose(np.atleast_2d(found.contact_forces[f"all.{box}.force"])[-1], [0.0, 0.0, G], atol=1e-9)
        assert "all.b1.force" in str(found)


def test_an_edge_that_slides_is_refused_with_a_remedy() -> None:
    s, start = tray(0.5)
    with pytest.raises(SolverError, match=r"a point of it ends nearby.*contacts=\{'all.b1': 'sticking'\}"):
        s.linearise(start | {"f1.x_rate": 0.1})
