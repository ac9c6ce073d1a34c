"""Meshes of solids in an assembled system: nodes with coordinates of their own, nodes on rigid bodies, and the elements between them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....elements.fastening import NodeOnBody
from ....elements.solid import Solid
from ....errors import ModelError
from ..program import Handle

if TYPE_CHECKING:
    from ..system import AssembledSystem

COUPLINGS = ("null space", "constraints")


@dataclass(frozen=True)
class Carried:
    """A node without coordinates: it stands at a place of a body."""

    name: str
    body: Handle
    place: np.ndarray


#: Poisson's ratio from which on linear elements are said to lock.
NEARLY = 0.49


class Mesh:
    """What :meth:`.AssembledSystem.mesh` does."""

    def __init__(self, system: AssembledSystem, element: Solid, name: str, places: Any, cells: Any) -> None:
        self.system, self.element, self.name = system, element, name
        self._what = f"system '{system.name}', mesh '{name}'"
        if not isinstance(element, Solid) or element.on:
            raise ModelError(f"{self._what}: {element!r} is no solid; give an instance such as Solid(hexahedron())")
        d, a = element.interpolation.dimension, element.interpolation.nodes
        self.X = np.asarray(places, float)
        if self.X.ndim != 2 or self.X.shape[1] != d or not np.isfinite(self.X).all():
            raise ModelError(f"{self._what}: places of shape {self.X.shape} are not finite numbers (nodes, {d})")
        self.cells = self._numbers(cells, "cells")
        if self.cells.ndim != 2 or self.cells.shape[1] != a:
            raise ModelError(f"{self._what}: cells of shape {self.cells.shape} are not (cells, {a})")

    def add(
        self, velocities: Any, fixed: Any, at: Any, attach: Sequence[tuple[Handle, Any]], coupling: str, numbers: dict[str, Any]
    ) -> list[Any]:
        """Blocks of nodes and elements of cells."""
        held, d = np.zeros(len(self.X), bool), self.X.shape[1]
        held[self._numbers(fixed, "fixed")] = True
        x, v = (self._rows(part, word) for part, word in ((self.X if at is None else at, "at"), (velocities, "velocities")))
        body, place = self._attached(attach, coupling, held, x)
        lonely = np.setdiff1d(np.arange(len(self.X)), self.cells)
        bad = lonely[~held[lonely] & (body[lonely] < 0)]
        if bad.size:
            raise ModelError(f"{self._what}: node {bad[0]} is in no cell, so that it has no mass; leave it out, or fix it")
        v[held] = 0.0
        self._carry(attach, body, place, v)
        given = self.element.numbers(self.X[self.cells], **numbers)  # all checks before anything is added
        self._tell_locking(given)
        own = np.flatnonzero((body < 0) | (coupling == "constraints"))
        names, cell_names = [f"{self.name}.{k}" for k in range(len(self.X))], [f"{self.name}[{k}]" for k in range(len(self.cells))]
        self.system.check_new([names[k] for k in own], cell_names)
        handles: list[Any] = [None] * len(self.X)
        for k, h in zip(own, self.system.add_blocks([names[k] for k in own], x[own], v[own], held[own], "m"), strict=True):
            handles[k] = h
        if coupling == "constraints":
            for k in np.flatnonzero(body >= 0):
                blocks = {"body": attach[body[k]][0], "node": handles[k]}
                self.system.add(NodeOnBody(d), f"{names[k]}.attached", blocks, {"place": place[k]})
            body = np.full_like(body, -1)
        for k in np.flatnonzero(body >= 0):
            handles[k] = Carried(names[k], attach[body[k]][0], place[k])
        self._elements(cell_names, handles, [h for h, _ in attach], body, place, given)
        return handles

    def _tell_locking(self, given: dict[str, np.ndarray]) -> None:
        """Warns where linear elements of a nearly incompressible material would hardly deform."""
        e = self.element
        if e.enhanced or e.plane == "stress" or e.interpolation.nodes not in (4, 8) or not {"lame", "shear"} <= given.keys():
            return
        first, shear = (np.asarray(given[n], float).ravel() for n in ("lame", "shear"))
        ratio = float((first / (2.0 * (first + shear))).max())
        if ratio > NEARLY:
            what = (
                "take enhanced=True, or quadratic elements"
                if e.interpolation.bubbles is not None
                else "take quadratic elements, or hexahedra with enhanced=True"
            )
            warnings.warn(
                f"{self._what}: with Poisson's ratio {ratio:.6g}, near 1/2, linear elements lock and hardly deform; {what}",
                RuntimeWarning,
                stacklevel=4,
            )

    def _elements(
        self, names: list[str], handles: list[Any], bodies: list[Handle], body: np.ndarray, place: np.ndarray, given: dict[str, np.ndarray]
    ) -> None:
        """A type of element for each way in which nodes are on bodies; few, and they share the compiled law."""
        e, of = self.element, body[self.cells]
        patterns: dict[tuple[int, ...], list[int]] = {}
        for k, row in enumerate(of):
            found = [b for b in dict.fromkeys(row.tolist()) if b >= 0]
            patterns.setdefault(tuple(found.index(b) if b >= 0 else -1 for b in row.tolist()), []).append(k)
        for on, members in patterns.items():
            kind = e if max(on) < 0 else Solid(e.interpolation, e.law, enhanced=e.enhanced, viscosity=e.viscosity, plane=e.plane, on=on)
            rows, blocks = np.array(members), []
            part = {n: x[rows] for n, x in given.items()}
            if kind is not e:
                part = kind.carried(part, place[self.cells[rows]])
            for k in members:
                carriers = {f"body{on[a]}": bodies[of[k, a]] for a in range(len(on)) if on[a] >= 0}
                nodes = {f"node{a}": handles[self.cells[k, a]] for a in kind.free_nodes}
                blocks.append({b: (carriers | nodes)[b] for b in kind.blocks})
            self.system.add_instances(kind, [names[k] for k in members], blocks, part)

    # -- nodes on bodies ------------------------------------------------------------------------------------------------

    def _attached(
        self, attach: Sequence[tuple[Handle, Any]], coupling: str, held: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The number of the body on which each node is (−1: none), and its place there."""
        if coupling not in COUPLINGS:
            raise ModelError(f"{self._what}: coupling '{coupling}' is unknown; there are {', '.join(COUPLINGS)}")
        d = x.shape[1]
        body, place = np.full(len(x), -1), np.zeros_like(x)
        for b, (handle, nodes) in enumerate(attach):
            if not isinstance(handle, Handle) or handle.size != d * (d + 1):
                raise ModelError(f"{self._what}: {handle!r} carries no nodes; give the coordinates ({d * (d + 1)}) of a body by directors")
            found = self._numbers(nodes, f"attached to '{handle.name}'")
            if not found.size:
                raise ModelError(f"{self._what}: no node is attached to '{handle.name}'; give the numbers of some")
            for wrong, why in ((held[found], "fixed"), (body[found] >= 0, "attached to another body")):
                if wrong.any():
                    raise ModelError(
                        f"{self._what}: node {found[wrong][0]} is attached to '{handle.name}', but it is {why}; decide for one"
                    )
            self._with_area(handle, found)
            q = self.system.q0[handle.offset : handle.offset + handle.size].reshape(d + 1, d)
            body[found], place[found] = b, np.linalg.solve(q[1:].T, (x[found] - q[0]).T).T
        return body, place

    def _with_area(self, handle: Handle, nodes: np.ndarray) -> None:
        """Refuses nodes that leave the part free to turn against the body."""
        d = self.X.shape[1]
        apart = self.X[nodes] - self.X[nodes].mean(axis=0)
        size = np.linalg.svd(apart, compute_uv=False)
        if len(nodes) < d or size[d - 2] <= 1e-9 * max(np.ptp(self.X, axis=0).max(), 1e-300):
            line = "one place" if d == 2 or size[0] == 0.0 else "a line"
            raise ModelError(
                f"{self._what}: the {len(nodes)} node(s) attached to '{handle.name}' lie on {line}, so that the part can turn about it; attach nodes of a face"
            )

    def _carry(self, attach: Sequence[tuple[Handle, Any]], body: np.ndarray, place: np.ndarray, v: np.ndarray) -> None:
        """Nodes on bodies start with the bodies' velocities."""
        d = v.shape[1]
        for b, (handle, _) in enumerate(attach):
            rates, on = self.system.v0[handle.offset : handle.offset + handle.size].reshape(d + 1, d), body == b
            v[on] = rates[0] + place[on] @ rates[1:]

    # -- reading -----------------------------------------------------------------------------------------------------------

    def _numbers(self, given: Any, what: str) -> np.ndarray:
        """Numbers of nodes."""
        found, count = np.asarray(given), len(self.X)
        if found.size == 0:
            return found.astype(np.int64)
        if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= count:
            raise ModelError(f"{self._what}: {what} name nodes {found.min()} … {found.max()}; there are 0 … {count - 1}")
        return found

    def _rows(self, given: Any, what: str) -> np.ndarray:
        """A row for each node, copied."""
        try:
            found = np.array(np.broadcast_to(np.asarray(given, float), self.X.shape))
        except (TypeError, ValueError):
            raise ModelError(f"{self._what}: {what} of shape {np.shape(given)} are not numbers {self.X.shape}") from None
        if not np.isfinite(found).all():
            raise ModelError(f"{self._what}: {what} hold a number that is not finite")
        return found


__all__ = ["Carried", "Mesh"]
