"""The container: mass properties, points, and what it says about bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.parts.dofs import skew

S = jd.structures
STEEL = S.STEEL


def box():
    return S.truss_box()


def test_mass_properties_of_a_block_are_those_of_a_box() -> None:
    a, b, c = 0.3, 0.2, 0.1
    for kind in ("hex8", "hex20", "tet4", "tet10"):
        part = S.block((a, b, c), (2, 2, 1), STEEL, origin=(1, 2, 3), kind=kind)
        m = STEEL.density * a * b * c
        assert part.mass == pytest.approx(m, rel=1e-12)
        assert_allclose(part.com, (1.15, 2.1, 3.05), rtol=1e-12)
        assert_allclose(part.inertia, m / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b]), atol=1e-10 * m)


def test_mass_alone_or_with_its_field_gives_one_rigid_body() -> None:
    """A beam's M without its field: the rigid blocks are exact, and so are those of the elastic coordinates at rest."""
    part = S.beam((0, 0, 0), (0.4, 0.3, 0.2), S.rectangle(0.03, 0.02), STEEL, elements=5)
    plain = S.Structure(part.nodes, part.M, part.K)
    assert plain.mass == pytest.approx(part.mass, rel=1e-12)
    assert_allclose(plain.com, part.com, rtol=1e-10)
    assert_allclose(plain.inertia, part.inertia, rtol=1e-8, atol=1e-12)
    a, b = part.reduce(4, normalise="mass"), plain.reduce(4, normalise="mass")
    e = 0.01 * np.random.default_rng(0).standard_normal(4)
    assert_allclose(a.mass_matrix()[:6, :6], b.mass_matrix()[:6, :6], atol=1e-9)
    assert_allclose(a.frequencies, b.frequencies, rtol=1e-10)
    assert_allclose(a.J1, b.J1, atol=1e-12)
    assert_allclose(a.D0, b.D0, atol=1e-12)
    gaps = []
    for n in (5, 10):  # the second order goes by nodal masses: an error that falls with the size of elements
        part = S.beam((0, 0, 0), (0.4, 0.3, 0.2), S.rectangle(0.03, 0.02), STEEL, elements=n)
        plain = S.Structure(part.nodes, part.M, part.K)
        a, b = part.reduce(4, normalise="mass"), plain.reduce(4, normalise="mass")
        gaps.append(np.abs(a.inertia(e) - b.inertia(e)).max() / np.abs(a.inertia(e) - a.J0).max())
    assert gaps[0] < 0.15 and gaps[1] < gaps[0] / 2
    c, d = (x.reduce(3, frame="tangent", at=0, normalise="mass") for x in (part, plain))
    assert_allclose(c.J1, d.J1, atol=1e-10 * np.abs(c.J1).max())


def test_planar_parts_have_a_spatial_inertia() -> None:
    part = S.sheet((0.4, 0.1), (4, 1), 0.01, STEEL)
    m = STEEL.density * 0.4 * 0.1 * 0.01
    assert_allclose(part.inertia, m / 12 * np.diag([0.01, 0.16, 0.17]), atol=1e-12)
    body = part.reduce(2)
    assert body.modes == 2 and np.abs(body.conditions @ body.shapes).max() < 1e-12


def test_planar_beams_with_rotations() -> None:
    """Three degrees of freedom a node (x, y, rz) picked from a spatial beam: the same bending modes."""
    space = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), STEEL, elements=6)
    rows = space.dofs.of(range(7), (0, 1, 5))
    M, K = (m.toarray()[np.ix_(rows, rows)] for m in (space.M, space.K))
    flat = S.Structure(space.nodes, M, K, ("x", "y", "rz"))
    assert flat.dofs.planar
    assert_allclose(flat.reduce(3).frequencies[:3], space.reduce(3, bending="y").frequencies, rtol=1e-9)
    pinned = flat.reduce(1, frame="pinned", at=(0, 6)).frequencies[0]
    assert pinned == pytest.approx(space.reduce(1, frame="pinned", bending="y").frequencies[0], rel=1e-9)


def test_points_and_sets() -> None:
    part = box()
    assert part.node((3, 1, 1)) == 15
    assert list(part.nodes_near((0, 0, 0), 1.1)) == [0, 1, 2, 4]
    with pytest.raises(jd.InputError, match=r"no node is at \(3.0, 1.0, 1.2\); the nearest is node 15 at .* 0.2 m away"):
        part.node((3, 1, 1.2))
    with pytest.raises(jd.InputError, match="no node is named 'tip'"):
        part.node("tip")
    with pytest.raises(jd.InputError, match="node 16 does not exist; nodes go from 0 to 15"):
        part.node(16)
    with pytest.raises(jd.InputError, match="no node is within 0.1 m"):
        part.nodes_near((0.5, 0.5, 0.5), 0.1)


def test_text_tells_what_the_part_is() -> None:
    text = str(box())
    assert "16 nodes, 48 degrees of freedom (x/y/z)" in text
    assert "mass 16 kg" in text and "2.2904" in text and "wrong" not in text


# bad input


def refused(message: str):
    return pytest.raises(jd.InputError, match=message)


def test_matrices_that_are_no_matrices_of_a_part() -> None:
    part = box()
    K, M = part.K.toarray(), part.M.toarray()
    bad = K.copy()
    bad[3, 7] += 5.0
    with refused(r"plate: K is not symmetric: entry \((3, 7|7, 3)\) is"):
        S.Structure(part.nodes, M, bad, name="plate")
    with refused("M is 47 × 47, but K is 48 × 48"):
        S.Structure(part.nodes, M[1:, 1:], K)
    with refused("matrices of size 48 do not fit 15 nodes"):
        S.Structure(part.nodes[1:], M, K)
    with refused("K is 48 × 47; it must be square"):
        S.Structure(part.nodes, M, K[:, 1:])
    with refused("K has entries that are not finite"):
        S.Structure(part.nodes, M, np.where(K[0, 0] == K, np.nan, K))
    with refused("nodes must be an array"):
        S.Structure([[0, 0, np.inf]], np.eye(3), np.eye(3))
    with refused("'w' is no component"):
        S.Structure(part.nodes, M, K, ("x", "y", "w"))
    with refused("x of node 0 is named twice"):
        S.Structure(part.nodes, M, K, [(0, 0)] * 48)


def test_grounded_part() -> None:
    part = box()
    held = part.K + sp.csc_array(([1e3], ([4], [4])), shape=part.K.shape)
    wrong = S.Structure(part.nodes, part.M, held, name="arm")
    assert "wrong: arm: K resists" in str(wrong)
    with refused(r"arm: K resists a .*y of node 1.*held to the ground"):
        wrong.reduce(3)


def test_loose_node_and_pieces() -> None:
    part = box()
    nodes = np.vstack([part.nodes, [9, 9, 9]])
    size = len(part.dofs)
    M = sp.block_diag([part.M, sp.eye_array(3)])
    with refused("K has no entry for x of node 16"):
        S.Structure(nodes, M, sp.block_diag([part.K, sp.csc_array((3, 3))])).reduce(2)
    twice = S.Structure(np.vstack([part.nodes, part.nodes + 10]), sp.block_diag([part.M] * 2), sp.block_diag([part.K] * 2))
    with refused("K falls into 2 pieces"):
        twice.reduce(2)
    assert size == 48


def test_mechanism() -> None:
    """A square of four bars without a diagonal shears without force: named, not a singular factor."""
    square = S.truss([(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 1), (1, 2), (2, 3), (3, 0)], 1e3, masses=1.0)
    with refused("K lets . of node . move without any force"):
        square.reduce(1)
    assert "move without any force" in str(square)


def test_bad_mass() -> None:
    part = box()
    M = part.M.toarray()
    M[7, 7] = -1
    with refused("M has the negative entry -1 for y of node 2"):
        S.Structure(part.nodes, M, part.K).reduce(2)
    M[7, 7] = 3
    assert "its mass is 0 kg" in str(S.Structure(part.nodes, np.zeros((48, 48)), part.K))
    with refused("M has different masses in different directions"):
        S.Structure(part.nodes, M, part.K).reduce(2)


def test_too_many_modes_and_unknown_words() -> None:
    part = box()
    with refused("modes = 43 are asked for, but it has only 42 elastic degrees of freedom"):
        part.reduce(43)
    with refused("modes = -1 must be a whole number that is not negative"):
        part.reduce(-1)
    with refused("frame 'middle' is unknown"):
        part.reduce(2, frame="middle")
    with refused("reduction 'magic' is unknown"):
        part.reduce(2, kind="magic")
    with refused("normalise = 'one' is unknown"):
        part.reduce(2, normalise="one")
    with refused("has no interface and no named node"):
        part.craig_bampton(2)
    with refused("Guyan's condensation has static shapes only"):
        part.reduce(2, kind="guyan", fixed=["left", "right"])
    with refused("damping = -0.1 must be a ratio"):
        part.reduce(2, damping=-0.1)
    with refused("do not stop all rigid motions"):
        part.reduce(2, kind="fixed", fixed=[0])


def test_options_that_are_not_used_are_refused() -> None:
    part = box()
    with refused(r"at = \(0, 4\) is for the frames tangent, pinned, nodal-fixed"):
        part.reduce(2, at=(0, 4))
    with refused("fixed = 'left' is for kind='fixed' or 'guyan', not 'free-free'"):
        part.reduce(2, fixed="left")
    with refused("interfaces = .* are for kind='craig-bampton' or 'attachment'"):
        part.reduce(2, interfaces=["left"])
    with refused("kind='fixed' with frame 'mean axes' needs fixed="):
        part.reduce(2, kind="fixed")


def test_a_line_of_nodes_without_rotations() -> None:
    line = S.Structure([(i, 0, 0) for i in range(4)], np.eye(12), np.ones((12, 12)))
    with refused("its nodes lie on a line and have no rotations"):
        line.reduce(1)


def test_frames_that_are_not_defined() -> None:
    part = box()
    with refused("has equal principal moments"):
        part.reduce(2, frame="principal axes")
    with refused("lie on a line"):
        part.reduce(2, frame="nodal-fixed", at=(0, 4, 8))
    with refused("has no rotation at 0"):
        part.reduce(2, frame="tangent", at=0)
    with refused("give a third point"):
        part.reduce(2, frame="pinned", at=(0, 12))
    with refused("are at one place"):
        part.reduce(2, frame="nodal-fixed", at=(0, 0, 8))
    with refused("bending= is for parts whose nodes lie on a line"):
        part.reduce(2, bending="y")
    beam = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), STEEL)
    with refused("bending = 'x' is along the part"):
        beam.reduce(2, bending="x")


def test_interfaces_that_are_not_defined() -> None:
    part = box()
    with refused("its 3 nodes lie on a line and have no rotations"):
        part.interface("edge", [0, 4, 8])
    with refused("kind 'soft' is unknown"):
        part.interface("left", [0, 1, 2], kind="soft")
    part.interface("a", "left")
    with refused("has a point of that name already"):
        part.interface("a", "right")
    with refused("rotation must be a right-handed"):
        part.interface("b", "right", rotation=np.diag([1, 1, -1]))
    part.interface("b", [2, 3, 6])
    with refused("interface 'b': node . belongs to another rigid interface already"):
        part.reduce(2)


def test_generators_refuse() -> None:
    with refused("has a negative volume"):
        S.solid([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1, 3)], STEEL)
    with refused("there is no element of 5 nodes in 3 dimensions"):
        S.solid(np.zeros((5, 3)), [(0, 1, 2, 3, 4)], STEEL)
    with refused("member 0 between nodes 0 and 1 has no length"):
        S.framework([(0, 0, 0), (0, 0, 0)], [(0, 1)], S.circle(0.01), STEEL)
    with refused("0 elements; at least one"):
        S.beam((0, 0, 0), (1, 0, 0), S.circle(0.01), STEEL, elements=0)
    with refused("theory 'shear' is unknown"):
        S.beam((0, 0, 0), (1, 0, 0), S.circle(0.01), STEEL, theory="shear")
    with refused("E = -1 Pa must be positive"):
        S.Material(-1, 0.3, 1)
    with refused("material: E = .* are no real numbers .it is of type datetime64"):
        S.Material(np.datetime64("2020-01-01"), 0.3, 1)
    with refused("density = inf must be one finite number"):
        S.Material(1, 0.3, np.inf)
    with refused("nu = 0.5 must be between"):
        S.Material(1, 0.5, 1)
    with refused("0 ≤ inner < diameter"):
        S.circle(0.01, 0.02)
    with refused("kind 'hex9' is unknown"):
        S.block((1, 1, 1), (1, 1, 1), STEEL, kind="hex9")


# additions


def test_a_mass_fastened_is_a_rigid_piece() -> None:
    """Parallel axes: beam and piece together; and the mass matrix at every e is that of the points."""
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), STEEL, elements=6)
    com, J = np.array([0.1, 0.02, -0.05]), np.diag([0.01, 0.02, 0.03])
    both = part.with_mass("end", 2.0, J, com)
    place = np.array([1.0, 0, 0]) + com
    origin = lambda m, c, I: I + m * skew(c).T @ skew(c)
    assert both.mass == pytest.approx(part.mass + 2.0)
    expected = origin(part.mass, part.com, part.inertia) + origin(2.0, place, J)
    assert_allclose(both.reduce(3).J0, expected, rtol=1e-10, atol=1e-12)
    body = both.reduce(3)
    e = 0.02 * np.random.default_rng(1).standard_normal(3)
    end = body.points["end"]
    arm = place + end.phi_t @ e + np.cross(end.phi_r @ e, com)
    light = part.field.sampled(body.shapes)
    s1 = np.einsum("p,pai->ai", part.field.weights.diagonal(), light)
    first = part.mass * part.com + s1 @ e + 2.0 * arm
    assert_allclose(body.first_moment(e), first, atol=1e-12)


def test_a_tip_mass_lowers_the_frequency_as_in_the_textbook() -> None:
    """Cantilever with a heavy tip: ω² → 3 E I / (L³ (m_t + 33/140 m))."""
    s = S.circle(0.02)
    part = S.beam((0, 0, 0), (1, 0, 0), s, STEEL, elements=10).with_mass("end", 100.0)
    found = part.reduce(1, frame="tangent", at="start", bending="y").frequencies[0]
    beam = STEEL.density * s.area
    assert found == pytest.approx(np.sqrt(3 * STEEL.E * s.Iz / (100.0 + 33 / 140 * beam)), rel=1e-4)


def test_springs_join_pieces() -> None:
    """Two collinear beams joined by a stiff spring of six directions are one beam; a soft one makes a mechanism that bends."""
    s = S.circle(0.02)
    nodes = [(0, 0, 0), (0.5, 0, 0), (0.5, 0, 0), (1, 0, 0)]
    apart = S.framework(nodes, [(0, 1), (2, 3)], s, STEEL)
    whole = S.framework([nodes[0], nodes[1], nodes[3]], [(0, 1), (1, 2)], s, STEEL)
    stiff = apart.with_spring(1, 2, [1e12] * 3 + [1e10] * 3)
    assert_allclose(stiff.frequencies(4), whole.frequencies(4), rtol=1e-4)
    with refused("so that a spring of displacements would resist rotations"):
        apart.with_spring(0, 2, [1, 1, 1])
    with refused("a spring takes 3 or 6 stiffnesses"):
        apart.with_spring(1, 2, [1, 1])
    with refused("mass = -1 kg"):
        whole.with_mass(0, -1)


def test_enough_says_which_modes_a_load_needs() -> None:
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), STEEL, elements=20)
    few, many = part.enough(200, at=["end"]), part.enough(2000, at=["end"])
    expected = int((part.frequencies(30) / (2 * np.pi) <= 400).sum())
    assert few.modes == expected and many.modes > few.modes
    assert few.share["end"]["x"] < 1e-9 < 0.9 < few.share["end"]["y"] < many.share["end"]["y"] <= 1 + 1e-9
    assert "kind='attachment'" in str(few)
    everything = part.enough(1e7, at=["end"])
    assert_allclose(list(everything.share["end"].values()), 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: S.truss([0.0, 1.0], [(0, 1)], 1.0), r"nodes of shape \(2,\) are no table of places; give \(n, 3\)"),
        (lambda: S.truss([[0, 0, 0], [1, 0, 0]], [(0, 2)], 1.0), "bars name node 2, but nodes go from 0 to 1"),
        (lambda: S.truss([[0, 0, 0], [1, 0, 0]], [(0, 1)], S.STEEL), "truss: EA = Material.* is no number; give one, or one a bar"),
        (lambda: S.truss([[0, 0, 0], [1, 0, 0]], [(0, 1)], [1.0, 2.0]), r"truss: EA: \(2,\) numbers do not fit 1 bars"),
        (lambda: S.truss([[0, 0, 0], [1, 0, 0]], [(0, 1)], -1.0), "truss: EA: -1 must be positive and finite"),
        (lambda: S.truss([[0, 0, 0], [1, 0, 0]], [(0, 1)], 1.0, masses=-1.0), "truss: masses: -1 must be not negative"),
        (lambda: S.beam((0, 0, 0), (1, 0, 0), "round", S.STEEL), "beam: 'round' is no section; make one by structures.circle"),
        (lambda: S.beam((0, 0, 0), (1, 0, 0), S.circle(0.01), 7850.0), "beam: 7850.0 is no material; give structures.Material"),
        (lambda: S.truss_box().interface("tip", []), "truss box: no nodes are named; give a name, a number, or a sequence"),
        (lambda: S.truss_box().enough(frequency=-3.0), r"truss box: enough: frequency = -3.0 Hz must be a positive number"),
        (lambda: S.truss_box().enough(frequency="200"), r"truss box: enough: frequency = '200' Hz must be a positive number"),
    ],
)
def test_wrong_numbers_of_generators_are_told(made: Callable[[], object], told: str) -> None:
    with pytest.raises(jd.InputError, match=told):
        made()


@pytest.mark.parametrize("elements", [3, 10])
def test_rotations_that_cost_least_are_the_smallest(elements: int) -> None:
    """A straight beam twists as a whole for nothing: the matrix of its rotations is singular, and no rounding may decide."""
    part = S.beam((0, 0, 0), (0.4, 0.3, 0.2), S.rectangle(0.03, 0.02), STEEL, elements=elements)
    fields = S.Structure(part.nodes, part.M, part.K).linear_displacements
    assert fields is not None
    turns = part.dofs.components >= 3
    K, moved = part.K.toarray()[turns][:, turns], np.where(turns[:, None, None], 0.0, fields).reshape(-1, 9)
    wanted = np.linalg.lstsq(K, -(part.K @ moved)[turns], rcond=1e-11)[0]
    assert_allclose(fields[turns].reshape(-1, 9), wanted, atol=1e-7)
