"""The points that a camera must see, of many bodies."""

from __future__ import annotations

import numpy as np

from jourdain.view.camera import DIRECTIONS, _outline


def test_the_outline_is_that_of_all_points() -> None:
    """In every direction it reaches as far as all points together, and it has no points of its own."""
    rng = np.random.default_rng(4)
    blocks = [rng.normal(size=(int(rng.integers(1, 40)), 3)) * rng.uniform(0.1, 2.0) + rng.normal(size=3) for _ in range(60)]
    every, found = np.concatenate(blocks), _outline(blocks)
    np.testing.assert_allclose((found @ DIRECTIONS.T).max(axis=0), (every @ DIRECTIONS.T).max(axis=0), rtol=0, atol=1e-14)
    assert all((every == p).all(axis=1).any() for p in found)
    assert len(found) < len(every)
