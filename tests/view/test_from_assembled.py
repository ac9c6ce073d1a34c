"""Runs of assembled systems as scenes: bodies stand where their directors say."""

import numpy as np
import pytest

from jourdain.elements.pairs import Ground, Spherical
from jourdain.elements.potentials import CoordinatePotential, PointMass
from jourdain.elements.rigid import DirectorBody
from jourdain.errors import InputError
from jourdain.systems.assembled.system import AssembledSystem
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


def test_invented_shapes_show_joints_springs_and_points():
    # a planar manipulator: every body is drawn by rods between its joints, whose ends meet
    from jourdain.library.conserving import dumbbell, prism_pendulum
    from jourdain.library.manipulators import planar_manipulator

    scene = planar_manipulator().simulate(0.05, 0.01).scene()
    assert len(scene.body("platform").shapes) == 3
    assert [len(scene.body(f"link{k}").shapes) for k in (4, 5, 6)] == [1, 1, 1]
    # four points each make two bodies with an edge in common: six edges and six
    scene = prism_pendulum().simulate(0.01, 0.001).scene()
    assert sum(link.kind == "rod" for link in scene.links) == 12
    assert {b.name for b in scene.bodies} == {"O", "O2", "A", "T", "B", "S", "U"}
    # two masses and their spring
    scene = dumbbell().simulate(0.02, 0.01).scene()
    assert [(link.kind, link.a[0], link.b[0]) for link in scene.links] == [("spring", "first", "second")]


def test_a_body_without_joints_is_the_box_of_its_inertia():
    s = AssembledSystem("brick")
    edges, mass = np.array([0.4, 0.2, 0.1]), 3.0
    inertia = mass / 12.0 * (np.sum(edges**2) - edges**2)
    body = s.coordinates(
        "brick", 12, DirectorBody.coordinates_of(), DirectorBody.rates_of(DirectorBody.coordinates_of(), velocity=(1.0, 0, 0))
    )
    s.add(DirectorBody(), "inertia", {"body": body}, DirectorBody.numbers(mass, inertia, com=(0.5, 0, 0)))
    (shape,) = s.simulate(1.0, 0.1).scene().body("brick").shapes
    assert sorted(shape.sizes.values()) == pytest.approx(sorted(edges))
    assert np.asarray(shape.position) == pytest.approx([0.5, 0.0, 0.0])


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
