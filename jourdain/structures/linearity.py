"""Whether deflections are small enough for a linear body: largest strain and slope of a motion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .parts.dofs import Array
from .parts.elements import stacked

if TYPE_CHECKING:
    from .reduced import ReducedStructure

#: Beyond these a linear body is not what the part is.
LARGEST_STRAIN = 0.05
LARGEST_SLOPE = 0.2


@dataclass(frozen=True, eq=False)
class Linearity:
    """Strains and rotations of all elements as rows that multiply e; without elements, rotations of nodes alone."""

    name: str
    strain: Array  #: (k, m)
    slope: Array  #: (k, m), rad

    def largest(self, e: ArrayLike) -> tuple[Array, Array]:
        """Largest strain and slope at elastic coordinates e (…, m)."""
        return worst(self.strain, e), worst(self.slope, e)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Largest strain and slope of each mode: |row · e| ≤ Σ bound |e|, so that few instants have to be looked at in all elements."""
        return np.abs(self.strain).max(axis=0, initial=0.0), np.abs(self.slope).max(axis=0, initial=0.0)

    def complaint(self, e: ArrayLike, t: ArrayLike | None = None) -> str | None:
        """A sentence on the first instant of a motion e (times, m) at which the body is not linear any more, or None."""
        motion = np.atleast_2d(np.asarray(e, float))
        times = np.arange(len(motion)) if t is None else np.atleast_1d(np.asarray(t, float))
        by_strain, by_slope = (np.abs(motion) @ bound for bound in self.bounds)
        possible = np.flatnonzero((by_strain > LARGEST_STRAIN) | (by_slope > LARGEST_SLOPE))
        strain, slope = self.largest(motion[possible])
        beyond = np.flatnonzero((strain > LARGEST_STRAIN) | (slope > LARGEST_SLOPE))
        if not len(beyond):
            return None
        i = int(beyond[0])
        k = int(possible[i])
        if strain[i] > LARGEST_STRAIN:
            what = f"a strain of {100 * strain[i]:.3g} %, more than {100 * LARGEST_STRAIN:g} %"
        else:
            what = f"a slope of {slope[i]:.3g} rad, more than {LARGEST_SLOPE:g} rad"
        return f"body '{self.name}': at t = {times[k]:.6g} s it has {what}; a linear body is wrong there: cut it into several bodies, or take a beam of second order (jd.structures.ritz_beam)"


def worst(rows: Array, e: ArrayLike) -> Array:
    """The largest |row · e| for each e (…, m)."""
    e = np.asarray(e, float)
    if not rows.size:
        return np.zeros(e.shape[:-1])
    return np.abs(e @ rows.T).max(axis=-1)


def linearity(body: ReducedStructure) -> Linearity:
    """Rows of strains and slopes of a body."""
    part = body.part
    size = len(part.dofs)
    strains = [np.asarray(stacked(size, g.rows, g.strains()) @ body.shapes) for g in part.elements]
    slopes = [np.asarray(stacked(size, g.rows, g.rotations()) @ body.shapes) for g in part.elements]
    turns = part.dofs.components > 2
    slopes.append(body.shapes[turns])
    none = np.zeros((0, body.modes))
    return Linearity(body.name, np.vstack([none, *strains]), np.vstack([none, *slopes]))
