"""Unit loads of a floating body: its own inertia under accelerations and rotation, and forces at its points.

Their static answers carry geometric stiffness and the share of stresses that few modes do not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .frames import NODAL
from .parts.dofs import Array
from .reduction import Space

if TYPE_CHECKING:
    from .reduced import ReducedStructure
    from .structure import Structure

#: Products of angular velocities that centrifugal loads are made of.
PRODUCTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
INERTIAL = (
    *(f"a{x}" for x in "xyz"),
    *(f"alpha{x}" for x in "xyz"),
    *(f"omega{'xyz'[a]}{'xyz'[b]}" for a, b in PRODUCTS),
)


@dataclass(frozen=True, eq=False)
class LoadCases:
    """Unit loads and the displacements that answer them with the floating frame held (or, in mean axes, with inertia relief).

    The first twelve are inertia: acceleration of the origin less gravity (3), angular acceleration (3), ω_x², ω_y², ω_z², ω_x ω_y, ω_x ω_z,
    ω_y ω_z (6), all in body components; then six for each point, force and moment.  A free body's loads are in balance, so that in mean axes
    the first six answer to nothing: what they balance comes with the loads at points.
    """

    names: list[str]
    points: tuple[str, ...]
    loads: Array  #: (n, c)
    displacements: Array  #: (n, c)

    def amplitudes(
        self,
        acceleration: ArrayLike = (0, 0, 0),
        angular_acceleration: ArrayLike = (0, 0, 0),
        omega: ArrayLike = (0, 0, 0),
        loads: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """The amplitude of each unit load: acceleration less gravity, angular acceleration and velocity, wrenches (6,) at points; body components."""
        w = np.asarray(omega, float)
        found = [np.asarray(acceleration, float), np.asarray(angular_acceleration, float), np.array([w[a] * w[b] for a, b in PRODUCTS])]
        given = dict(loads or {})
        found += [np.asarray(given.pop(p, np.zeros(6)), float) for p in self.points]
        if given:
            raise InputError(f"loads: '{next(iter(given))}' is none of the points {', '.join(self.points)}")
        return np.concatenate(found)


def inertial_accelerations(places: Array) -> tuple[Array, Array]:
    """Accelerations and angular accelerations (p, 3, 12) at places of the undeformed body in the inertia cases: v̇, ω̇ × s, ω × (ω × s)."""
    found, turning = (np.zeros((len(places), 3, len(INERTIAL))) for _ in range(2))
    found[:, :, :3], turning[:, :, 3:6] = np.eye(3), np.eye(3)
    found[:, :, 3:6] = np.cross(np.eye(3)[None], places[:, None]).swapaxes(1, 2)
    for k, (a, b) in enumerate(PRODUCTS):
        product = np.zeros((3, 3))
        product[a, b] += 0.5
        product[b, a] += 0.5
        product = product if a == b else 2.0 * product
        found[:, :, 6 + k] = places @ (product - np.trace(product) * np.eye(3))  # ω̃ω̃ x = ω (ω·x) − ω² x
    return found, turning


def inertia_loads(part: Structure) -> Array:
    """Loads (n, 12) of the twelve inertia cases on the undeformed body: −∫ Nᵀ a dm with a = v̇, ω̇ × s, ω × (ω × s)."""
    field = part.field
    centrifugal = inertial_accelerations(field.positions)[0][:, :, 6:]
    loads = [-np.asarray(field.shape.T @ field.weighed(centrifugal[:, :, k]).ravel()) for k in range(len(PRODUCTS))]
    return np.column_stack([-np.asarray(part.M @ part.rigid), *loads])


def load_cases(body: ReducedStructure, points: Iterable[Any] | None = None) -> LoadCases:
    """All unit loads of a body; `points` (all, unless given) are those that forces act on."""
    part = body.part
    motions = [body.motion(p) for p in (body.points if points is None else points)]
    chosen = tuple(m.name for m in motions)
    loads = np.hstack([inertia_loads(part), *(m.operator.T.toarray() for m in motions)])
    space = Space.of(part)
    answer: Any = space.held(body.conditions @ space.T) if body.frame in NODAL else space.relieved()
    displacements = np.asarray(space.T @ answer.solve(np.asarray(space.T.T @ loads)))
    names = [*INERTIAL, *(f"{p}.{c}" for p in chosen for c in ("fx", "fy", "fz", "mx", "my", "mz"))]
    return LoadCases(names, chosen, loads, displacements)
