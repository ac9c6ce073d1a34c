"""Strains and slopes against closed forms, and the complaint of a body that is not linear any more."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.parts.elements import stacked

S = jd.structures


def test_a_bent_cantilever() -> None:
    """Tip moment M: slope M L/EI, strain M h/2EI; both from the static shape of that load."""
    s, L, M = S.rectangle(0.02, 0.01), 1.0, 30.0
    part = S.beam((0, 0, 0), (L, 0, 0), s, S.STEEL, elements=5)
    body = part.reduce(kind="guyan", fixed=["start", "end"], frame="tangent", at="start")
    e = np.linalg.solve(body.stiffness, body.points["end"].phi_r.T @ [0, M, 0])
    strain, slope = body.linearity().largest(e)
    assert strain == pytest.approx(M * 0.005 / (S.STEEL.E * s.Iy), rel=1e-8)
    assert slope == pytest.approx(M * L / (S.STEEL.E * s.Iy), rel=1e-8)


@pytest.mark.parametrize(
    "part", [S.block((1, 1, 1), (2, 1, 1), S.STEEL), S.truss_box(), S.sheet((2, 1), (2, 2), 0.1, S.STEEL)], ids=["solid", "truss", "sheet"]
)
def test_rigid_rotations_have_no_strain_and_stretches_no_rotation(part) -> None:
    group, size = part.elements[0], len(part.dofs)
    strain, turn = (stacked(size, group.rows, x) for x in (group.strains(), group.rotations()))
    rigid = part.rigid @ np.array([0.1, -0.2, 0, 0, 0, 0.3])
    assert np.abs(strain @ rigid).max() < 1e-13
    largest = 0.3 if not isinstance(group, type(S.truss_box().elements[0])) else None
    if largest is not None:
        assert np.abs(turn @ rigid).max() == pytest.approx(0.3, rel=1e-12)
    stretch = np.zeros(size)
    stretch[part.dofs.components == 0] = 0.01 * part.nodes[part.dofs.nodes[part.dofs.components == 0], 0]
    assert np.abs(strain @ stretch).max() == pytest.approx(0.01, rel=1e-10)
    if largest is not None:
        assert np.abs(turn @ stretch).max() < 1e-13


def test_complaint_names_time_body_and_value() -> None:
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.01), S.STEEL, name="rod")
    body = part.reduce(1, frame="tangent", bending="y")
    check = body.linearity()
    assert check.complaint([[0.0], [0.01]], [0.0, 0.5]) is None
    unit = check.largest([1.0])[1]
    e = np.array([[0.0], [0.1 / unit], [0.25 / unit], [0.3 / unit]])
    told = check.complaint(e, [0, 1, 2, 3])
    assert told is not None and "body 'rod': at t = 2 s it has a slope of 0.25 rad, more than 0.2 rad" in told
    stiff = S.block((1, 0.3, 0.3), (4, 1, 1), S.STEEL).reduce(8)
    rows = stiff.linearity()
    k = int(np.argmax([rows.largest(row)[0] / rows.largest(row)[1] for row in np.eye(8)]))
    e = np.eye(8)[k] * 0.1 / rows.largest(np.eye(8)[k])[0]
    assert "a strain of 10 %" in str(rows.complaint(e))


def test_matrices_alone_know_rotations_of_nodes() -> None:
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.01), S.STEEL)
    plain = S.Structure(part.nodes, part.M, part.K)
    e = [0.1, 0.05]
    a, b = part.reduce(2).linearity().largest(e), plain.reduce(2).linearity().largest(e)
    assert_allclose(a[1], b[1], rtol=1e-6)
    assert b[0] == 0
