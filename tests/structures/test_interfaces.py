"""Interfaces: rigid patches, averages, Craig–Bampton, attachment modes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.parts.points import motion_of
from jourdain.structures.pose import rotation

S = jd.structures


def bar(kind: str = "rigid", interfaces: tuple[str, ...] = ("a", "b")):
    part = S.block((0.5, 0.05, 0.04), (8, 2, 2), S.STEEL)
    for name, face in zip(interfaces, ("x-", "x+")):
        part.interface(name, face, kind=kind)
    return part


@pytest.mark.parametrize("kind", ["rigid", "average"])
def test_a_point_follows_rigid_motions(kind: str) -> None:
    part = bar(kind)
    twist = np.random.default_rng(0).standard_normal(6)
    for name in ("a", "b"):
        point = motion_of(part, name)
        v, w = (point.operator @ (part.rigid @ twist)).reshape(2, 3)
        assert_allclose(v, twist[:3] + np.cross(twist[3:], point.position), atol=1e-12)
        assert_allclose(w, twist[3:], atol=1e-12)


def test_rigid_patches_are_rigid() -> None:
    body = bar().craig_bampton(3)
    point = body.points["b"]
    for node in body.part.interfaces["b"].nodes:
        here = body.point(int(node))
        assert_allclose(here.phi_t, point.phi_t + np.cross(point.phi_r.T, here.position - point.position).T, atol=1e-9)
    assert point.turns and not here.turns


def test_craig_bampton_is_exact_in_statics_and_converges_from_above() -> None:
    """Loads at interfaces: the reduced compliance is the whole one; frequencies fall to those of the part with rigid patches."""
    part = bar()
    whole = part.frequencies(6)
    found = [part.craig_bampton(m).frequencies[:6] for m in (0, 6, 20)]
    for coarse, fine in pairwise(found):
        assert (coarse >= fine * (1 - 1e-10)).all()
    assert_allclose(found[-1], whole, rtol=1e-3)
    assert (found[-1] >= whole * (1 - 1e-10)).all()
    body = part.craig_bampton(0)
    from jourdain.structures.load_cases import load_cases

    cases = load_cases(body)
    balanced = np.zeros(12)
    balanced[:6] = [0, 0, 0, 0, 0, 1.0]
    balanced[6:] = [0, 0, 0, 0, 0, -1.0]
    wrench = {n: balanced[6 * i : 6 * i + 6] for i, n in enumerate(("a", "b"))}
    amplitudes = cases.amplitudes(loads=wrench)
    exact = motion_of(part, "a").operator @ (cases.displacements @ amplitudes)
    e = np.linalg.solve(body.stiffness, sum(body.points[n].phi_r.T @ w[3:] for n, w in wrench.items()))
    assert_allclose(np.concatenate([body.points["a"].phi_t @ e, body.points["a"].phi_r @ e]), exact, rtol=1e-7, atol=1e-16)


def test_averages_are_softer_than_patches() -> None:
    rigid, average = bar("rigid"), bar("average")
    plain = S.block((0.5, 0.05, 0.04), (8, 2, 2), S.STEEL)
    assert (average.craig_bampton(30).frequencies[:3] <= rigid.craig_bampton(30).frequencies[:3] * (1 + 1e-9)).all()
    assert_allclose(average.craig_bampton(20).frequencies[:4], plain.frequencies(4), rtol=2e-4)


def test_average_holds_its_mean() -> None:
    """Fixed modes with an averaged interface held: the mean displacement and rotation vanish, single nodes move."""
    part = bar("average")
    body = part.reduce(3, frame="tangent", at="a")
    assert np.abs(body.points["a"].phi_t).max() < 1e-10 and np.abs(body.points["a"].phi_r).max() < 1e-9
    moved = max(np.abs(body.point(int(n)).phi_t).max() for n in part.interfaces["a"].nodes)
    assert moved > 1e-7


def test_attachment_modes_make_compliance_exact() -> None:
    """Free-free modes with attachment shapes: the static answer of a free body to loads at interfaces is whole, with modes alone it is not."""
    part = bar()
    from jourdain.structures.load_cases import load_cases

    few, whole = part.reduce(2), part.reduce(2, kind="attachment")
    cases = load_cases(whole)
    for name in ("a.fx", "b.fz", "b.mx", "a.my"):
        f, u = cases.loads[:, cases.names.index(name)], cases.displacements[:, cases.names.index(name)]
        exact = f @ u
        answer = [load @ np.linalg.solve(body.stiffness, load) for body in (few, whole) for load in (body.shapes.T @ f,)]
        assert answer[1] == pytest.approx(exact, rel=1e-8)
        assert answer[0] < 0.99 * exact


def test_guyan_is_craig_bampton_without_modes() -> None:
    part = bar()
    a = part.reduce(kind="guyan", fixed=["a", "b"]).frequencies
    assert_allclose(a, part.craig_bampton(0).frequencies, rtol=1e-9)


def test_a_turned_part_has_the_same_numbers() -> None:
    """Coordinates of the part do not matter: mass matrix turned, frequencies equal."""
    A, shift = rotation([0.3, -0.5, 0.9]), np.array([1.0, -2.0, 0.5])
    plain = S.block((0.5, 0.05, 0.04), (4, 1, 1), S.STEEL)
    other = S.solid(plain.nodes @ A.T + shift, plain.elements[0].nodes, S.STEEL)
    a, b = plain.reduce(4, normalise="mass"), other.reduce(4, normalise="mass")
    assert_allclose(a.frequencies, b.frequencies, rtol=1e-9)
    assert_allclose(A @ plain.inertia @ A.T, other.inertia, atol=1e-10)


def test_conditions_of_frames_hold_for_every_reduction() -> None:
    part = bar("average")
    for frame, at in (
        ("mean axes", None),
        ("tangent", "a"),
        ("pinned", ("a", "b")),
        ("nodal-fixed", ("a", "b", int(part.sets["y+"][0]))),
        ("principal axes", None),
    ):
        for kind, options in (("craig-bampton", {}), ("fixed", {"fixed": ["a", "b"]}), ("attachment", {})):
            body = part.reduce(3, frame=frame, at=at, kind=kind, **options)
            size = np.abs(body.conditions).max(axis=1, keepdims=True)
            assert np.abs(body.conditions @ body.shapes / size).max() < 1e-8
            assert np.linalg.eigvalsh(body.mass_matrix())[0] > 0


def test_large_parts_are_never_dense() -> None:
    """A few thousand degrees of freedom by the sparse way agree with the dense way of a condensed basis, and with averages."""
    part = S.block((1.0, 0.1, 0.08), (30, 4, 3), S.STEEL)
    assert len(part.dofs) > 1500
    part.interface("a", "x-", kind="average")
    part.interface("b", "x+", kind="average")
    free = part.frequencies(6)
    assert_allclose(part.craig_bampton(24).frequencies[:4], free[:4], rtol=3e-3)
    body = part.reduce(6)
    assert_allclose(body.frequencies, free, rtol=1e-8)
    assert np.abs(body.s1).max() < 1e-9 * body.mass


def test_bending_goes_with_attachment_shapes_and_craig_bampton() -> None:
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), S.STEEL, elements=8)
    whole = part.reduce(3, bending="y").frequencies
    for kind in ("attachment", "craig-bampton"):
        body = part.reduce(3, kind=kind, interfaces=["start", "end"], bending="y")
        assert np.isfinite(body.shapes).all() and np.abs(body.shapes[part.dofs.components == 2]).max() < 1e-12
        assert_allclose(body.frequencies[:2], whole[:2], rtol=5e-3)


def test_small_patches_keep_one_coordinate_a_row() -> None:
    """A part of a millimetre: the point of a rigid patch is the patch, rounding or not."""
    part = S.block((1e-3, 2e-4, 1e-4), (4, 1, 1), S.STEEL)
    part.interface("a", "x-")
    part.interface("b", "x+")
    assert part.craig_bampton(2).modes == 8
