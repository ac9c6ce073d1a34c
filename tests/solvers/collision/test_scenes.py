"""Whole scenes: every pair that is near and no other, growth of the search, groups and exclusions, room for results, messages."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.errors import InputError
from jourdain.native.record import Table
from jourdain.solvers.collision import Contact, Placed, Scene, collide

from .shapes import CONVEX, SIZES, pose, rotation

E = np.eye(3)


def heap(n: int, rng: np.random.Generator, across: int | None = None) -> np.ndarray:
    """Places of n shapes on a lattice that is disturbed: a cube, or a column of given width."""
    width = across or round(n ** (1 / 3) + 0.49)
    k = np.arange(n)
    lattice = np.stack([k % width, k // width % width, k // width**2], axis=-1)
    return 0.2 * lattice + 0.02 * rng.normal(size=(n, 3))


@pytest.mark.parametrize("n", [2, 3, 40, 60, 300])
def test_every_pair_is_found(n: int) -> None:
    """Of spheres of all sizes, one as large as the heap, against all pairs of them."""
    rng = np.random.default_rng(n)
    radii = 0.05 * np.exp(rng.normal(size=n))
    radii[n // 2] = 0.5
    places = rng.uniform(0, 0.3 * n ** (1 / 3), (n, 3))
    scene = Scene([Placed(i, ("sphere", (r,))) for i, r in enumerate(radii)])
    found = scene.contacts([pose(E, p) for p in places], 0.02)
    expected = [
        (i, j) for i, j in itertools.combinations(range(n), 2) if np.linalg.norm(places[i] - places[j]) - radii[i] - radii[j] <= 0.02
    ]
    assert [(int(c["shape_a"]), int(c["shape_b"])) for c in found] == expected


def test_all_on_one_heap_of_all_kinds_against_pairs_alone() -> None:
    rng = np.random.default_rng(1)
    kinds = [*CONVEX, "torus"] * 3
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08)}
    shapes = [Placed(i - 1, (k, sizes[k])) for i, k in enumerate(kinds)]
    x = np.array([pose(rotation(rng), rng.uniform(0, 1.2, 3)) for _ in range(len(kinds) - 1)])
    found = Scene(shapes).contacts(x, 0.01)
    alone = 0
    for i, j in itertools.combinations(range(len(kinds)), 2):
        pair = Scene([shapes[i], shapes[j]]).contacts(x, 0.01)
        same = found[(found["shape_a"] == i) & (found["shape_b"] == j)]
        assert all(same[name].tobytes() == pair[name].tobytes() for name in ("feature", "point_a", "point_b", "normal", "gap"))
        alone += len(pair)
    assert alone == len(found) > 50


def test_search_grows_with_the_number_of_shapes() -> None:
    """Boxes compared, in a column that grows: an exponent of 1.1 at most; in a cube the share of shapes inside grows, too, so there it is compared with
    the number of neighbours."""
    rng = np.random.default_rng(2)
    compared = {}
    for n in (500, 16000):
        scene = Scene([Placed(i, ("sphere", (0.1,))) for i in range(n)])
        scene.contacts([pose(E, p) for p in heap(n, rng, across=5)], 0.01)
        compared[n] = scene.native.tests
    assert np.log(compared[16000] / compared[500]) / np.log(32) < 1.1
    for n in (500, 16000):
        scene = Scene([Placed(i, ("sphere", (0.1,))) for i in range(n)])
        scene.contacts([pose(E, p) for p in heap(n, rng)], 0.01)
        assert scene.native.tests < 12 * (n + int(scene.native.starts[n]))


def test_pairs_that_are_kept_change_nothing() -> None:
    """Shapes of all kinds on a plane that move by little: bit for bit what a scene finds that has never looked before, though few looks compare boxes."""
    rng = np.random.default_rng(4)
    kinds = [*CONVEX, "torus"] * 3
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08)}
    shapes = [Placed(-1, ("plane", ()))] + [Placed(i, (k, sizes[k])) for i, k in enumerate(kinds)]
    turned, at = [rotation(rng) for _ in kinds], rng.uniform(0, 1.2, (len(kinds), 3))
    ways, spins = rng.normal(size=at.shape), rng.normal(size=at.shape)
    walked, compared = Scene(shapes), 0
    for k in range(150):
        step = 1e-4 if k % 50 < 45 else 0.03  # now and then a leap
        at = at + step * ways
        turned = [Rotation.from_rotvec(step * w).as_matrix() @ R for w, R in zip(spins, turned, strict=True)]
        x, margin = np.array([pose(R, p) for R, p in zip(turned, at, strict=True)]), 0.01 * (1 + k % 3)
        found = walked.contacts(x, margin)
        compared += walked.native.tests > 0
        assert found.tobytes() == Scene(shapes).contacts(x, margin).tobytes()
    assert compared < 50


def test_more_neighbours_than_there_is_room_for() -> None:
    """Shapes all in one place: pairs come in portions, and none is lost."""
    n = 120
    scene = Scene([Placed(i, ("sphere", (0.1,))) for i in range(n)])
    rng = np.random.default_rng(3)
    found = scene.contacts([pose(E, 0.01 * rng.normal(size=3)) for _ in range(n)], 0.0)
    assert [(c["shape_a"], c["shape_b"]) for c in found] == [*itertools.combinations(range(n), 2)]


def test_a_table_that_is_too_small_is_told_its_size() -> None:
    scene = Scene([Placed(-1, ("plane", ())), *(Placed(i, ("box", (0.1, 0.1, 0.1))) for i in range(5))])
    x = np.array([pose(E, (i, 0, 0.05)) for i in range(5)])
    small, enough = (Table(Contact, np.zeros(k, Contact.dtype())) for k in (7, 20))
    assert collide(scene.native, x, 0.01, small) == -20
    assert collide(scene.native, x, 0.01, enough) == 20
    assert (small.array["gap"] == enough.array["gap"][:7]).all()


def test_bodies_groups_and_exclusions() -> None:
    ball = ("sphere", (0.1,))
    x = [pose(E, (0, 0, 0.1 * i)) for i in range(3)]
    pairs = lambda scene: {(int(c["body_a"]), int(c["body_b"])) for c in scene.contacts(x, 0.0)}
    assert pairs(Scene([Placed(i, ball) for i in range(3)])) == {(0, 1), (0, 2), (1, 2)}
    assert pairs(Scene([Placed(i, ball) for i in range(3)], exclude=[(1, 0)])) == {(0, 2), (1, 2)}
    assert pairs(Scene([Placed(i, ball) for i in (-1, 0, 1)], exclude=[(-1, 0)])) == {(-1, 1), (0, 1)}
    assert pairs(Scene([Placed(0, ball), Placed(0, ball, position=(0, 0, 0.05)), Placed(1, ball)])) == {(0, 1)}
    groups = [Placed(0, ball, group=1, against=2), Placed(1, ball, group=1, against=2), Placed(2, ball, group=2, against=0)]
    assert pairs(Scene(groups)) == {(0, 2), (1, 2)}


def test_shapes_of_models_are_taken_with_their_places() -> None:
    shape = jd.capsule(0.1, 0.4, axis="x", anchor="start").rotated("z", np.pi / 2).at(0.0, 0.0, 1.0)
    found = Scene([Placed(-1, jd.plane().at(0, 0, 0.85)), Placed(0, shape)]).contacts([pose(E, (0, 0, 0))], 0.1)
    assert found["gap"] == pytest.approx([0.05, 0.05], abs=1e-15)
    assert np.sort(found["point_b"][:, 1]) == pytest.approx([0.0, 0.4], abs=1e-15)
    dumbbell = jd.sphere(0.1).at(-0.3, 0, 0) + jd.cylinder(0.05, 0.4, axis="x") + jd.sphere(0.1).at(0.3, 0, 0)
    scene = Scene([Placed(-1, jd.plane()), Placed(0, dumbbell, rotation=np.diag([-1.0, -1.0, 1.0]))])
    found = scene.contacts([pose(E, (0, 0, 0.1))], 0.01)
    assert scene.source[found["shape_b"]].tolist() == [1, 1]
    assert np.sort(found["point_b"][:, 0]) == pytest.approx([-0.3, 0.3], abs=1e-15)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Scene([Placed(0, ("spher", (1.0,)))]), "'spher'; choose one of plane, sphere"),
        (lambda: Scene([Placed(0, ("box", (1.0,)))]), "do not fit a box"),
        (lambda: Scene([Placed(0, ("sphere", (-1.0,)))]), "positive sizes"),
        (lambda: Scene([Placed(0, 7)]), "neither a shape"),
        (lambda: Scene([Placed(-2, ("sphere", (1.0,)))]), "no body -2"),
        (lambda: Scene([Placed(0, ("sphere", (1.0,)), rotation=2 * E)]), "not a rotation"),
        (lambda: Scene([Placed(0, ("sphere", (1.0,)))], exclude=[(0, 3)]), "no body 3"),
        (lambda: Scene([Placed(0, jd.box(1, 1, 1) - jd.cylinder(0.2, 1.0))]), "contacts of this shape are not known"),
        (lambda: Scene([Placed(0, jd.tube(0.2, 0.1, 1.0))]), "tube: contacts of this shape are not known"),
        (lambda: Scene([Placed(0, ("polyhedron", ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)],)))]), "lie in a plane"),
        (lambda: Scene([Placed(1, ("sphere", (1.0,)))]).contacts([pose(E, (0, 0, 0))]), "1 rows of 12 numbers for 2 bodies"),
        (lambda: Scene([Placed(0, ("sphere", (1.0,)))]).contacts([pose(E, (0, 0, np.nan))]), "body 0, is not finite"),
        (lambda: Scene([Placed(0, ("sphere", (1.0,)))]).contacts([pose(E, (0, 0, 0))], margin=-1.0), "margin = -1.0"),
    ],
)
def test_bad_input(made: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        made()


def test_an_empty_scene_and_planes_alone_have_no_contacts() -> None:
    assert len(Scene([]).contacts(np.zeros((0, 12)))) == 0
    assert len(Scene([Placed(-1, ("plane", ())), Placed(0, ("plane", ()))]).contacts([pose(E, (0, 0, 0))])) == 0


def test_curvatures_are_those_of_the_surfaces() -> None:
    """Mean curvatures: closed forms, and for the ellipsoid the bend of its distance from planes turned a little."""
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08), "cone": (0.3, 0.1, 0.5)}
    lying = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])

    def on_floor(kind: str, R: np.ndarray) -> np.ndarray:
        scene = Scene([Placed(-1, ("plane", ())), Placed(0, (kind, sizes[kind]))])
        found = scene.contacts([pose(R, (0, 0, 0))], 1.0)
        return found[np.argmin(found["gap"])]

    assert on_floor("sphere", E)["curvature_b"] == pytest.approx(1 / 0.25)
    assert on_floor("capsule", lying)["curvature_b"] == pytest.approx(0.5 / 0.15)
    assert on_floor("capsule", E)["curvature_b"] == pytest.approx(1 / 0.15)
    assert on_floor("cylinder", lying)["curvature_b"] == pytest.approx(0.5 / 0.2)
    assert on_floor("cylinder", E)["curvature_b"] == on_floor("box", E)["curvature_b"] == 0.0
    assert on_floor("torus", lying)["curvature_b"] == pytest.approx(0.5 * (1 / 0.08 + 1 / 0.33))
    assert on_floor("torus", E)["curvature_b"] == pytest.approx(0.5 / 0.08)
    assert on_floor("ellipsoid", E)["curvature_b"] == pytest.approx(0.5 * (0.15 / 0.3**2 + 0.15 / 0.2**2))
    # Rodrigues: the support function h of a convex surface has the eigenvalues 1/κ of ∇∇h across the normal
    rng = np.random.default_rng(5)
    a = np.array(SIZES["ellipsoid"])
    for _ in range(10):
        R = rotation(rng)
        n = R.T @ [0, 0, -1.0]
        h = np.linalg.norm(a * n)
        hessian = np.diag(a**2) / h - np.outer(a**2 * n, a**2 * n) / h**3
        radii = np.sort(np.linalg.eigvalsh(hessian))[1:]
        assert on_floor("ellipsoid", R)["curvature_b"] == pytest.approx(0.5 * np.sum(1 / radii), rel=1e-9)


def test_a_body_may_be_anywhere() -> None:
    """A thousand kilometres from the origin gaps lose what rounding of places takes, and no more."""
    rng = np.random.default_rng(9)
    scene = Scene([Placed(0, ("box", (0.5, 0.3, 0.4))), Placed(1, ("cylinder", (0.2, 0.5)))])
    for _ in range(20):
        x = np.array([pose(rotation(rng), (0, 0, 0)), pose(rotation(rng), 0.35 * rng.normal(size=3))])
        far = x.copy()
        far[:, 9:] += [1e6, -2e6, 5e5]
        here, there = (scene.contacts(poses, 0.5)["gap"].min(initial=1.0) for poses in (x, far))
        assert here == pytest.approx(there, abs=2e-9)


def test_a_frame_with_a_square_hole_lets_a_ball_through(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("manifold3d")
    frame = jd.box(1.0, 1.0, 0.2) - jd.box(0.4, 0.4, 0.2)
    scene = Scene([Placed(-1, frame), Placed(0, jd.sphere(0.15))])
    assert len(scene.contacts([pose(E, (0, 0, 0.1))], 0.04)) == 0
    assert scene.contacts([pose(E, (0.1, 0, 0.0))], 0.01)["gap"] == pytest.approx([-0.05], abs=1e-14)
    assert scene.contacts([pose(E, (0.35, 0, 0.25))], 0.01)["gap"] == pytest.approx([0.0], abs=1e-14)
    monkeypatch.setattr("jourdain.solvers.collision.geometry.find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs the package manifold3d"):
        Scene([Placed(-1, frame)])
