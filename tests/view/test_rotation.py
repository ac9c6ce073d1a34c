"""Quaternions and rotation matrices: round trips at every angle, π included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from jourdain.errors import InputError
from jourdain.view.rotation import (
    axis_angle,
    continuous,
    matrix_from_quaternion,
    normalised,
    product,
    quaternion_from_matrix,
    quaternion_from_vector,
)

number = st.floats(-4, 4, allow_nan=False, allow_subnormal=False)


def test_18_T14_matrix_round_trip_of_ten_thousand_rotations(rng: np.random.Generator) -> None:
    axes = rng.normal(size=(10000, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.concatenate([rng.uniform(0, np.pi, 9000), np.zeros(500), np.full(500, np.pi)])
    matrices = Rotation.from_rotvec(axes * angles[:, None]).as_matrix()
    back = matrix_from_quaternion(quaternion_from_matrix(matrices))
    assert np.max(np.abs(back - matrices)) < 1e-12


def test_18_T14_roots_of_the_diagonal_alone_lose_signs(rng: np.random.Generator) -> None:
    """e_k = ½√S_kk, as printed in the thesis on rotationless bodies, gives another rotation for most matrices."""
    R = Rotation.random(1000, random_state=rng).as_matrix()
    d = np.einsum("nii->ni", R)
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    printed = 0.5 * np.sqrt(np.maximum(0.0, 1.0 + d @ signs.T))
    wrong = np.abs(matrix_from_quaternion(printed) - R).max(axis=(1, 2)) > 1e-6
    assert wrong.mean() == pytest.approx(7.0 / 8.0, abs=0.03)
    assert np.abs(matrix_from_quaternion(quaternion_from_matrix(R)) - R).max() < 1e-12


@given(st.tuples(number, number, number), st.tuples(number, number, number))
def test_product_and_exponential_agree_with_scipy(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    p, q = quaternion_from_vector(a), quaternion_from_vector(b)
    expected = (Rotation.from_rotvec(a) * Rotation.from_rotvec(b)).as_matrix()
    assert np.allclose(matrix_from_quaternion(product(p, q)), expected, atol=1e-13)


@given(st.tuples(number, number, number))
def test_axis_and_angle_give_the_rotation_back(v: tuple[float, ...]) -> None:
    axis, angle = axis_angle(quaternion_from_vector(v))
    assert np.allclose(Rotation.from_rotvec(axis * angle).as_matrix(), Rotation.from_rotvec(v).as_matrix(), atol=1e-13)


def test_signs_become_continuous(rng: np.random.Generator) -> None:
    smooth = quaternion_from_vector(np.linspace(0, 9, 200)[:, None] * [0.3, 0.5, 0.1])
    mixed = smooth * rng.choice([-1.0, 1.0], size=(200, 1))
    chosen = continuous(mixed)
    assert np.allclose(chosen * np.sign(chosen[0] @ smooth[0]), smooth, atol=1e-15)


def test_a_quaternion_without_direction_is_refused() -> None:
    with pytest.raises(InputError, match="length zero"):
        normalised([0, 0, 0, 0])
