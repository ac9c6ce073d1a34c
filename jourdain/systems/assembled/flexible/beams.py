"""Beams by directors in an assembled system: nodes as blocks of twelve coordinates, or on bodies, and the elements between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....elements.beam import VISCOSITIES, Beam, BeamNode, lagrange, section_matrix
from ....elements.planar_beam import VISCOSITIES as PLANAR_VISCOSITIES
from ....elements.planar_beam import PlanarBeam, PlanarNode
from ....elements.rigid import PlanarBody
from ....errors import ModelError
from ..program import Handle

if TYPE_CHECKING:
    from ..system import AssembledSystem


class BeamLine:
    """What :meth:`.AssembledSystem.beam` does."""

    def __init__(self, system: AssembledSystem, name: str, places: Any, rotations: Any, up: Any, order: int) -> None:
        self.system, self.name, self._what = system, name, f"system '{system.name}', beam '{name}'"
        self.X = np.asarray(places, float)
        if order not in (1, 2, 3):
            raise ModelError(f"{self._what}: order {order!r} is none of 1, 2 and 3 (elements of 2, 3 and 4 nodes)")
        if self.X.ndim != 2 or self.X.shape[1] != 3 or not np.isfinite(self.X).all() or len(self.X) < 2 or (len(self.X) - 1) % order:
            raise ModelError(f"{self._what}: places of shape {self.X.shape} are not (1 + a multiple of {order}, 3) finite numbers")
        self.order = order
        self.R = self._frames(up) if rotations is None else np.asarray(rotations, float)
        if self.R.shape != (len(self.X), 3, 3):
            raise ModelError(f"{self._what}: rotations of shape {self.R.shape} are not ({len(self.X)}, 3, 3)")

    def _frames(self, up: Any) -> np.ndarray:
        """Directors (columns) along the interpolated line, the third as near to ``up`` as may be."""
        d1 = tangents(self.X, self.order)
        d2 = np.cross(np.broadcast_to(np.asarray(up, float), d1.shape), d1)
        size = np.linalg.norm(d2, axis=1)
        if not size.min() > 1e-6:
            raise ModelError(
                f"{self._what}: up = {np.asarray(up).tolist()} is along the beam at node {int(size.argmin())}; give another direction"
            )
        d2 /= size[:, None]
        return np.stack([d1, d2, np.cross(d1, d2)], axis=2)

    def add(
        self, stiffness: Any, inertia: Any, gravity: Any, ends: Mapping[int, Handle | str], at: Any, velocities: Any, omegas: Any,
        viscosity: Mapping[str, Any],
    ) -> list[Handle]:  # fmt: skip
        """Blocks of the nodes (those of bodies at the ends) and elements."""
        kind, own = _viscosity(self._what, VISCOSITIES, section_matrix, viscosity)
        own["stiffness"] = section_matrix(stiffness, f"{self._what}: stiffness").ravel()
        own["gravity"] = np.broadcast_to(np.asarray(gravity, float), (3,))
        mass, element = self._inertia(inertia), Beam(self.order + 1, kind)
        names, firsts = [f"{self.name}.{k}" for k in range(len(self.X))], range(0, len(self.X) - 1, self.order)
        cells = [f"{self.name}.e{k}" for k in range(len(firsts))]
        self.system.check_new([n for k, n in enumerate(names) if k not in ends], cells)
        sections = np.concatenate([self.X[:, None], self.R.swapaxes(1, 2)], axis=1)
        parts = [slice(first, first + self.order + 1) for first in firsts]
        for part in parts:  # all checks before anything is added
            element.numbers(sections[part], np.tile(np.eye(4), (self.order + 1, 1, 1)), mass)
        handles, carried = self._nodes(names, ends, at, velocities, omegas)
        rows = [{**element.numbers(sections[part], carried[part], mass), **own} for part in parts]
        constants = {n: np.array([np.atleast_1d(row[n]) for row in rows]) for n in element.constants}
        self.system.add_instances(element, cells, [{f"node{i}": h for i, h in enumerate(handles[part])} for part in parts], constants)
        return handles

    def _nodes(self, names: list[str], ends: Mapping[int, Any], at: Any, velocities: Any, omegas: Any) -> tuple[list[Handle], np.ndarray]:
        """Blocks of nodes, and origins and directors of sections from those of the blocks; a clamped one is fixed, a body's is the body's."""
        x, R = (self.X, self.R) if at is None else (np.asarray(part, float) for part in at)
        v, w = (np.broadcast_to(np.asarray(part, float), self.X.shape) for part in (velocities, omegas))
        handles: list[Handle] = []
        carried = np.tile(np.eye(4), (len(names), 1, 1))
        for k, name in enumerate(names):
            d, end = R[k].T, ends.get(k)
            if isinstance(end, Handle):
                if end.size != 12:
                    raise ModelError(
                        f"{self._what}: '{end.name}' has {end.size} coordinates; a section is held by a body by directors (12)"
                    )
                body = self.system.q0[end.offset : end.offset + 12].reshape(4, 3)
                carried[k, :, 1:] = np.vstack([x[k] - body[0], d]) @ np.linalg.inv(body[1:])
                carried[k, 1:, 0] = 0.0
                handles.append(end)
            elif end in (None, "clamped"):
                held = end is not None
                rates = None if held else np.concatenate([v[k], np.cross(w[k], d).ravel()])
                handles.append(self.system.coordinates(name, 12, np.concatenate([x[k], d.ravel()]), rates, fixed=held))
                if not held:
                    self.system.add(BeamNode(), f"{name}.section", {"body": handles[-1]})
            else:
                raise ModelError(f"{self._what}: its end {end!r} is neither a body nor 'clamped'")
        return handles, carried

    def _inertia(self, given: Any) -> np.ndarray:
        found = np.asarray(given, float)
        found = np.diag(found) if found.shape == (4,) else found
        least = -1e-12 * np.abs(found).max(initial=0.0)
        if (
            found.shape != (4, 4)
            or not np.isfinite(found).all()
            or np.abs(found - found.T).max() > -least
            or np.linalg.eigvalsh(found).min() < least
        ):
            raise ModelError(
                f"{self._what}: inertia must be 4 × 4 numbers ∫ρ (1, X)(1, X)ᵀ dA, symmetric and not negative, or their diagonal"
            )
        return found


def _viscosity(
    what: str, kinds: Mapping[str, Mapping[str, int]], matrix: Callable[[Any, str], np.ndarray], given: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The name of a viscosity among ``kinds`` and its constants as elements take them."""
    kind = next((k for k, sizes in kinds.items() if set(sizes) == set(given)), None)
    if kind is None:
        raise ModelError(f"{what}: viscous constants {sorted(given)} are given; there is 'damping' alone, or 'branch' with 'relaxation'")
    own = {n: matrix(x, f"{what}: {n}").ravel() if n != "relaxation" else float(x) for n, x in given.items()}
    if not own.get("relaxation", 1.0) > 0.0:
        raise ModelError(f"{what}: relaxation time {own['relaxation']:g} s must be positive")
    return kind, own


class PlanarLine:
    """What :meth:`.AssembledSystem.planar_beam` does."""

    def __init__(self, system: AssembledSystem, name: str, places: Any, angles: Any, order: int) -> None:
        self.system, self.name, self._what = system, name, f"system '{system.name}', beam '{name}'"
        self.X, self.order = np.asarray(places, float), order
        if order not in (1, 2, 3):
            raise ModelError(f"{self._what}: order {order!r} is none of 1, 2 and 3 (elements of 2, 3 and 4 nodes)")
        if self.X.ndim != 2 or self.X.shape[1] != 2 or not np.isfinite(self.X).all() or len(self.X) < 2 or (len(self.X) - 1) % order:
            raise ModelError(f"{self._what}: places of shape {self.X.shape} are not (1 + a multiple of {order}, 2) finite numbers")
        along = tangents(self.X, order)
        self.angles = np.arctan2(along[:, 1], along[:, 0]) if angles is None else np.broadcast_to(np.asarray(angles, float), (len(self.X),))

    def add(
        self, stiffness: Any, inertia: Any, gravity: Any, ends: Mapping[int, Handle | str], at: Any, velocities: Any, omegas: Any,
        viscosity: Mapping[str, Any],
    ) -> list[Handle]:  # fmt: skip
        """Blocks of the nodes (those of bodies at the ends) and elements."""
        C, rho, n = _planar_matrix(stiffness, f"{self._what}: stiffness"), np.asarray(inertia, float), self.order + 1
        kind, viscous = _viscosity(self._what, PLANAR_VISCOSITIES, _planar_matrix, viscosity)
        if rho.shape != (2,) or not (np.isfinite(rho).all() and rho[0] > 0.0 and rho[1] >= 0.0):
            raise ModelError(
                f"{self._what}: inertia = {inertia!r} must be two numbers, mass (kg/m) and moment of inertia (kg m) of a length"
            )
        names, firsts = [f"{self.name}.{k}" for k in range(len(self.X))], range(0, len(self.X) - 1, self.order)
        cells = [f"{self.name}.e{k}" for k in range(len(firsts))]
        self.system.check_new([x for k, x in enumerate(names) if k not in ends], cells)
        element, parts = PlanarBeam(n, kind), [slice(first, first + n) for first in firsts]
        sections = np.array([PlanarBody.coordinates_of(x, a).reshape(3, 2) for x, a in zip(self.X, self.angles, strict=True)])
        own = {"inertia": rho, "gravity": np.broadcast_to(np.asarray(gravity, float), (2,)), "stiffness": C.ravel(), **viscous}
        rows = [{**element.numbers(sections[part]), **own} for part in parts]
        handles = self._nodes(names, ends, at, velocities, omegas)
        constants = {c: np.array([np.atleast_1d(row[c]) for row in rows]) for c in element.constants}
        self.system.add_instances(element, cells, [{f"node{i}": h for i, h in enumerate(handles[part])} for part in parts], constants)
        return handles

    def _nodes(self, names: list[str], ends: Mapping[int, Any], at: Any, velocities: Any, omegas: Any) -> list[Handle]:
        x, angles = (self.X, self.angles) if at is None else (np.asarray(part, float) for part in at)
        v = np.broadcast_to(np.asarray(velocities, float), self.X.shape)
        w = np.broadcast_to(np.asarray(omegas, float), (len(names),))
        handles: list[Handle] = []
        for k, name in enumerate(names):
            q, end = PlanarBody.coordinates_of(x[k], angles[k]), ends.get(k)
            if isinstance(end, Handle):
                if end.size != 6 or np.abs(self.system.q0[end.offset : end.offset + 6] - q).max() > 1e-9 * max(
                    1.0, float(np.abs(self.X).max())
                ):
                    raise ModelError(
                        f"{self._what}: '{end.name}' is no planar body whose frame is the section at its end; put its origin and directors there"
                    )
                handles.append(end)
            elif end in (None, "clamped"):
                held = end is not None
                rates = None if held else PlanarBody.rates_of(q, v[k], w[k])
                handles.append(self.system.coordinates(name, 6, q, rates, fixed=held))
                if not held:
                    self.system.add(PlanarNode(), f"{name}.section", {"body": handles[-1]})
            else:
                raise ModelError(f"{self._what}: its end {end!r} is neither a body nor 'clamped'")
        return handles


def _planar_matrix(given: Any, what: str) -> np.ndarray:
    C = np.asarray(given, float)
    C = np.diag(C) if C.shape == (3,) else C
    if C.shape != (3, 3) or not np.isfinite(C).all() or np.abs(C - C.T).max() > 1e-12 * np.abs(C).max() or np.linalg.eigvalsh(C)[0] < 0.0:
        raise ModelError(f"{what} must be EA, κGA, EI or a symmetric, positive matrix of 3 × 3 between strains and N, V, M")
    return C


def tangents(X: np.ndarray, order: int) -> np.ndarray:
    """Unit vectors along an interpolated line at its nodes, means where elements meet."""
    found = np.zeros_like(X)
    _, slopes = lagrange(order + 1, np.linspace(-1.0, 1.0, order + 1))
    for first in range(0, len(X) - 1, order):
        part = slice(first, first + order + 1)
        along = slopes @ X[part]
        found[part] += along / np.linalg.norm(along, axis=1)[:, None]
    return np.asarray(found / np.linalg.norm(found, axis=1)[:, None])


__all__ = ["BeamLine", "PlanarLine"]
