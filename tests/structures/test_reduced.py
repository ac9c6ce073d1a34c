"""The record of a reduced structure: its mass matrix against quadrature, frames against each other, points against shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.parts.dofs import skew

STEEL = jd.structures.STEEL


def ell():
    """An L-shaped frame with a skew leg, so that nothing is symmetric."""
    nodes = np.array([(0, 0, 0), (0.3, 0, 0), (0.6, 0, 0), (0.6, 0.2, 0.1), (0.6, 0.4, 0.3)], float)
    part = jd.structures.framework(
        nodes, [(0, 1), (1, 2), (2, 3), (3, 4)], jd.structures.rectangle(0.02, 0.03), STEEL, theory="timoshenko", offset=(0, 0.01, 0)
    )
    part.names.update(start=0, end=4)
    return part


def quadrature(body, e):
    """M(e) point by point: ∫ of [I, −b̃, φ] over the mass, and the rotary inertia undeformed."""
    field = body.part.field
    phi = field.sampled(body.shapes)
    b = field.positions + phi @ e
    L = np.concatenate([np.broadcast_to(np.eye(3), (len(b), 3, 3)), -skew(b), phi], axis=2)
    M = np.einsum("pq,pia,qib->ab", field.weights.toarray(), L, L)
    if field.remainder is not None:
        W = np.hstack([body.part.rigid, body.shapes])
        M += W.T @ (field.remainder @ W)
    return M


FRAMES = ["mean axes", "tangent", "pinned", "nodal-fixed", "principal axes"]


@pytest.mark.parametrize("frame", FRAMES)
def test_mass_matrix_is_the_quadrature_at_random_states(frame: str) -> None:
    body = ell().reduce(5, frame=frame)
    rng = np.random.default_rng(1)
    for _ in range(5):
        e = 0.05 * rng.standard_normal(5)
        M = quadrature(body, e)
        assert_allclose(body.mass_matrix(e), M, atol=1e-13 * abs(M).max())
        assert np.linalg.eigvalsh(body.mass_matrix(e))[0] > 0


@given(seed=st.integers(0, 1000), nodes=st.integers(4, 7), frame=st.sampled_from(FRAMES))
@settings(max_examples=25, deadline=None)
def test_random_frameworks(seed: int, nodes: int, frame: str) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((nodes, 3))
    members = [(int(rng.integers(i)), i) for i in range(1, nodes)] + [(0, nodes - 1)]
    part = jd.structures.framework(points, members, jd.structures.circle(0.05), STEEL, theory="rayleigh")
    at = {"tangent": 0, "pinned": (0, 1), "nodal-fixed": (0, 1, 2)}.get(frame)
    body = part.reduce(4, frame=frame, at=at, kind=None if frame in FRAMES[1:4] else "free-free")
    e = 0.01 * rng.standard_normal(4)
    assert_allclose(body.mass_matrix(e), quadrature(body, e), atol=1e-12 * abs(body.mass_matrix(e)).max())
    assert np.abs(body.conditions @ body.shapes).max() < 1e-9 * np.abs(body.conditions).max()
    assert np.linalg.eigvalsh(body.mass_matrix(e))[0] > 0


def test_frames_of_one_span_have_the_same_free_frequencies() -> None:
    part = ell()
    found = [part.reduce(8, frame=f, kind="craig-bampton", interfaces=["start", "end"]).free_frequencies for f in FRAMES]
    for other in found[1:]:
        assert_allclose(other, found[0], rtol=1e-8)
    assert (found[0][:4] >= part.frequencies(4) * (1 - 1e-10)).all()
    assert_allclose(found[0][:4], part.frequencies(4), rtol=3e-3)


@pytest.mark.parametrize("frame", FRAMES)
def test_a_body_is_seen_from_another_frame(frame: str) -> None:
    """[R Φ] = [R Φ'] [[I, ρ], [0, I]]: the mass matrices of two frames are one, and back is back."""
    body = ell().reduce(4, damping=0.02)
    other, rho = body.seen_from(frame)
    T = np.eye(10)
    T[:6, 6:] = rho
    assert_allclose(T.T @ other.mass_matrix() @ T, body.mass_matrix(), atol=1e-12)
    assert_allclose(other.stiffness, body.stiffness, rtol=1e-7, atol=1e-7 * abs(body.stiffness).max())
    assert_allclose(other.damping, body.damping)
    back, _ = other.seen_from("mean axes")
    assert_allclose(back.shapes, body.shapes, atol=1e-12)
    for name, point in body.points.items():
        moved = other.points[name].phi_t + rho[:3] + np.cross(rho[3:].T, point.position).T
        assert_allclose(moved, point.phi_t, atol=1e-12)


def test_mean_axes_do_not_couple() -> None:
    body = ell().reduce(6)
    assert np.abs(body.s1).max() < 1e-12 * body.mass
    assert np.abs(body.D0).max() < 1e-12 * body.mass
    assert_allclose(body.frequencies, body.free_frequencies, rtol=1e-12)


def test_craig_bampton_counts() -> None:
    body = ell().craig_bampton(4, interfaces=["start", "end"])
    assert body.modes == 6 * 2 - 6 + 4
    assert (np.diff(body.frequencies) >= 0).all()


def test_all_modes_of_a_reduction_are_the_structure() -> None:
    part = ell()
    body = part.reduce(24, normalise="mass")
    assert_allclose(body.M_ee, np.eye(24), atol=1e-10)
    assert_allclose(body.frequencies, part.frequencies(24), rtol=1e-9)


def test_damping_ratios_rayleigh_and_own_matrix() -> None:
    part = ell()
    body = part.reduce(3, damping=0.02, normalise="mass")
    assert_allclose(np.diag(body.damping), 2 * 0.02 * body.frequencies, rtol=1e-9)
    rayleigh = body.with_damping({"mass": 3.0, "stiffness": 1e-5})
    assert_allclose(rayleigh.damping, 3.0 * body.M_ee + 1e-5 * body.stiffness, rtol=1e-12)
    own = jd.structures.Structure(part.nodes, part.M, part.K, damping=1e-5 * part.K).reduce(3, normalise="mass")
    assert_allclose(own.damping, 1e-5 * own.stiffness, rtol=1e-8, atol=1e-6)


def test_equal_frequencies_are_along_the_axes() -> None:
    part = jd.structures.beam((0, 0, 0), (1, 0, 0), jd.structures.circle(0.02), STEEL, elements=6)
    body = part.reduce(2)
    end = body.points["end"].phi_t
    assert np.abs(end[[2, 1], [0, 1]]).max() < 1e-8
    assert np.abs(end[[1, 2], [0, 1]]).min() > 0.9


def crooked(cells):
    """A bar of hexahedra without any symmetry."""
    block = jd.structures.block((0.5, 0.03, 0.02), cells, STEEL)
    x, y, z = block.nodes.T
    part = jd.structures.solid(
        np.column_stack([x + 0.2 * y, y * (1 - 0.5 * x) + 0.1 * x**2, z * (1 - 0.3 * x) + 0.1 * x * y]), block.elements[0].nodes, STEEL
    )
    part.interface("left", block.sets["x-"])
    part.interface("right", block.sets["x+"])
    return part


def test_natural_shapes_of_every_mesh_have_one_pattern():
    """Stiffness and mass of natural shapes are diagonal to rounding, so that bodies of as many modes share their code whatever the mesh."""
    patterns = []
    for cells in ((6, 2, 2), (11, 2, 2), (30, 3, 4)):
        body = crooked(cells).craig_bampton(8)
        size = np.sqrt(np.diag(body.M_ee))
        assert_allclose(body.M_ee / np.outer(size, size), np.eye(body.modes), atol=1e-13)
        np.testing.assert_array_equal(body.stiffness, np.diag(np.diag(body.stiffness)))
        m = jd.Model("bar")
        m.revolute("hinge", m.ground, m.flexible_body("bar", body).node("left"), axis="y")
        patterns.append([p.name for p in m.parameter_set if p.data])
    assert patterns[0] == patterns[1] == patterns[2]
