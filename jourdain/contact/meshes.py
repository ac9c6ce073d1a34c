"""Grids of quadrilaterals for fast bodies: discs in the plane, bodies of revolution with a fine grid where they are touched."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import numpy as np
from numpy.typing import NDArray

from ..structures.parts.dofs import Array

#: A side of a region as a function of 0 … 1.
Side = Callable[[Array], Array]


def graded(length: float, first: float, uniform: float = 0.0, growth: float = 1.2, largest: float = np.inf) -> Array:
    """Places from 0 to `length`: steps of `first` up to `uniform`, then growing up to `largest`."""
    steps = [first] * max(int(np.ceil(uniform / first)), 1)
    while sum(steps) < length:
        steps.append(min(steps[-1] * growth, largest))
    places = np.concatenate([[0.0], np.cumsum(steps)])
    fine = min(len(places) - 2, max(int(np.ceil(uniform / first)), 1))
    if length <= places[fine]:
        return np.linspace(0.0, length, max(int(np.ceil(length / first)), 1) + 1)
    tail = places[fine:] - places[fine]
    return np.concatenate([places[:fine], places[fine] + tail * (length - places[fine]) / tail[-1]])


def blended(
    bottom: Side, right: Side, top: Side, left: Side, s: Array, t: Array, t_right: Array | None = None
) -> tuple[Array, NDArray[np.int64]]:
    """Nodes (n, 2) and quadrilaterals between four sides (Gordon & Hall 1973): bottom and top run with s, left and right with t.

    Node (i, j) of s and t has the number i · len(t) + j.  With `t_right` the right side is divided otherwise than the left one.
    """
    end = t if t_right is None else t_right
    S = s[:, None, None]
    T = (1 - S) * t[None, :, None] + S * end[None, :, None]
    b, r, u, l = bottom(s)[:, None], right(end)[None], top(s)[:, None], left(t)[None]
    corners = (1 - S) * (1 - T) * b[:1] + S * (1 - T) * b[-1:] + (1 - S) * T * u[:1] + S * T * u[-1:]
    nodes = (1 - T) * b + T * u + (1 - S) * l + S * r - corners
    number = np.arange(len(s) * len(t)).reshape(len(s), len(t))
    low, high = slice(None, -1), slice(1, None)
    cells = np.stack([number[low, low], number[high, low], number[high, high], number[low, high]], axis=-1).reshape(-1, 4)
    return nodes.reshape(-1, 2), cells


def line(start: tuple[float, float], end: tuple[float, float]) -> Side:
    a, b = np.array(start), np.array(end)
    return lambda s: a + s[:, None] * (b - a)


def arc(radius: float, start: float, end: float, centre: float = 0.0) -> Side:
    """Of a circle about (0, centre), between angles against the first axis."""

    def side(s: Array) -> Array:
        angle = start + s * (end - start)
        return np.column_stack([radius * np.cos(angle), centre + radius * np.sin(angle)])

    return side


def half_disc(radius: float, size: float, whole: bool) -> tuple[Array, NDArray[np.int64], int]:
    """The half x ≥ 0 of a disc, or of its half y ≥ 0; the last number is the node (0, radius) that is struck."""
    across = max(round(0.9 * radius / size), 2)
    s = np.linspace(0.0, 1.0, across + 1)
    if whole:
        t = np.linspace(0.0, 1.0, 2 * across + 1)
        sides = arc(radius, -pi / 2, -pi / 4), arc(radius, -pi / 4, pi / 4), arc(radius, pi / 2, pi / 4), line((0, -radius), (0, radius))
    else:
        t = np.linspace(0.0, 1.0, across + 1)
        sides = line((0, 0), (radius, 0)), arc(radius, 0, pi / 4), arc(radius, pi / 2, pi / 4), line((0, 0), (0, radius))
    nodes, cells = blended(*sides, s, t)
    return nodes, cells, len(t) - 1


def cylinder_section(radius: float, length: float, r: Array, z: Array) -> tuple[Array, NDArray[np.int64]]:
    """A rectangle of places r (0 … radius) and z (0 … length); z = 0 is the face that is struck."""
    return blended(
        line((0, 0), (radius, 0)),
        line((radius, 0), (radius, length)),
        line((0, length), (radius, length)),
        line((0, 0), (0, length)),
        r / radius,
        z / length,
    )


def sphere_section(radius: float, surface: Array, depth: Array) -> tuple[Array, NDArray[np.int64]]:
    """Half a circle of which the pole (0, 0) is struck, the body above it; `surface` are radii on the lower quarter of the circle, from 0 to
    radius/√2, and `depth` places from 0 to 1 through the body.
    """
    s = np.arcsin(np.minimum(surface / radius, 1.0)) / (pi / 4)
    sides = (
        arc(radius, -pi / 2, -pi / 4, radius), arc(radius, -pi / 4, pi / 4, radius), arc(radius, pi / 2, pi / 4, radius), line((0, 0), (0, 2 * radius)),
    )  # fmt: skip
    return blended(*sides, s, depth, np.linspace(0.0, 1.0, len(depth)))  # no thin layers at the corner on the circle
