"""Packed tracks: the stated bound holds for every sample of any column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.errors import InputError
from jourdain.view import tracks
from jourdain.view.tracks import Packer, estimate, lagrange, unpack


def round_trip(values: np.ndarray, tolerance: float | list[float]) -> tuple[np.ndarray, int]:
    packer = Packer()
    block = packer.add(values, tolerance)
    data = packer.data()
    return unpack(packer.directory, data)[block], len(data)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.integers(0, 700),
    kind=st.sampled_from(["smooth", "noise", "steps", "rest", "walk", "impact"]),
    exponent=st.integers(-8, -2),
    scale=st.floats(1e-4, 1e4),
)
def test_every_sample_is_within_the_tolerance(seed: int, samples: int, kind: str, exponent: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    t = np.arange(samples)[:, None] / 60
    values = {
        "smooth": np.sin(t * rng.uniform(0.1, 8, 3) + rng.uniform(0, 6, 3)),
        "noise": rng.normal(size=(samples, 3)),
        "steps": np.round(2 * np.sin(3 * t + [0, 1, 2])),
        "rest": np.tile(rng.normal(size=3), (samples, 1)),
        "walk": np.cumsum(rng.normal(size=(samples, 3)), axis=0),
        "impact": np.abs(np.sin(t * rng.uniform(0.5, 4, 3))),
    }[kind] * scale
    tolerance = 10.0**exponent * scale
    back, _ = round_trip(values, tolerance)
    assert back.shape == values.shape
    # finer than 2⁻²⁸ of the column's range is not kept
    allowed = np.maximum(tolerance, np.ptp(values, axis=0) / 2**28 if samples else 0.0)
    assert np.all(np.abs(back - values) <= allowed * (1 + 1e-9))


def test_tolerances_differ_by_column(rng: np.random.Generator) -> None:
    values = np.cumsum(rng.normal(size=(400, 2)), axis=0)
    back, _ = round_trip(values, [1e-6, 0.5])
    error = np.max(np.abs(back - values), axis=0)
    assert error[0] <= 1e-6
    assert 0.1 < error[1] <= 0.5


def test_smooth_motion_takes_under_half_a_byte_a_number() -> None:
    t = np.arange(20000) / 60
    values = np.column_stack([np.sin(1.3 * t), np.cos(0.7 * t) + 0.2 * np.sin(5 * t)])
    back, size = round_trip(values, 1e-6)
    assert np.max(np.abs(back - values)) <= 1e-6
    assert size < 0.5 * values.size
    assert estimate(values, 1e-6) == pytest.approx(size, rel=1.0)


def test_numbers_that_are_not_finite_survive() -> None:
    values = np.array([[0.0], [np.nan], [1.5], [np.inf]])
    back, _ = round_trip(values, 1e-6)
    assert np.array_equal(back, values, equal_nan=True)


def test_exact_blocks_keep_every_bit(rng: np.random.Generator) -> None:
    values = rng.normal(size=(50, 2)) * 1e9
    packer = Packer()
    first = packer.add(values, 1.0)
    second = packer.add_exact(values)
    blocks = unpack(packer.directory, packer.data())
    assert np.array_equal(blocks[second], values)
    assert not np.array_equal(blocks[first], values)


def test_lagrange_weights_are_exact_for_polynomials_of_degree_seven() -> None:
    u = np.linspace(0, 7, 29)
    nodes = np.arange(8.0)
    for degree in range(8):
        assert np.allclose(lagrange(u) @ nodes**degree, u**degree, rtol=1e-11, atol=1e-9)


def test_a_block_must_be_a_table() -> None:
    with pytest.raises(InputError, match="is not \\(n, m\\)"):
        Packer().add(np.zeros(3), 1e-6)


@pytest.mark.parametrize("lags", [8, 20])
def test_normal_equations_are_sums_of_products(lags: int) -> None:
    """Found from each other by what enters and leaves, they are those of all windows (whole numbers: to the last digit)."""
    keys = np.random.default_rng(3).integers(-99, 99, (3, 300, 4)).astype(float)
    rows = np.lib.stride_tricks.sliding_window_view(keys, lags + 1, axis=1).transpose(2, 0, 1, 3).reshape(4, -1, lags + 1)
    past, present = rows[:, :, -2::-1], rows[:, :, -1:]
    normal, right = tracks._normal_equations(keys, lags)
    assert np.array_equal(normal, past.transpose(0, 2, 1) @ past)
    assert np.array_equal(right, (past.transpose(0, 2, 1) @ present)[:, :, 0])
