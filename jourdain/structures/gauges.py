"""What strain gauges on beams read: curvatures as linear functions of the elastic coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .parts.beams import FORCES, beam_elements
from .parts.dofs import Array
from .parts.sections import Section

if TYPE_CHECKING:
    from .reduced import ReducedStructure
    from .structure import Structure


def end_section(part: Structure) -> Section:
    """The section at the first end of a beam."""
    return beam_elements(part).sections[0][0]


def curvature(body: ReducedStructure, x: float, axis: str) -> Array:
    """The curvature (1/m) about an axis ("x": twist) of the section at x along the part's x axis, for a unit of each elastic coordinate."""
    group = beam_elements(body.part)
    ends = body.part.nodes[group.nodes][:, :, 0]
    inside = np.flatnonzero((ends.min(axis=1) <= x + 1e-12) & (x - 1e-12 <= ends.max(axis=1)))
    if not len(inside):
        raise InputError(f"{body.name}: x = {x:g} m is not on the beam, which goes from {ends.min():g} to {ends.max():g} m")
    k = int(inside[0])
    start, end = group.sections[k]
    E, G = group.material.E, group.material.G
    stiffness = {"x": lambda s: G * s.torsion, "y": lambda s: E * s.Iy, "z": lambda s: E * s.Iz}
    if axis not in stiffness:
        raise InputError(f"{body.name}: curvature about '{axis}' is unknown; use x, y or z")
    row = FORCES.index({"x": "T", "y": "My", "z": "Mz"}[axis])
    moments = group.recovery()[k] @ body.shapes[group.rows[k]]
    share = float((x - ends[k, 0]) / (ends[k, 1] - ends[k, 0]))
    return np.asarray((1.0 - share) * moments[row] / stiffness[axis](start) + share * moments[len(FORCES) + row] / stiffness[axis](end))


__all__ = ["curvature", "end_section"]
