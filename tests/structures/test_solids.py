"""Solid elements: patch test, bending, stresses, geometric stiffness."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.parts.elements import stacked
from jourdain.structures.statics import Held

S = jd.structures


def distorted(kind: str, seed: int = 0):
    """A block whose inner nodes are moved at random; nodes between corners stay in the middle."""
    part = S.block((1, 1, 1), (2, 2, 2), S.STEEL, kind=kind)
    rng = np.random.default_rng(seed)
    inner = ((part.nodes > 0.1) & (part.nodes < 0.9)).all(axis=1)
    moved = part.nodes.copy()
    if kind in ("hex8", "tet4"):
        moved[inner] += 0.1 * rng.uniform(-1, 1, (int(inner.sum()), 3))
    return S.solid(moved, part.elements[0].nodes, S.STEEL)


@pytest.mark.parametrize("kind", ["hex8", "hex20", "tet4", "tet10"])
def test_patch(kind: str) -> None:
    """A linear displacement has constant strain: its stress is Hooke's, and inner nodes feel no force."""
    part = distorted(kind)
    gradient = np.random.default_rng(1).standard_normal((3, 3))
    u = (part.nodes @ gradient.T).ravel()
    group = part.elements[0]
    stress = np.asarray(stacked(len(part.dofs), group.rows, group.recovery()) @ u).reshape(-1, 6)
    strain = 0.5 * (gradient + gradient.T)
    mu, nu = S.STEEL.G, S.STEEL.nu
    lame = 2 * mu * nu / (1 - 2 * nu)
    tensor = 2 * mu * strain + lame * np.trace(strain) * np.eye(3)
    expected = tensor[[0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]]
    assert_allclose(stress, np.broadcast_to(expected, stress.shape), rtol=1e-8, atol=1e-6 * abs(expected).max())
    inner = ((part.nodes > 0.01) & (part.nodes < 0.99)).all(axis=1)
    force = (part.K @ u).reshape(-1, 3)
    assert np.abs(force[inner]).max() < 1e-9 * abs(part.K).max()


def test_patch_in_the_plane() -> None:
    nodes = [(0, 0), (1, 0), (2, 0), (0, 1), (1.2, 0.9), (2, 1), (0, 2), (1, 2), (2, 2)]
    part = S.solid(nodes, [(0, 1, 4, 3), (1, 2, 5, 4), (3, 4, 7, 6), (4, 5, 8, 7)], S.STEEL, thickness=0.1)
    gradient = np.array([[1.0, 0.3], [-0.2, 0.5]])
    u = (np.array(nodes) @ gradient.T).ravel()
    assert np.abs((part.K @ u).reshape(-1, 2)[4]).max() < 1e-9 * abs(part.K).max()
    group = part.elements[0]
    stress = np.einsum("ecd,ed->ec", group.recovery(), u[group.rows])
    E, nu = S.STEEL.E, S.STEEL.nu
    expected = [E / (1 - nu**2) * (1.0 + nu * 0.5), E / (1 - nu**2) * (0.5 + nu), S.STEEL.G * 0.1]
    assert_allclose(stress, np.broadcast_to(expected, stress.shape), rtol=1e-9)


def deflection(part) -> float:
    """Mean tip deflection of a cantilever along z under a unit load on its free face."""
    held = Held(part.K, part.dofs.of(part.sets["x-"]))
    rows = part.dofs.of(part.sets["x+"], (2,))
    f = np.zeros(len(part.dofs))
    f[rows] = 1.0 / len(rows)
    return float(held.solve(f)[rows].mean())


@pytest.mark.parametrize("kind, tolerance", [("hex8", 0.02), ("hex20", 0.02), ("tet10", 0.03)])
def test_slender_cantilevers_do_not_lock(kind: str, tolerance: float) -> None:
    size = (1.0, 0.05, 0.04)
    part = S.block(size, (12, 1, 1), S.STEEL, kind=kind)
    I = size[1] * size[2] ** 3 / 12
    exact = 1 / (3 * S.STEEL.E * I) + 1 / (5 / 6 * S.STEEL.G * size[1] * size[2])
    assert deflection(part) == pytest.approx(exact, rel=tolerance)


def test_shape_functions_are_a_partition_and_have_their_derivatives() -> None:
    from jourdain.structures.parts.solids import KINDS

    rng = np.random.default_rng(0)
    for kind in KINDS.values():
        x = rng.uniform(0, 0.3, (4, kind.dimension))
        N, dN = kind.shape(x)
        assert_allclose(N.sum(axis=1), 1, atol=1e-13)
        assert np.abs(dN.sum(axis=1)).max() < 1e-12
        h = 1e-6
        for a in range(kind.dimension):
            step = h * np.eye(kind.dimension)[a]
            assert_allclose((kind.shape(x + step)[0] - kind.shape(x - step)[0]) / (2 * h), dN[:, :, a], atol=1e-8)


def test_geometric_stiffness_of_a_pulled_bar_is_that_of_a_string() -> None:
    """A clamped, pulled bar: its first bending frequency rises as the beam's does."""
    size, N = (1.0, 0.02, 0.02), 5.0e3
    solid = S.block(size, (24, 1, 1), S.STEEL)
    solid.interface("root", "x-")
    solid.interface("tip", "x+")
    beam = S.beam((0, 0.01, 0.01), (1, 0.01, 0.01), S.rectangle(0.02, 0.02), S.STEEL, elements=24)
    rise = []
    for part, root, tip in ((solid, "root", "tip"), (beam, "start", "end")):
        body = part.reduce(1, frame="tangent", at=root)
        K = body.stiffness + N * body.geometric_stiffness([tip]).of(f"{tip}.fx")
        rise.append(float(K[0, 0] / body.stiffness[0, 0]))
    assert rise[1] > 1.2
    assert rise[0] == pytest.approx(rise[1], rel=0.01)


def test_stress_of_bending() -> None:
    """Pure bending by a moment at the tip: σ at the middle of the outer elements is M z/I at their height."""
    part = S.block((1.0, 0.1, 0.1), (10, 1, 4), S.STEEL)
    part.interface("root", "x-")
    part.interface("tip", "x+")
    body = part.reduce(0, frame="tangent", at="root")
    stress = body.recovery(points=["tip"]).values(np.zeros(0), loads={"tip": (0, 0, 0, 0, 100.0, 0)})
    centre = part.nodes[part.elements[0].nodes].mean(axis=1)
    middle = (centre[:, 0] > 0.3) & (centre[:, 0] < 0.7)
    expected = 100.0 * (centre[middle, 2] - 0.05) / (0.1**4 / 12)
    assert_allclose(stress[middle, 0], expected, rtol=0.01)
    assert_allclose(
        body.recovery(points=["tip"]).von_mises(np.zeros(0), loads={"tip": (0, 0, 0, 0, 100.0, 0)})[middle], np.abs(expected), rtol=0.02
    )


def test_boxes_by_the_word_of_their_elements() -> None:
    rubber = S.Material(1e6, 0.3, 1e3)
    blade = S.hexahedra((2.0, 0.2, 0.1), (4, 1, 1), rubber, nodes=20, root="x-")
    same = S.block((2.0, 0.2, 0.1), (4, 1, 1), rubber, kind="hex20")
    assert_allclose(blade.K.toarray(), same.K.toarray())
    assert list(blade.interfaces) == ["root"]
    assert len(S.tetrahedra((1.0, 1.0, 1.0), (2, 2, 2), rubber).elements[0].nodes) == 48
    with pytest.raises(jd.InputError, match=r"elements of 9 nodes do not exist; there are 8 and 20"):
        S.hexahedra((1, 1, 1), (1, 1, 1), rubber, nodes=9)
    with pytest.raises(jd.InputError, match=r"'left' of interface 'root' is no side; there are x\+, x-"):
        S.hexahedra((1, 1, 1), (1, 1, 1), rubber, root="left")
