"""Runs of assembled systems as scenes: bodies stand where their directors say."""

import numpy as np
import pytest

from jourdain.analysis.assembled_system import AssembledSystem
from jourdain.errors import InputError
from jourdain.formalisms.elements.pairs import Ground, Spherical
from jourdain.formalisms.elements.potentials import CoordinatePotential, PointMass
from jourdain.formalisms.elements.rigid import DirectorBody
from jourdain.view.shape import box


def pendulum() -> AssembledSystem:
    s = AssembledSystem("ball pendulum")
    q = DirectorBody.coordinates_of((0.5, 0.0, 0.0))
    body = s.coordinates("bar", 12, q, shape=box(1.0, 0.1, 0.1))
    s.add(DirectorBody(), "bar.body", {"body": body}, DirectorBody.numbers(1.0, (0.01, 0.1, 0.1), gravity=(0, 0, -9.81)))
    joint = Spherical(a=Ground())
    s.add(joint, "ball", {"b": body}, joint.place((0, 0, 0), b=q))
    free = s.coordinates("stone", 3, (0.0, 1.0, 0.0), (0.1, 0.0, 0.2))
    s.add(PointMass(), "stone.mass", {"x": free}, {"mass": 0.5})
    return s


def test_bodies_stand_where_the_solution_says(tmp_path):
    sol = pendulum().simulate(end=0.5, step=0.02)
    scene = sol.scene(trace=["stone"], plots=["energy.total"])
    assert [b.name for b in scene.bodies] == ["bar", "stone"]
    assert scene.body("bar").shapes[0].kind == "box"
    for t in (0.0, 0.24, 0.5):
        i = int(np.argmin(abs(sol.t - t)))
        position, e = scene.pose("bar", float(sol.t[i]))
        assert np.allclose(position, sol["bar.position"][i], atol=1e-12)
        R = sol["bar.rotation"][i]
        x_axis = [1 - 2 * (e[2] ** 2 + e[3] ** 2), 2 * (e[1] * e[2] + e[0] * e[3]), 2 * (e[1] * e[3] - e[0] * e[2])]
        assert np.allclose(x_axis, R[:, 0], atol=1e-9)
    sol.save_page(tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size > 100_000


def test_what_cannot_be_seen_or_traced_is_said():
    sol = pendulum().simulate(end=0.02, step=0.02)
    with pytest.raises(InputError, match="no coordinates 'rod' to trace; use bar, stone"):
        sol.scene(trace=["rod"])
    s = AssembledSystem("oscillator")
    x = s.coordinates("x", 1, 1.0)
    s.add(PointMass(1), "mass", {"x": x}, {"mass": 1.0})
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 4.0, "rest": 0.0})
    with pytest.raises(InputError, match="single numbers"):
        s.simulate(end=0.1, step=0.05).scene()
