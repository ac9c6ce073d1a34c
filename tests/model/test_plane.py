"""The half-space: which side is free, no mass, mirror images, model files, and the drawing."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError
from jourdain.model.mirror import Mirror
from jourdain.view.scenes.given_shapes import drawn

UNIT = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z"])
def test_the_free_side_is_that_of_the_axis(axis: str) -> None:
    up = np.array(UNIT[axis[-1]]) * (-1.0 if axis.startswith("-") else 1.0)
    wall = jd.plane(axis).at(0.1, 0.2, 0.3)
    points = np.array([0.1, 0.2, 0.3]) + np.outer([-1e-9, 1e-9, -50.0, 50.0], up)
    assert wall.contains(points).tolist() == [True, False, True, False]
    drawn = np.array(wall.primitive()["rotation"])
    assert drawn[:, 2] == pytest.approx(up)
    assert np.linalg.det(drawn) == pytest.approx(1.0)
    vertices, faces = wall.tessellate()
    a, b, c = vertices[faces[0]]
    assert np.cross(b - a, c - a) @ up > 0


@pytest.mark.parametrize("axis", ["x", "-y", "z", "-z"])
@pytest.mark.parametrize("across", ["x", "y", "z"])
def test_mirror_image(axis: str, across: str) -> None:
    rng = np.random.default_rng(1)
    wall = jd.plane(axis).rotated((1.0, 2.0, 3.0), 0.7).at(0.1, -0.2, 0.3)
    points = rng.normal(size=(200, 3))
    signs = np.array([-1.0 if a == across else 1.0 for a in "xyz"])
    assert (Mirror(across).shape(wall).contains(points * signs) == wall.contains(points)).all()


def test_it_has_no_mass() -> None:
    with pytest.raises(ModelError, match="half-space has no end"):
        jd.plane().with_density(1000.0)
    with pytest.raises(ModelError, match="half-space has no end"):
        jd.Model("m").body("floor", shape=jd.plane())
    with pytest.raises(InputError, match="axis"):
        jd.plane("w")


def test_model_files_keep_planes_and_ellipsoids() -> None:
    m = jd.Model("floor")
    m.ground.shapes += [jd.plane(), jd.plane("-x", extent=5.0).at(2.0, 0.0, 0.0)]
    m.free("free", m.ground, m.body("egg", shape=jd.ellipsoid(0.1, 0.2, 0.3, density=1000.0)))
    again = jd.loads_model(jd.dumps_model(m))
    assert again.ground.shapes == m.ground.shapes
    assert again.bodies["egg"].shapes == m.bodies["egg"].shapes


def test_a_plane_is_drawn_as_a_slab_and_an_ellipsoid_as_triangles() -> None:
    (slab,) = drawn(jd.plane("x", extent=3.0).at(1.0, 0.0, 0.0).primitive())
    assert slab.triangles()[0].max(axis=0) == pytest.approx([1.0, 1.5, 1.5])
    assert slab.triangles()[0].min(axis=0)[0] == pytest.approx(1.0 - 0.012)
    (egg,) = drawn(jd.ellipsoid(0.1, 0.2, 0.3).primitive())
    assert np.linalg.norm(egg.triangles()[0] / [0.1, 0.2, 0.3], axis=1) == pytest.approx(np.ones(len(egg.triangles()[0])))
