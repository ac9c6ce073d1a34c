"""Recovery of section forces, strains and stresses, with the static share of the loads that the modes leave out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .load_cases import INERTIAL, LoadCases, inertial_accelerations, load_cases
from .parts.dofs import Array
from .parts.elements import ElementGroup, stacked

if TYPE_CHECKING:
    from .reduced import ReducedStructure


@dataclass(frozen=True, eq=False)
class Recovery:
    """Element quantities of a reduced body: modal · e + static · (amplitudes of the unit loads, ë).

    The second term is what the kept modes miss of the static answer, S (u_case − Φ K⁻¹ Φᵀ f_case): the mode-acceleration method
    (Craig 1981, §15.4).  Without it the forces in a body converge slowly with the number of modes.  It also has what the inertia of mass within an
    element does to the forces at its ends, of the unit loads and of the modes: qh²/12 of a beam's bending moment.
    """

    group: ElementGroup
    cases: LoadCases
    modal: Array  #: (e, c, m)
    static: Array  #: (e, c, cases + m)

    @property
    def channels(self) -> list[str]:
        return self.group.channels

    def values(self, e: ArrayLike, accelerations: ArrayLike | None = None, **amplitudes: Any) -> Array:
        """(elements, channels) at elastic coordinates e and their accelerations; further arguments as of :meth:`LoadCases.amplitudes`."""
        rest = np.zeros(self.modal.shape[2]) if accelerations is None else np.asarray(accelerations, float)
        return np.asarray(self.modal @ np.asarray(e, float) + self.static @ np.concatenate([self.cases.amplitudes(**amplitudes), rest]))

    def von_mises(self, e: ArrayLike, accelerations: ArrayLike | None = None, **amplitudes: Any) -> Array:
        """The equivalent stress of each element, the largest where it varies over a section."""
        return self.group.von_mises(self.values(e, accelerations, **amplitudes))


def recovery(body: ReducedStructure, group: int = 0, points: Iterable[Any] | None = None, static: bool = True) -> Recovery:
    """Recovery operators of one group of elements; static=False leaves the static share out."""
    part = body.part
    if not part.elements:
        raise InputError(f"{part.name}: it has matrices and no elements, so that stresses are not known; make the part by a generator")
    elements = part.elements[group]
    cases = load_cases(body, points)
    local = elements.recovery()
    operator = stacked(len(part.dofs), elements.rows, local)
    shape = local.shape[:2]
    rest = np.zeros((*shape, len(cases.names) + body.modes))
    if static:
        rest[:, :, : len(cases.names)] = np.asarray(operator @ missed(body, cases)).reshape(*shape, -1)
        rest += inside(body, elements, cases)
    return Recovery(elements, cases, np.asarray(operator @ body.shapes).reshape(*shape, -1), rest)


def inside(body: ReducedStructure, group: ElementGroup, cases: LoadCases) -> Array:
    """(e, c, cases + m): what the inertia of mass within elements adds to their channels, of unit loads and of accelerations of the modes."""
    found = np.zeros((len(group.nodes), len(group.channels), len(cases.names) + body.modes))

    def acceleration(places: Array, rows: NDArray[np.int64], motions: Array) -> tuple[Array, Array]:
        moved = np.einsum("pac,pcm->pam", motions, body.shapes[rows])
        a, alpha = inertial_accelerations(places)
        return np.concatenate([a, moved[:, :3]], axis=2), np.concatenate([alpha, moved[:, 3:]], axis=2)

    own = group.inside(acceleration)
    if own is not None:
        found[:, :, : len(INERTIAL)] = own[:, :, : len(INERTIAL)]
        found[:, :, len(cases.names) :] = own[:, :, len(INERTIAL) :]
    return found


def missed(body: ReducedStructure, cases: LoadCases) -> Array:
    """Displacements (n, cases) of the static answers to unit loads that the kept modes leave out."""
    if not body.modes:
        return cases.displacements
    return np.asarray(cases.displacements - body.shapes @ np.linalg.solve(body.stiffness, body.shapes.T @ cases.loads))
