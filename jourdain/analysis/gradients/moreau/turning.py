"""Positions moved by velocities with quaternions, q ∘ exp(d), in rows with their derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def moved(q: np.ndarray, d: np.ndarray, turns: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q ∘ exp(d) in rows, with its derivatives by q and by d; ``turns`` are the first position and velocity of each quaternion."""
    n, nq, nv = len(q), q.shape[1], d.shape[1]
    found, by_q, by_d = q.copy(), np.zeros((n, nq, nq)), np.zeros((n, nq, nv))
    first, iq, iv = dict(turns), 0, 0
    while iq < nq:
        if first.get(iq) == iv:
            at, of = slice(iq, iq + 4), slice(iv, iv + 3)
            found[:, at], by_q[:, at, at], by_d[:, at, of] = _turned(q[:, at], d[:, of])
            iq, iv = iq + 4, iv + 3
        else:
            found[:, iq] += d[:, iv]
            by_q[:, iq, iq] = by_d[:, iq, iv] = 1.0
            iq, iv = iq + 1, iv + 1
    return found, by_q, by_d


def _turned(e: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A unit quaternion times (cos ½‖d‖, ½ sinc(½‖d‖) d)."""
    half = 0.5 * np.linalg.norm(d, axis=1)
    small = half < 1e-4
    safe = np.where(small, 1.0, half)
    sinc = np.where(small, 1.0 - half**2 / 6.0, np.sin(safe) / safe)
    bend = np.where(small, -1.0 / 24.0 + half**2 / 240.0, (np.cos(safe) - sinc) / (8.0 * safe**2))
    other = np.concatenate([np.cos(half)[:, None], 0.5 * sinc[:, None] * d], axis=1)
    slope = np.zeros((len(e), 4, 3))
    slope[:, 0] = -0.25 * sinc[:, None] * d
    slope[:, 1:] = 0.5 * sinc[:, None, None] * np.eye(3) + bend[:, None, None] * d[:, :, None] * d[:, None, :]
    left = _left(e)
    return np.einsum("kij,kj->ki", left, other), _right(other), left @ slope


def _left(e: np.ndarray) -> np.ndarray:
    """The matrix of x ↦ e x."""
    a, b, c, d = e.T
    return np.array([[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]]).transpose(2, 0, 1)


def _right(e: np.ndarray) -> np.ndarray:
    """The matrix of x ↦ x e."""
    a, b, c, d = e.T
    return np.array([[a, -b, -c, -d], [b, a, d, -c], [c, -d, a, b], [d, c, -b, a]]).transpose(2, 0, 1)


__all__ = ["moved"]
