"""Mass properties of analytic shapes against handbook formulas, quadrature, each other and their triangulations."""

from __future__ import annotations

import copy
import doctest
import importlib
import math
import pickle

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError, ModelError
from jourdain.model import shapes as sh
from jourdain.symbolic import evaluate, symbols

RHO = 2700.0
SIZES = st.floats(0.05, 3.0)


def close(actual, expected, tolerance=1e-12):
    actual, expected = np.array(actual, float), np.array(expected, float)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * (scale if scale else 1.0))


def same(a, b, tolerance=1e-12):
    """Compare volume, mass, centre (relative to the size) and inertia of two shapes."""
    close(a.volume, b.volume, tolerance)
    close(a.mass, b.mass, tolerance)
    size = a.volume ** (1 / 3) + np.abs(b.com).max()
    np.testing.assert_allclose(a.com, b.com, rtol=0, atol=tolerance * size)
    close(a.inertia, b.inertia, tolerance)


def every_shape():
    outline = [(0, 0), (0.3, 0.02), (0.28, 0.2), (0.15, 0.08), (0.05, 0.25)]
    profile = [(0.1, 0), (0.3, 0.05), (0.2, 0.1), (0.25, 0.4), (0.12, 0.3)]
    return [
        sh.box(0.4, 0.2, 0.1, RHO),
        sh.box(0.4, 0.2, 0.1, RHO, anchor="start"),
        sh.cylinder(0.2, 0.5, RHO, axis="y", anchor="start"),
        sh.tube(0.3, 0.2, 0.4, RHO, axis="x"),
        sh.sphere(0.3, RHO),
        sh.ellipsoid(0.3, 0.2, 0.1, RHO),
        sh.capsule(0.1, 0.4, RHO, axis="x", anchor="start"),
        sh.cone(0.3, 0.1, 0.5, RHO, anchor="start"),
        sh.cone(0.0, 0.2, 0.5, RHO, axis="y"),
        sh.cone(0.2, 0.0, 0.5, RHO),
        sh.torus(0.3, 0.1, RHO, axis="x"),
        sh.prism(outline, 0.3, RHO, axis="y", anchor="start"),
        sh.revolved(profile, RHO, axis="x"),
        sh.box(0.5, 0.5, 0.5, RHO) - sh.cylinder(0.2, 0.5),
        sh.box(0.5, 0.5, 0.5, RHO) + sh.sphere(0.2, 2 * RHO).at(0, 0, 0.45),
    ]


IDS = [f"{k}-{shape.kind}" for k, shape in enumerate(every_shape())]
each_shape = pytest.mark.parametrize("shape", every_shape(), ids=IDS)


# ---- closed forms -----------------------------------------------------------------------------------------------


def test_handbook_formulas():
    m = RHO * 0.4 * 0.2 * 0.1
    close(sh.box(0.4, 0.2, 0.1, RHO).inertia, np.diag([0.05, 0.17, 0.2]) * m / 12)
    rod = sh.box(0.4, 0.2, 0.1, RHO, anchor="start")
    close(rod.com, [0.2, 0, 0])
    close(rod.inertia_about()[2][2], m * (0.2**2 / 12 + 0.4**2 / 3))

    m = RHO * math.pi * 0.2**2 * 0.5
    across = m * (3 * 0.2**2 + 0.5**2) / 12
    for axis, moments in {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}.items():
        body = sh.cylinder(0.2, 0.5, RHO, axis)
        close(body.inertia, np.diag([m * 0.2**2 / 2 if on else across for on in moments]))
        close(sh.cylinder(0.2, 0.5, RHO, axis, anchor="start").com, 0.25 * np.array(moments))

    m = RHO * 4 / 3 * math.pi * 0.3**3
    close(sh.sphere(0.3, RHO).inertia, np.eye(3) * 0.4 * m * 0.3**2)

    m = RHO * 4 / 3 * math.pi * 0.3 * 0.2 * 0.1
    close(sh.ellipsoid(0.3, 0.2, 0.1, RHO).inertia, np.diag([0.2**2 + 0.1**2, 0.3**2 + 0.1**2, 0.3**2 + 0.2**2]) * m / 5)

    m = RHO * 2 * math.pi**2 * 0.3 * 0.1**2
    ring = sh.torus(0.3, 0.1, RHO)
    close(ring.mass, m)
    close(ring.inertia[2][2], m * (4 * 0.3**2 + 3 * 0.1**2) / 4)
    close(ring.inertia[0][0], m * (4 * 0.3**2 + 5 * 0.1**2) / 8)

    m = RHO * math.pi * 0.2**2 * 0.6 / 3
    cone = sh.cone(0.2, 0.0, 0.6, RHO, anchor="start")
    close(cone.mass, m)
    close(cone.com, [0, 0, 0.15])
    close(cone.inertia[2][2], 0.3 * m * 0.2**2)
    close(cone.inertia[0][0], m * (3 / 20 * 0.2**2 + 3 / 80 * 0.6**2))


def by_discs(outer, inner, nodes, weights):
    """Integrate a solid of revolution slice by slice: volume, z centre, central second moments across and along."""
    area = math.pi * (outer**2 - inner**2)
    volume = weights @ area
    centre = weights @ (area * nodes) / volume
    across = weights @ (math.pi * (outer**4 - inner**4) / 4)
    return volume, centre, across, weights @ (area * (nodes - centre) ** 2)


def check_against_discs(shape, outer, inner, nodes, weights):
    volume, centre, across, along = by_discs(outer, inner, nodes, weights)
    properties = shape.volume_properties()
    close(properties.mass, volume)
    close(properties.com, [0, 0, centre]) if abs(centre) > 1e-9 else None
    close(properties.second, np.diag([across, across, along]))


def gauss(a, b, n=40):
    x, w = np.polynomial.legendre.leggauss(n)
    return (a + b) / 2 + (b - a) / 2 * x, (b - a) / 2 * w


@settings(deadline=None, max_examples=25)
@given(a=SIZES, b=SIZES, length=SIZES)
def test_round_solids_against_slices(a, b, length):
    z, w = gauss(0.0, length)
    radius = a + (b - a) * z / length
    check_against_discs(sh.cone(a, b, length, anchor="start"), radius, 0 * z, z, w)
    check_against_discs(sh.cylinder(a, length, anchor="start"), 0 * z + a, 0 * z, z, w)
    check_against_discs(sh.tube(a + b, b, length, anchor="start"), 0 * z + a + b, 0 * z + b, z, w)

    z, w = gauss(-a, a)
    check_against_discs(sh.sphere(a), np.sqrt(a**2 - z**2), 0 * z, z, w)

    ends = [gauss(-length / 2 - a, -length / 2), gauss(-length / 2, length / 2), gauss(length / 2, length / 2 + a)]
    z, w = (np.concatenate(pieces) for pieces in zip(*ends, strict=True))
    beyond = np.maximum(np.abs(z) - length / 2, 0)
    check_against_discs(sh.capsule(a, length), np.sqrt(a**2 - beyond**2), 0 * z, z, w)

    angle, w = gauss(-math.pi / 2, math.pi / 2, 60)
    ring = a + b
    chord = b * np.cos(angle)
    check_against_discs(sh.torus(ring, b), ring + chord, ring - chord, b * np.sin(angle), w * b * np.cos(angle))


@settings(deadline=None, max_examples=25)
@given(a=SIZES, b=SIZES, length=SIZES, z0=st.floats(-5, 5))
def test_revolved_profiles_equal_known_solids(a, b, length, z0):
    rectangle = [(0, z0), (a, z0), (a, z0 + length), (0, z0 + length)]
    same(sh.revolved(rectangle, RHO), sh.cylinder(a, length, RHO, anchor="start").at(0, 0, z0), 1e-11)
    ring = [(a, z0), (a + b, z0), (a + b, z0 + length), (a, z0 + length)]
    same(sh.revolved(ring, RHO), sh.tube(a + b, a, length, RHO, anchor="start").at(0, 0, z0), 1e-11)
    trapezium = [(0, z0), (a, z0), (b, z0 + length), (0, z0 + length)]
    same(sh.revolved(trapezium, RHO), sh.cone(a, b, length, RHO, anchor="start").at(0, 0, z0), 1e-11)
    same(sh.revolved(trapezium[::-1], RHO), sh.revolved(trapezium, RHO), 1e-11)


def circle_polygon(n):
    angle = 2 * math.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def test_revolved_polygons_approach_torus_and_sphere_with_order_two():
    def errors(make, exact):
        return [
            max(
                abs(make(n).volume / exact.volume - 1),
                float(np.abs(np.array(make(n).inertia) - exact.inertia).max() / np.abs(exact.inertia).max()),
            )
            for n in (40, 80, 160)
        ]

    def ring(n):
        return sh.revolved([0.3, 0.0] + 0.1 * circle_polygon(n), RHO)

    def ball(n):
        half = circle_polygon(2 * n)[: n + 1]
        return sh.revolved(np.column_stack([0.3 * np.abs(half[:, 1]), 0.3 * half[:, 0]]), RHO)

    for make, exact in ((ring, sh.torus(0.3, 0.1, RHO)), (ball, sh.sphere(0.3, RHO))):
        coarse, middle, fine = errors(make, exact)
        assert fine < 2e-3
        assert coarse / middle == pytest.approx(4, rel=0.02)
        assert middle / fine == pytest.approx(4, rel=0.02)


def test_prisms_equal_boxes_and_each_other():
    rectangle = [(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)]
    same(sh.prism(rectangle, 0.1, RHO), sh.box(0.4, 0.2, 0.1, RHO))
    same(sh.prism(rectangle[::-1], 0.1, RHO), sh.box(0.4, 0.2, 0.1, RHO))
    same(sh.prism(rectangle, 0.1, RHO, axis="x"), sh.box(0.1, 0.4, 0.2, RHO))
    same(sh.prism(rectangle, 0.1, RHO, axis="y"), sh.box(0.2, 0.1, 0.4, RHO))
    moved = [(x + 50, y - 70) for x, y in rectangle]
    same(sh.prism(moved, 0.1, RHO, anchor="start"), sh.box(0.4, 0.2, 0.1, RHO).at(50, -70, 0.05), 1e-12)
    ell = [(0, 0), (0.3, 0), (0.3, 0.1), (0.1, 0.1), (0.1, 0.4), (0, 0.4)]
    parts = sh.box(0.3, 0.1, 0.2, RHO).at(0.15, 0.05, 0) + sh.box(0.1, 0.3, 0.2, RHO).at(0.05, 0.25, 0)
    same(sh.prism(ell, 0.2, RHO), parts)


def test_right_triangle_prism():
    a, b, length = 0.3, 0.2, 0.5
    wedge = sh.prism([(0, 0), (a, 0), (0, b)], length, RHO)
    m = RHO * a * b / 2 * length
    close(wedge.com, [a / 3, b / 3, 0])
    close(wedge.inertia[0][0], m * (b**2 / 18 + length**2 / 12))
    close(wedge.inertia[1][1], m * (a**2 / 18 + length**2 / 12))
    close(wedge.inertia[2][2], m * (a**2 + b**2) / 18)
    close(wedge.inertia[0][1], m * a * b / 36)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 30), clockwise=st.booleans())
def test_prisms_over_random_outlines_equal_their_triangulation(seed, n, clockwise):
    """Star-shaped outlines with deep notches and points inserted in the middle of their edges."""
    random = np.random.default_rng(seed)
    angle = 2 * math.pi * (np.arange(n) + random.uniform(0, 0.8, n)) / n
    star = random.uniform(0.1, 1, n)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + [3, -2]
    outline = np.stack([star, (star + np.roll(star, -1, axis=0)) / 2], axis=1).reshape(-1, 2)
    body = sh.prism(outline[::-1] if clockwise else outline, 0.7, RHO, axis="y")
    same(body, sh.mesh(body.tessellate(), RHO), 1e-10)
    same(body, sh.prism(star, 0.7, RHO, axis="y"), 1e-10)


# ---- triangulations and points ----------------------------------------------------------------------------------


@each_shape
def test_triangulations_converge_to_the_exact_properties(shape):
    exact = shape.volume_properties()

    def errors(n):
        found = sh.polyhedron_properties(*shape.tessellate(n))
        size = exact.mass ** (1 / 3)
        return np.array(
            [
                abs(found.mass / exact.mass - 1),
                np.abs(np.subtract(found.com, exact.com)).max() / size,
                np.abs(np.subtract(found.inertia, exact.inertia)).max() / np.abs(exact.inertia).max(),
            ]
        )

    coarse, fine = errors(32), errors(64)
    assert fine.max() < 8e-3
    for e1, e2 in zip(coarse, fine, strict=True):
        assert e2 < 1e-13 or e1 / e2 == pytest.approx(4, rel=0.05)


@each_shape
def test_triangulations_are_closed_and_pass_the_mesh_checks(shape):
    vertices, faces = shape.tessellate(24)
    close(sh.mesh((vertices, faces)).volume, sh.polyhedron_properties(vertices, faces).mass)


@each_shape
def test_contained_points_fill_the_shape(shape):
    placed = shape.rotated((1, 2, -1), 0.7).at(0.3, -0.2, 0.5)
    vertices, _ = placed.tessellate(48)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    points = np.random.default_rng(1).uniform(low, high, (60_000, 3))
    inside = points[placed.contains(points)]
    size = float(np.prod(high - low))
    deviation = 1 / math.sqrt(60_000)
    assert len(inside) / 60_000 == pytest.approx(placed.volume / size, abs=4 * deviation + 0.002)
    spread = np.sqrt(np.diag(np.array(placed.volume_properties().second) / placed.volume))
    assert (np.abs(inside.mean(axis=0) - placed.centroid) < 0.03 * spread).all()


# ---- placement --------------------------------------------------------------------------------------------------

UNIT = st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)).filter(lambda v: math.hypot(*v) > 0.1)
OFFSET = st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2))


@settings(deadline=None, max_examples=40)
@given(index=st.integers(0, len(IDS) - 1), axis=UNIT, angle=st.floats(-7, 7), offset=OFFSET)
def test_placing_turns_and_shifts_mass_properties(index, axis, angle, offset):
    shape = every_shape()[index]
    placed = shape.rotated(axis, angle).at(*offset)
    turn = np.array(placed.placement.rotation)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-14)
    close(placed.volume, shape.volume)
    close(placed.mass, shape.mass)
    np.testing.assert_allclose(placed.com, turn @ shape.com + offset, atol=1e-13)
    inertia = np.array(placed.inertia)
    close(inertia, turn @ np.array(shape.inertia) @ turn.T)
    assert (inertia == inertia.T).all()
    close(np.linalg.eigvalsh(inertia), np.linalg.eigvalsh(shape.inertia))
    same(shape.at(*offset).rotated(axis, angle), placed)


@settings(deadline=None, max_examples=40)
@given(index=st.integers(0, len(IDS) - 1), axis=UNIT, angle=st.floats(-7, 7), point=OFFSET)
def test_inertia_about_a_point_in_a_turned_frame(index, axis, angle, point):
    shape = every_shape()[index]
    rotation = sh.box(1, 1, 1).rotated(axis, angle).placement.rotation
    d = np.array(shape.com) - point
    steiner = np.array(shape.inertia) + shape.mass * (d @ d * np.eye(3) - np.outer(d, d))
    turn = np.array(rotation)
    close(shape.inertia_about(point, rotation), turn.T @ steiner @ turn)
    moved = shape.at(*(-c for c in point))
    close(moved.inertia_about(), shape.inertia_about(point))


@settings(deadline=None, max_examples=40)
@given(index=st.integers(0, len(IDS) - 1), axis=UNIT, angle=st.floats(-7, 7))
def test_inertia_is_physical(index, axis, angle):
    a, b, c = np.linalg.eigvalsh(every_shape()[index].rotated(axis, angle).inertia)
    assert a > 0 and c < a + b


def test_quarter_turns_are_exact():
    turned = sh.box(0.4, 0.2, 0.1, RHO, anchor="start").rotated("z", math.pi / 2)
    assert turned.com == (0.0, 0.2, 0.0)
    assert turned.inertia[0][1] == 0.0


def test_placing_a_placed_union_moves_it_as_one():
    pair = sh.sphere(0.1, RHO).at(0.5, 0, 0) + sh.box(0.2, 0.1, 0.1, RHO)
    turned = pair.rotated("z", math.pi / 2).at(1, 0, 0)
    loose = sh.sphere(0.1, RHO).at(1, 0.5, 0) + sh.box(0.1, 0.2, 0.1, RHO).at(1, 0, 0)
    same(turned, loose)


# ---- symbols ----------------------------------------------------------------------------------------------------


def test_symbolic_formulas_are_the_textbook_ones():
    m, r, s, length, rho = sympy.symbols("m r s l rho", positive=True)
    pi = sympy.nsimplify(sympy.pi)

    def exactly(expression):
        return sympy.simplify(sympy.nsimplify(sympy.sympify(expression).subs(math.pi, pi), [pi]))

    body = sh.cylinder(r, length, rho, anchor="start").with_mass(m)
    assert exactly(body.inertia[0][0] - m * (3 * r**2 + length**2) / 12) == 0
    assert exactly(body.inertia_about()[0][0] - m * (r**2 / 4 + length**2 / 3)) == 0
    assert body.com == (0.0, 0.0, length / 2)
    assert body.inertia[0][1] == 0.0
    rod = sh.box(length, r, s, anchor="start").with_mass(m)
    assert sympy.simplify(rod.inertia_about()[2][2] - m * (r**2 / 12 + length**2 / 3)) == 0
    wedge = sh.prism([(0, 0), (r, 0), (0, s)], length).with_mass(m)
    assert sympy.simplify(wedge.inertia[0][1] - m * r * s / 36) == 0
    frustum = sh.revolved([(0, 0), (r, 0), (s, length), (0, length)])
    assert sympy.simplify(frustum.centroid[2] - sh.cone(r, s, length, anchor="start").centroid[2]) == 0


def symbolic_models(x, y, z, rho):
    """Return shapes with dimensions x < 1 < y, any z and a density, symbolic or not."""
    return [
        sh.box(x, y, z, rho, anchor="start").at(z, x, 1.0),
        sh.cylinder(x, y, rho, axis="x", anchor="start").rotated("z", x),
        sh.tube(y, x, z, rho).at(x, 0, 0),
        sh.sphere(z, rho).at(x, y, z),
        sh.capsule(x, y, rho).rotated((1, 1, 0), y * z),
        sh.cone(x, y, z, rho, anchor="start"),
        sh.torus(y, x, rho, axis="y"),
        sh.prism([(0, 0), (y, 0), (y, x), (x, y)], z, rho).rotated("x", 0.3),
        sh.revolved([(x, 0), (y, 0), (y, z), (x, z)], rho, axis="y"),
        sh.box(5 * y, 3 * y, z, rho) - sh.cylinder(x, z).at(y, 0, 0),
        sh.box(x, x, z, rho) + sh.sphere(x, 2 * rho).at(3 * x, 0, y),
    ]


@settings(deadline=None, max_examples=15)
@given(x=st.floats(0.1, 0.9), y=st.floats(1.1, 2.0), z=SIZES, rho=st.floats(1, 9000))
def test_symbolic_shapes_evaluate_to_the_numeric_ones(x, y, z, rho):
    names = symbols("x y z rho")
    values = dict(zip(names, (x, y, z, rho), strict=True))
    pairs = zip(symbolic_models(*names), symbolic_models(x, y, z, rho), strict=True)
    for symbolic, numeric in pairs:
        evaluated = symbolic.numeric(lambda e: float(evaluate(e, values)))
        assert not symbolic.is_numeric and evaluated.is_numeric and numeric.is_numeric
        same(evaluated, numeric, 1e-13)
        flat = [symbolic.mass, *symbolic.com, *(entry for row in symbolic.inertia for entry in row)]
        results = [float(v) for v in evaluate(flat, values)]
        close(results[0], numeric.mass)
        np.testing.assert_allclose(results[1:4], numeric.com, atol=1e-11)
        close(results[4:], np.ravel(numeric.inertia), 1e-11)


# ---- drawing ----------------------------------------------------------------------------------------------------


def test_primitives_are_plain_and_posed():
    drawn = sh.box(0.4, 0.2, 0.1, anchor="start").at(1, 2, 3).coloured("#3366cc").primitive()
    assert drawn == {
        "kind": "box",
        "size": [0.4, 0.2, 0.1],
        "position": [1.2, 2.0, 3.0],
        "rotation": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        "colour": "#3366cc",
    }
    drawn = sh.cylinder(1, 4, axis="x", anchor="start").primitive()
    assert (drawn["radius"], drawn["length"], drawn["position"]) == (1.0, 4.0, [2.0, 0.0, 0.0])
    assert np.array(drawn["rotation"]) @ [0, 0, 1] == pytest.approx([1, 0, 0])
    group = (sh.sphere(1) + sh.box(1, 1, 1).at(3, 0, 0)).coloured("#112233").primitive()
    assert [part["kind"] for part in group["parts"]] == ["sphere", "box"]
    assert {part["colour"] for part in group["parts"]} == {"#112233"}
    cut = (sh.box(1, 1, 1) - sh.sphere(0.3)).coloured("#112233").primitive()
    assert cut["kind"] == "mesh" and cut["colour"] == "#112233"


@each_shape
def test_primitives_hold_only_plain_values(shape):
    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(entry) for key, entry in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (str, float, int)

    assert plain(shape.primitive())


@each_shape
def test_numeric_shapes_survive_evaluation_unchanged(shape):
    assert shape.numeric() == shape
    assert hash(shape.numeric()) == hash(shape)


# ---- messages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sh.sphere(-1.0), r"sphere: radius = -1.0 must be greater than zero"),
        (lambda: sh.box(1, 0, 1), r"box: ly = 0 must be greater"),
        (lambda: sh.box(1, 1, math.nan), r"box: lz = nan is not finite"),
        (lambda: sh.box(1, 1, "2 kg"), r"box: lz: quantity '2 kg' should be in 'm'"),
        (lambda: sh.box(1, 1, 1, density=-3), r"box: density = -3 must be greater"),
        (lambda: sh.box(1, 1, 1, anchor="end"), r"box: anchor 'end' is not known; use 'centre' or 'start'"),
        (lambda: sh.cylinder(1, 1, axis="w"), r"cylinder: axis 'w' is not one of 'x', 'y', 'z'; use .rotated"),
        (lambda: sh.tube(1, 2, 1), r"tube: inner = 2 must be less than outer = 1"),
        (lambda: sh.cone(0, 0, 1), r"cone: r1 = r2 = 0 encloses no volume"),
        (lambda: sh.cone(-1, 0, 1), r"cone: r1 = -1 must not be negative"),
        (lambda: sh.torus(1, 2), r"torus: tube_radius = 2 exceeds ring_radius = 1"),
        (lambda: sh.prism([(0, 0), (1, 1), (1, 0), (0, 1)], 1), r"prism: outline: it intersects itself: edge 0"),
        (lambda: sh.prism([(0, 0), (1, 0)], 1), r"prism: outline: 2 points do not enclose an area"),
        (lambda: sh.prism([(0, 0), (1, 0), (1, 0), (0, 1)], 1), r"points 1 and 2 coincide at \(1, 0\)"),
        (lambda: sh.prism([(0, 0), (1, 0), (2, 0)], 1), r"prism: outline: the outline turns back on itself"),
        (lambda: sh.prism([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)], 1), r"intersects itself"),
        (lambda: sh.prism([(0, 0), (1, 0), 3], 1), r"outline point 2 = 3 is not a pair"),
        (lambda: sh.revolved([(-0.1, 0), (1, 0), (1, 1)]), r"revolved: outline point 0 has r = -0.1 < 0"),
        (lambda: sh.sphere(1).coloured("reddish"), r"sphere: colour 'reddish' is not of the form '#rrggbb', .* did you mean 'red'"),
        (lambda: sh.sphere(1).at(0, math.inf, 0), r"sphere: y = inf is not finite"),
        (lambda: sh.sphere(1).rotated((0, 0, 0), 1), r"axis \(0, 0, 0\) has no direction"),
        (lambda: sh.sphere(1).rotated("u", 1), r"axis 'u' is not known"),
        (lambda: sh.sphere(1).rotated("x", math.nan), r"angle nan is not finite"),
        (lambda: sh.sphere(1).tessellate(2), r"sphere: n = 2 segments do not close a circle"),
        (lambda: sh.sphere(1).with_mass(0), r"sphere: mass = 0 must be greater"),
        (lambda: sh.sphere(1).mass, r"sphere: no density given.*pass density="),
        (lambda: (sh.sphere(1) + sh.box(1, 1, 1, RHO).at(5, 0, 0)).inertia, r"sphere: no density given"),
        (lambda: (sh.box(1, 1, 1) - sh.sphere(0.1)).mass, r"box: no density given"),
    ],
)
def test_messages(make, message):
    with pytest.raises((InputError, ModelError), match=message):
        make()


def test_symbolic_shapes_are_checked_once_they_have_numbers():
    x, y = symbols("x y")
    with pytest.raises(InputError, match=r"sphere: radius = x is symbolic; primitive\(\) needs numbers"):
        sh.sphere(x).primitive()
    with pytest.raises(ModelError, match=r"sphere: radius = -2.0 must be greater"):
        sh.sphere(x).numeric(lambda e: float(evaluate(e, {x: -2.0})))
    clockwise = sh.box(9, 9, 9) + sh.prism([(0, 0), (0, x), (x, 0)], 1).at(0, 0, 8)
    with pytest.raises(ModelError, match=r"prism: the symbolic outline runs clockwise"):
        clockwise.numeric(lambda e: float(evaluate(e, {x: 2.0})))
    hole = sh.box(1, 1, 1, RHO) - sh.sphere(y)
    with pytest.raises(ModelError, match=r"difference: the sphere is not inside the box"):
        hole.numeric(lambda e: float(evaluate(e, {y: 0.6})))


@pytest.mark.parametrize("module", ["mass", "base", "solids", "profiles", "meshes", "booleans"])
def test_docstring_examples_run(module):
    results = doctest.testmod(importlib.import_module(f"jourdain.model.shapes.{module}"))
    assert results.attempted > 0 and results.failed == 0


def test_places_and_turns_may_have_units():
    plain, given = sh.box(1, 2, 3).at(0.05, 0, 0).rotated("z", math.pi / 2), sh.box(1, 2, 3).at("5 cm", 0, 0).rotated("z", "90 deg")
    assert given.placement == plain.placement
    for wrong in (lambda: sh.box(1, 2, 3).at(0, 0, "50 g"), lambda: sh.box(1, 2, 3).rotated("z", "1 m")):
        with pytest.raises((InputError, ModelError), match="box: (z|angle).*should be in"):
            wrong()


@pytest.mark.parametrize("wrong", [object(), [1.0], np.zeros(2), math, 1j, 1 + 0j, np.nan])
def test_sizes_densities_and_places_are_numbers_or_expressions(wrong):
    ball = sh.sphere(1.0)
    for ask in (
        lambda: sh.box(wrong, 1.0, 1.0),
        lambda: ball.with_density(wrong),
        lambda: ball.with_mass(wrong),
        lambda: ball.at(wrong, 0.0, 0.0),
    ):
        with pytest.raises(ValueError, match="number|finite"):
            ask()


@pytest.mark.parametrize("where", ["shapes", "collision"])
@pytest.mark.parametrize("odd", ["box", None, jd.sphere, [jd.sphere(0.1)], jd.Model("other").ground], ids=lambda x: type(x).__name__)
def test_what_is_no_shape_is_refused_where_it_is_put(where: str, odd: object) -> None:
    """However it is put into a body's list; the list stays as it was, and the model can be written."""
    m = jd.Model("ball")
    body = m.body("b", shape=jd.sphere(0.1, density=1000.0))
    m.free("place", m.ground, body)
    box = jd.box(0.1, 0.1, 0.1)
    body.collision.append(box)
    known = getattr(body, where)
    kept = list(known)
    for put in (
        known.append, lambda x: known.extend([box, x]), lambda x: known.insert(0, x), lambda x: known.__setitem__(0, x), lambda x: known.__iadd__([x]),
        lambda x: known.__setitem__(slice(0, 1), [x]), lambda x: setattr(body, where, [x]),
    ):  # fmt: skip
        with pytest.raises(jd.ModelError, match="body 'b': shape .* is not a solid"):
            put(odd)
        assert getattr(body, where) == kept
    with pytest.raises(jd.ModelError, match="is no list of shapes"):
        setattr(body, where, box)
    setattr(body, where, [*kept, box])
    assert getattr(pickle.loads(pickle.dumps(m)).bodies["b"], where) == [*kept, box]
    assert copy.deepcopy(getattr(body, where)) == [*kept, box]
    assert jd.loads_model(jd.dumps_model(m)).bodies["b"].shapes == body.shapes
