"""Beams in the assembled engine: constants of elements laid out for the native loops over points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...elements.beam import VISCOSITIES, Beam
from ...elements.discrete.schemes import EVALUATIONS
from ...elements.element import Reduction
from ...elements.vectors import VectorStep
from ...solvers.stepping import beam as native
from ...solvers.stepping import frame as ap
from .program import Kernels


@dataclass(frozen=True)
class BeamKernels(Kernels):
    """The native loops of a type of beam."""

    shared: ClassVar[bool] = True

    @property
    def workspace(self) -> int:
        """Numbers that a call needs for itself."""
        assert isinstance(self.step.element, Beam)
        return native.workspace(self.step.element.vectors)

    def constants(self, which: int, numbers: Sequence[np.ndarray]) -> np.ndarray:
        """Shapes, lengths, natural strains, mass and weights of vectors, stiffness, viscosity: the same for every loop."""
        e, given = self.step.element, np.array(numbers)
        assert isinstance(e, Beam)
        part = dict(zip(e.constants, np.split(given, np.cumsum(list(e.constants.values()))[:-1], axis=1), strict=True))
        count, v = len(given), e.vectors
        weights = (part["masses"].reshape(count, v, v) @ e.moving)[:, :, None] * part["gravity"][:, None]
        viscous = [part[n] for n in VISCOSITIES[e.viscosity]]
        parts = (part["shapes"], part["lengths"], part["natural"], part["masses"], weights.reshape(count, -1), part["stiffness"], *viscous)
        found = np.zeros((count, sum(native.sizes(v, e.points))))
        found[:, : sum(x.shape[1] for x in parts)] = np.column_stack(parts)
        return found


def beam_kernels(element: Beam, evaluation: str, reduced: Mapping[str, Reduction], projected: bool, at_rest: bool) -> BeamKernels:
    """The engine's functions of a type of beam for an evaluation of forces: residual, tangent, audit."""
    step = VectorStep(element, evaluation, reduced, projected)
    medium = native.BeamMedium(
        vectors=element.vectors, points=element.points, evaluation=EVALUATIONS.index(evaluation), projected=int(projected),
        viscosity=0 if at_rest else list(VISCOSITIES).index(element.viscosity), unknowns=len(step.unknowns),
        inputs=ap.SCALARS + 4 * element.size + sum(element.history.values()), work=native.workspace(element.vectors),
        numbers=sum(native.sizes(element.vectors, element.points)),
        bodies=np.array([b in reduced for b in element.blocks], np.int64),
    )  # fmt: skip
    functions = (native.beam_residual, native.beam_tangent, native.beam_history if element.history else native.beam_audit)
    return BeamKernels(step, functions, ((), tuple(step.tangent_entries), ()), medium)


__all__ = ["BeamKernels", "beam_kernels"]
