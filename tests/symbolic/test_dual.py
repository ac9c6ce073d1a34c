"""Dual numbers: their arithmetic against Taylor's formula, displacements against 4×4 matrices."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from jourdain.symbolic import dual, evaluate
from jourdain.symbolic.dual import Dual, DualMatrix
from jourdain.symbolic.vectors import Matrix, Vector

number = st.floats(-3, 3).filter(lambda x: abs(x) > 1e-2)


def parts(x: Dual) -> np.ndarray:
    return np.array(evaluate([x.real, x.dual], {}), dtype=float)


@given(number, number, number, number)
@settings(deadline=None, max_examples=40)
def test_arithmetic_is_the_first_order_taylor_formula(x, dx, y, dy):
    h = 1e-30  # complex step: exact derivative of the same real function
    a, b = Dual.of(x, dx), Dual.of(y, dy)
    za, zb = x + 1j * h * dx, y + 1j * h * dy
    for mine, theirs in (
        (a + b, za + zb), (a - b, za - zb), (a * b, za * zb), (a / b, za / zb), (2 / b, 2 / zb), (3 - a, 3 - za),
        (dual.sin(a), np.sin(za)), (dual.cos(a), np.cos(za)), (dual.sqrt(a * a), np.sqrt(za * za)),
    ):  # fmt: skip
        assert np.allclose(parts(mine), [theirs.real, theirs.imag / h], rtol=1e-13, atol=1e-13)


@given(number, number)
@settings(deadline=None, max_examples=20)
def test_sine_and_cosine_stay_on_the_dual_unit_circle(x, y):
    a = Dual.of(x, y)
    assert np.allclose(parts(dual.sin(a) * dual.sin(a) + dual.cos(a) * dual.cos(a)), [1, 0], atol=1e-14)


def test_products_of_displacements_are_those_of_homogeneous_matrices():
    rng = np.random.default_rng(1)
    for _ in range(20):
        total, four = DualMatrix.displacement(Matrix.of(np.eye(3)), Vector.of((0, 0, 0))), np.eye(4)
        for _ in range(5):
            R, p = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix(), rng.normal(size=3)
            step = np.eye(4)
            step[:3, :3], step[:3, 3] = R, p
            total, four = total @ DualMatrix.displacement(Matrix.of(R), Vector.of(p)), four @ step
        assert np.allclose(np.array(evaluate(total.real.entries, {})).reshape(3, 3), four[:3, :3], atol=1e-13)
        assert np.allclose(evaluate(list(total.translation), {}), four[:3, 3], atol=1e-13)
        unit = total @ total.T
        assert np.allclose(np.array(evaluate(unit.real.entries, {})).reshape(3, 3), np.eye(3), atol=1e-13)
        assert np.allclose(evaluate(unit.dual.entries, {}), 0, atol=1e-12)
