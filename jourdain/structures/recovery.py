"""Recovery of section forces, strains and stresses, with the static share of the loads that the modes leave out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .dofs import Array
from .elements import ElementGroup, stacked
from .load_cases import LoadCases, load_cases

if TYPE_CHECKING:
    from .reduced import ReducedStructure


@dataclass(frozen=True, eq=False)
class Recovery:
    """Element quantities of a reduced body: modal · e + static · amplitudes of the unit loads.

    The second term is what the kept modes miss of the static answer, S (u_case − Φ K⁻¹ Φᵀ f_case): the mode-acceleration method
    (Craig 1981, §15.4).  Without it the forces in a body converge slowly with the number of modes.
    """

    group: ElementGroup
    cases: LoadCases
    modal: Array  #: (e, c, m)
    static: Array  #: (e, c, cases)

    @property
    def channels(self) -> list[str]:
        return self.group.channels

    def values(self, e: ArrayLike, **amplitudes: Any) -> Array:
        """(elements, channels) at elastic coordinates e; further arguments as of :meth:`LoadCases.amplitudes`."""
        return np.asarray(self.modal @ np.asarray(e, float) + self.static @ self.cases.amplitudes(**amplitudes))

    def von_mises(self, e: ArrayLike, **amplitudes: Any) -> Array:
        """The equivalent stress of each element, the largest where it varies over a section."""
        return self.group.von_mises(self.values(e, **amplitudes))


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
    rest = np.asarray(operator @ missed(body, cases)) if static else np.zeros((operator.shape[0], len(cases.names)))
    return Recovery(elements, cases, np.asarray(operator @ body.shapes).reshape(*shape, -1), rest.reshape(*shape, -1))


def missed(body: ReducedStructure, cases: LoadCases) -> Array:
    """Displacements (n, cases) of the static answers to unit loads that the kept modes leave out."""
    if not body.modes:
        return cases.displacements
    return np.asarray(cases.displacements - body.shapes @ np.linalg.solve(body.stiffness, body.shapes.T @ cases.loads))
