"""Boolean combinations against closed forms, inclusion-exclusion and each other."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.errors import InputError, ModelError
from jourdain.model import shapes as sh
from jourdain.symbolic import evaluate, symbols

RHO = 7850.0


def same(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a.volume, b.volume, rtol=tolerance)
    np.testing.assert_allclose(a.mass, b.mass, rtol=tolerance)
    np.testing.assert_allclose(a.com, b.com, atol=tolerance)
    inertia = np.array(b.inertia)
    np.testing.assert_allclose(a.inertia, inertia, rtol=0, atol=tolerance * np.abs(inertia).max())


@settings(deadline=None, max_examples=20)
@given(inner=st.floats(0.05, 0.9), wall=st.floats(0.05, 0.9), length=st.floats(0.1, 2))
def test_tube_is_a_difference_of_cylinders(inner, wall, length):
    outer = inner + wall
    drilled = sh.cylinder(outer, length, RHO) - sh.cylinder(inner, length)
    same(drilled, sh.tube(outer, inner, length, RHO), 1e-11)
    same(drilled.rotated("x", 0.4), sh.tube(outer, inner, length, RHO).rotated("x", 0.4), 1e-11)
    core = sh.cylinder(inner, length, RHO)
    same(sh.tube(outer, inner, length, RHO) + core, sh.cylinder(outer, length, RHO), 1e-11)


def test_hollow_ball():
    shell = sh.sphere(0.3, RHO) - sh.sphere(0.2)
    mass = RHO * 4 / 3 * math.pi * (0.3**3 - 0.2**3)
    assert shell.mass == pytest.approx(mass, rel=1e-13)
    moment = 0.4 * mass * (0.3**5 - 0.2**5) / (0.3**3 - 0.2**3)
    np.testing.assert_allclose(shell.inertia, moment * np.eye(3), atol=1e-12 * moment)
    assert shell.exact


def test_a_box_cut_in_two_and_joined_is_the_box():
    whole = sh.box(0.4, 0.2, 0.1, RHO)
    halves = sh.union(sh.box(0.1, 0.2, 0.1, RHO).at(-0.15, 0, 0), sh.box(0.3, 0.2, 0.1, RHO).at(0.05, 0, 0))
    same(halves, whole)
    same(whole - sh.box(0.1, 0.2, 0.1).at(-0.15, 0, 0), sh.box(0.3, 0.2, 0.1, RHO).at(0.05, 0, 0))


def test_densities_of_parts():
    pair = sh.sphere(0.1, 1000.0).at(-1, 0, 0) + sh.sphere(0.1, 3000.0).at(1, 0, 0)
    ball = sh.sphere(0.1).volume
    assert pair.com[0] == pytest.approx(0.5, rel=1e-14)
    assert pair.centroid[0] == pytest.approx(0, abs=1e-15)
    assert pair.mass == pytest.approx(4000 * ball, rel=1e-14)
    assert pair.inertia[2][2] == pytest.approx(ball * (4000 * 0.4 * 0.01 + 1000 * 1.5**2 + 3000 * 0.5**2), rel=1e-13)
    assert pair.with_density(10.0).mass == pytest.approx(20 * ball)
    assert pair.with_mass(5.0).mass == pytest.approx(5.0)
    assert (sh.box(1, 1, 1, RHO) - sh.sphere(0.2)).with_mass(5.0).mass == pytest.approx(5.0)
    with pytest.raises(ModelError, match=r"its parts differ in density \(1000.0, 3000.0\); cut from the part"):
        _ = (pair - sh.sphere(0.05).at(1, 0, 0)).mass


def test_cutting_twice():
    plate = sh.box(1, 1, 0.1, RHO) - sh.cylinder(0.1, 0.1).at(0.3, 0, 0) - sh.cylinder(0.1, 0.1).at(-0.3, 0, 0)
    hole = sh.cylinder(0.1, 0.1)
    assert plate.volume == pytest.approx(0.1 - 2 * hole.volume, rel=1e-14)
    np.testing.assert_allclose(plate.com, 0, atol=1e-15)
    with pytest.raises(ModelError, match="the cylinder is not inside the difference"):
        _ = plate - sh.cylinder(0.1, 0.1).at(0.35, 0, 0)


def test_stated_overlap():
    a, b = sh.box(2, 1, 1, RHO), sh.box(1, 3, 1, RHO)
    cross = sh.union(a, b, overlap=sh.box(1, 1, 1))
    outline = [(-1, -0.5), (-0.5, -0.5), (-0.5, -1.5), (0.5, -1.5), (0.5, -0.5), (1, -0.5)]
    same(cross, sh.prism(outline + [(-x, -y) for x, y in outline], 1, RHO))
    with pytest.raises(ModelError, match="the box is not inside the box"):
        sh.union(a, b, overlap=sh.box(1, 2, 1))
    with pytest.raises(ModelError, match="they overlap"):
        sh.union(a, b, overlap=sh.box(1, 0.5, 1))


def test_symbolic_difference_and_union():
    r, length, rho = symbols("r l rho")
    values = {r: 0.1, length: 0.5, rho: RHO}
    symbolic = sh.box(length, length, length, rho) - sh.cylinder(r, length) + sh.sphere(r, rho).at(0, 0, length)
    numeric = sh.box(0.5, 0.5, 0.5, RHO) - sh.cylinder(0.1, 0.5) + sh.sphere(0.1, RHO).at(0, 0, 0.5)
    assert float(evaluate(symbolic.inertia[0][0], values)) == pytest.approx(numeric.inertia[0][0], rel=1e-13)
    assert symbolic.inertia[0][1] == 0
    same(symbolic.numeric(lambda e: float(evaluate(e, values))), numeric)


# ---- how parts lie ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (sh.box(1, 1, 1), sh.box(1, 1, 1).at(1, 0, 0)),
        (sh.box(1, 1, 1).rotated("z", 0.3), sh.cylinder(0.5, 1).at(0, 0, 1)),
        (sh.tube(0.3, 0.2, 1), sh.cylinder(0.2, 1)),
        (sh.tube(0.3, 0.2, 1).rotated((1, 1, 1), 0.7), sh.cylinder(0.2, 1).rotated((1, 1, 1), 0.7)),
        (sh.sphere(0.5), sh.sphere(0.5).at(1, 0, 0)),
        (sh.torus(0.5, 0.1), sh.sphere(0.4)),
    ],
)
def test_touching_parts_are_welcome(a, b):
    assert (a + b).volume == pytest.approx(a.volume + b.volume, rel=1e-13)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (sh.box(1, 1, 1), sh.box(1, 1, 1).at(0.999, 0, 0)),
        (sh.box(1, 1, 1), sh.sphere(0.1)),
        (sh.sphere(0.1), sh.box(1, 1, 1)),
        (sh.tube(0.3, 0.2, 1), sh.cylinder(0.201, 1)),
        (sh.sphere(0.5), sh.sphere(0.5).at(0.97, 0, 0)),
        (sh.torus(0.5, 0.1), sh.sphere(0.405)),
    ],
)
def test_overlapping_parts_are_refused(a, b):
    with pytest.raises(ModelError, match=r"they overlap, e\.g\. at .*union\(a, b, by='mesh'\)"):
        _ = a + b


def test_cutting_more_than_there_is():
    with pytest.raises(ModelError, match=r"the cylinder is not inside the box.*difference\(a, b, by='mesh'\)"):
        _ = sh.box(1, 1, 1) - sh.cylinder(0.2, 1.001)
    with pytest.raises(ModelError, match="nothing is left of the box"):
        _ = sh.box(1, 1, 1) - sh.box(1, 1, 1)


# ---- by mesh ----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(
    offset=st.tuples(st.floats(-0.4, 0.4), st.floats(-0.4, 0.4), st.floats(-0.4, 0.4)),
    angle=st.floats(0.05, 1.5),
)
def test_plane_faced_booleans_are_exact(offset, angle):
    pytest.importorskip("manifold3d")
    a = sh.box(1, 0.8, 0.6, RHO)
    b = sh.prism([(0, 0), (0.9, 0), (0.7, 0.6), (0.2, 0.8)], 0.9, RHO).rotated((1, 2, 3), angle).at(*offset)
    try:
        common = sh.intersection(a, b)
    except ModelError as error:  # some lie apart
        assert "nothing is left" in str(error)
        return
    both = sh.union(a, b, by="mesh")
    only_a, only_b = sh.difference(a, b, by="mesh"), sh.difference(b, a, by="mesh")
    assert both.exact and common.exact and only_a.exact
    for left, right in (
        (both.mass_properties(), only_a.mass_properties() + only_b.mass_properties() + common.mass_properties()),
        (only_a.mass_properties() + common.mass_properties(), a.mass_properties()),
        (both.mass_properties() + common.mass_properties(), a.mass_properties() + b.mass_properties()),
    ):
        assert left.mass == pytest.approx(right.mass, rel=1e-11)
        np.testing.assert_allclose(left.com, right.com, atol=1e-11)
        np.testing.assert_allclose(left.inertia, right.inertia, atol=1e-10 * right.mass)


def test_boxes_intersect_in_a_box():
    pytest.importorskip("manifold3d")
    common = sh.intersection(sh.box(1, 1, 1, RHO), sh.box(1, 1, 1).at(0.5, 0.25, 0.75))
    same(common, sh.box(0.5, 0.75, 0.25, RHO).at(0.25, 0.125, 0.375))


def test_curved_booleans_converge_and_say_they_are_inexact():
    pytest.importorskip("manifold3d")
    # Steinmetz: two equal crossed cylinders share 16 r³ / 3
    exact, errors = 16 / 3 * 0.2**3, []
    for n in (32, 64, 128):
        with pytest.warns(sh.ApproximateShapeWarning, match=rf"intersection of cylinder and cylinder.*n = {n} "):
            common = sh.intersection(sh.cylinder(0.2, 1, RHO, "x"), sh.cylinder(0.2, 1, RHO, "y"), n=n)
        assert not common.exact and "not exact" in common.note
        errors.append(abs(common.volume / exact - 1))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)
    with pytest.warns(sh.ApproximateShapeWarning, match="those of a part"):
        again = sh.intersection(common, sh.box(1, 1, 0.1).at(0, 0, 0.05))
    assert not again.exact and "those of a part are not" in again.note


def test_combinations_by_mesh_keep_placement_of_compounds():
    pytest.importorskip("manifold3d")
    frame = (sh.box(1, 1, 1, RHO) - sh.box(0.5, 0.5, 1)).rotated("x", 0.3).at(0.1, 0.2, 0.3)
    piece = (sh.box(1, 1, 1, RHO).at(1, 0, 0) + sh.box(1, 1, 1, RHO).at(2, 0, 0)).at(1, 1, 1)
    same(sh.difference(frame, sh.box(9, 9, 9).at(9, 9, 9), by="mesh"), frame, 1e-11)
    same(sh.difference(piece, sh.box(9, 9, 9).at(-9, -9, -9), by="mesh"), piece, 1e-11)
    vertices, faces = frame.tessellate(8)
    assert sh.polyhedron_properties(vertices, faces).mass == pytest.approx(0.75, rel=1e-13)


def without(monkeypatch, package):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)


def test_without_manifold3d(monkeypatch):
    without(monkeypatch, "manifold3d")
    cut = sh.box(1, 1, 1, RHO) - sh.box(0.5, 0.5, 1)
    assert sh.polyhedron_properties(*cut.tessellate(8)).mass == pytest.approx(0.75, rel=1e-13)
    with pytest.raises(InputError, match=r"needs the package manifold3d; install it with: pip install"):
        sh.intersection(sh.box(1, 1, 1), sh.sphere(0.6))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sh.union(sh.sphere(1)), "union: 1 shape given; give at least two"),
        (lambda: sh.union(sh.sphere(1), 3), "union: 3 is not a shape"),
        (lambda: sh.union(sh.sphere(1), sh.sphere(1), by="magic"), "by = 'magic' is not known"),
        (lambda: sh.union(*[sh.sphere(1)] * 3, overlap=sh.sphere(1)), "overlap is for two parts, 3 are given"),
        (lambda: sh.union(*[sh.sphere(1)] * 2, overlap=sh.sphere(1), by="mesh"), "overlap is only used with"),
        (lambda: sh.intersection(sh.box(1, 1, 1), sh.box(1, 1, 1).at(5, 0, 0)), "nothing is left; check where"),
        (lambda: sh.intersection(sh.box(1, 1, symbols("h")[0]), sh.sphere(1)), "box: lz = h is symbolic"),
        (lambda: sh.union(sh.box(1, 1, 1, 1.0), sh.box(1, 1, 1, 2.0), by="mesh"), "its parts differ in density"),
    ],
)
def test_messages(make, message):
    with pytest.raises((InputError, ModelError), match=message):
        make()


def test_only_shapes_combine_with_operators():
    with pytest.raises(TypeError):
        _ = sh.sphere(1) + 3
    with pytest.raises(TypeError):
        _ = sh.sphere(1) - None
