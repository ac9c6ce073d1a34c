"""Bars and lumped masses: trusses, truss boxes and the translational rods of the literature on floating frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ..structure import Structure
from .dofs import Array, Dofs, dofs_of
from .elements import ElementGroup, assemble


@dataclass(frozen=True, eq=False)
class BarElements(ElementGroup):
    """Bars that carry axial force only."""

    nodes: NDArray[np.int64]
    rows: NDArray[np.int64]
    axes: Array  #: (e, d) unit directions
    lengths: Array
    stiffness: Array  #: EA / length
    area: Array  #: (e,), for stresses

    @property
    def channels(self) -> list[str]:
        return ["N"]

    def recovery(self) -> Array:
        return self.stiffness[:, None, None] * np.concatenate([-self.axes, self.axes], axis=1)[:, None, :]

    def von_mises(self, values: Array) -> Array:
        return np.abs(values[:, 0]) / self.area

    def strains(self) -> Array:
        return self.recovery() / (self.stiffness * self.lengths)[:, None, None]

    def rotations(self) -> Array:
        across = (np.eye(self.axes.shape[1]) - self.axes[:, :, None] * self.axes[:, None, :]) / self.lengths[:, None, None]
        return np.concatenate([-across, across], axis=2)

    def geometric(self, displacement: Array, size: int) -> sp.csc_array:
        """N/l on the relative displacement across the bar."""
        force = np.einsum("ecd,ed->e", self.recovery(), displacement[self.rows])
        d = self.axes.shape[1]
        across = np.eye(d) - self.axes[:, :, None] * self.axes[:, None, :]
        block = (force / self.lengths)[:, None, None] * across
        return assemble(size, self.rows, np.block([[block, -block], [-block, block]]))

    def matrices(self) -> Array:
        b = self.recovery()[:, 0]
        return b[:, :, None] * b[:, None, :] / self.stiffness[:, None, None]


def bar_elements(points: Array, dofs: Dofs, pairs: NDArray[np.int64], EA: ArrayLike, area: ArrayLike, name: str) -> BarElements:
    along = points[pairs[:, 1]] - points[pairs[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    if (lengths <= 0).any():
        k = int(np.argmin(lengths))
        raise InputError(f"{name}: bar {k} between nodes {pairs[k, 0]} and {pairs[k, 1]} has no length")
    d = 2 if dofs.planar else 3
    rows = dofs.table[pairs][:, :, :d].reshape(len(pairs), 2 * d)
    shape = (len(pairs),)
    return BarElements(
        pairs,
        rows,
        (along / lengths[:, None])[:, :d],
        lengths,
        np.broadcast_to(np.asarray(EA, float), shape) / lengths,
        np.broadcast_to(np.asarray(area, float), shape),
    )


def _each(given: Any, count: int, what: str, item: str, positive: bool) -> Any:
    """A number, or one an item, as it was given; raises otherwise."""
    try:
        array = np.asarray(given, float)
    except (TypeError, ValueError):
        raise InputError(f"{what} = {given!r} is no number; give one, or one a {item}") from None
    if array.shape not in ((), (count,)):
        raise InputError(f"{what}: {array.shape} numbers do not fit {count} {item}s; give one, or one a {item}")
    low = float(array.min(initial=np.inf))
    if not np.isfinite(array).all() or low < 0.0 or (positive and low == 0.0):
        raise InputError(f"{what}: {low:g} must be {'positive' if positive else 'not negative'} and finite")
    return given


def truss(
    nodes: ArrayLike,
    bars: Sequence[tuple[int, int]],
    EA: ArrayLike,
    masses: ArrayLike = 0.0,
    mass_per_length: ArrayLike = 0.0,
    area: ArrayLike = 1.0,
    name: str = "truss",
) -> Structure:
    """Bars between nodes (n, 3), or (n, 2) in the plane, that are pinned at both ends.

    Args:
        EA: axial stiffness of the bars, one or one a bar, N. masses: lumped at nodes, kg.
        mass_per_length: of the bars, distributed consistently, kg/m. area: of the bars, for stresses.
    """
    given = np.asarray(nodes, float)
    if given.ndim != 2 or given.shape[1] not in (2, 3):
        raise InputError(f"{name}: nodes of shape {given.shape} are no table of places; give (n, 3), or (n, 2) in the plane")
    points = np.pad(given, ((0, 0), (0, 3 - given.shape[1])))
    pairs = np.asarray(bars, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(points)):
        worst = int(pairs.max() if pairs.max() >= len(points) else pairs.min())
        raise InputError(f"{name}: bars name node {worst}, but nodes go from 0 to {len(points) - 1}")
    EA, area = (_each(x, len(pairs), f"{name}: {what}", "bar", True) for x, what in ((EA, "EA"), (area, "area")))
    masses = _each(masses, len(points), f"{name}: masses", "node", False)
    mass_per_length = _each(mass_per_length, len(pairs), f"{name}: mass_per_length", "bar", False)
    d = given.shape[1]
    dofs = dofs_of(len(points), d * len(points), None)
    group = bar_elements(points, dofs, pairs, EA, area, name)
    K = assemble(len(dofs), group.rows, group.matrices())
    mu = sp.csc_array(sp.diags_array(np.broadcast_to(np.asarray(masses, float), (len(points),)).astype(float)))
    line = np.broadcast_to(np.asarray(mass_per_length, float), (len(pairs),)) * group.lengths
    if line.any():
        mu = mu + assemble(len(points), pairs, line[:, None, None] * np.array([[2, 1], [1, 2]]) / 6.0)
    part = Structure(points, sp.kron(mu, np.eye(d), format="csc"), K, dofs, elements=[group], name=name)
    part.recipe = {
        "kind": "truss",
        "nodes": given,
        "bars": pairs,
        "EA": EA,
        "masses": masses,
        "mass_per_length": mass_per_length,
        "area": area,
    }
    return part


def truss_box(cells: int = 3, spacing: float = 1.0, EA: float = 1000.0, mass: float = 1.0, name: str = "truss box") -> Structure:
    """A box beam of cubic cells along x, bars along all edges and face diagonals, a mass at each node; ends are sets "left" and "right"."""
    grid = [(i, j, k) for i in range(cells + 1) for j in range(2) for k in range(2)]
    points = spacing * np.array(grid, float)
    near = np.linalg.norm(points[:, None] - points[None], axis=2) < 1.5 * spacing
    bars = [(i, j) for i in range(len(points)) for j in range(i + 1, len(points)) if near[i, j]]
    part = truss(points, bars, EA, masses=mass, name=name)
    part.sets["left"] = np.arange(4)
    part.sets["right"] = np.arange(4 * cells, 4 * cells + 4)
    part.recipe = {"kind": "truss_box", "cells": cells, "spacing": spacing, "EA": EA, "mass": mass}
    return part


def lattice_rod(
    nodes: int,
    spacing: float = 1.0,
    EA: float = 1000.0,
    EI: float = 1.0,
    mass_per_length: float = 1.0,
    name: str = "rod",
) -> Structure:
    """A planar rod of nodes with displacements alone: axial springs EA/h, bending energy ½ EI/h³ (y₋ − 2y + y₊)², lumped masses.

    Second-order accurate in the spacing h; its origin is its centre of mass.
    """
    if nodes < 3:
        raise InputError(f"{name}: {nodes} nodes; bending needs at least three")
    h = spacing
    x = h * (np.arange(nodes) - 0.5 * (nodes - 1))
    points = np.column_stack([x, np.zeros(nodes), np.zeros(nodes)])
    dofs = dofs_of(nodes, 2 * nodes, None)
    pairs = np.column_stack([np.arange(nodes - 1), np.arange(1, nodes)])
    group = bar_elements(points, dofs, pairs, EA, 1.0, name)
    triples = np.column_stack([np.arange(nodes - 2), np.arange(1, nodes - 1), np.arange(2, nodes)])
    second = np.array([1.0, -2.0, 1.0])
    bending = np.broadcast_to(EI / h**3 * np.outer(second, second), (nodes - 2, 3, 3))
    K = assemble(2 * nodes, group.rows, group.matrices()) + assemble(2 * nodes, dofs.table[triples, 1], bending)
    masses = np.full(nodes, mass_per_length * h)
    masses[[0, -1]] /= 2
    M = sp.diags_array(np.repeat(masses, 2))
    part = Structure(points, M, K, dofs, elements=[group], names={"start": 0, "end": nodes - 1}, name=name)
    part.recipe = {"kind": "lattice_rod", "nodes": nodes, "spacing": spacing, "EA": EA, "EI": EI, "mass_per_length": mass_per_length}
    return part
