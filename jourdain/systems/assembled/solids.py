"""Solids in the assembled engine: the law of a point compiled, constants of elements laid out for the native loops over points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...elements.discrete.schemes import EVALUATIONS
from ...elements.element import Reduction
from ...elements.point_laws import PointLaw
from ...elements.solid import VISCOSITIES, Solid
from ...elements.vectors import VectorStep
from ...native.function import Function, compile_function
from ...solvers.stepping import frame as ap
from ...solvers.stepping import principal
from ...solvers.stepping import solid as native
from .program import Instance, Kernels, prepared


@dataclass(frozen=True)
class CompiledLaw:
    """Functions of a point (stress, stress and tangent, energy): their addresses, what prepares their constants, the work they need."""

    addresses: tuple[int, ...]
    functions: tuple[Function, ...]
    workspace: int
    linear: bool = False
    medium: principal.Principal | None = None

    def constants(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Prepared constants of each of the functions, one row for each row of numbers; mostly there is one material for all."""
        law, of = np.unique(numbers, axis=0, return_inverse=True)
        return [prepared(f, list(law))[of.ravel()] for f in self.functions]


def compiled_law(law: PointLaw, discrete: bool) -> CompiledLaw:
    """The law of a point, compiled; of principal stretches only the function of their squares is."""
    if not law.principal:
        functions = tuple(compile_function(f) for f in law.functions(discrete))
        return CompiledLaw(tuple(f.address for f in functions), functions, max(f.signature.workspace for f in functions), law.linear)
    f = compile_function(law.principal_function())
    medium = principal.Principal(function=f.address, discrete=int(discrete))
    kernels = (principal.principal_stress, principal.principal_tangent, principal.principal_energy)
    return CompiledLaw(tuple(k.address for k in kernels), (f, f, f), principal.LAW + f.signature.workspace, False, medium)


@dataclass(frozen=True)
class SolidKernels(Kernels):
    """The native loops of a type of solid, with the compiled law of its points."""

    law: CompiledLaw = field(kw_only=True)
    shared: ClassVar[bool] = True

    @property
    def workspace(self) -> int:
        """Numbers that a call needs for itself."""
        assert isinstance(self.medium, native.Medium)
        return int(self.medium.law_at) + self.law.workspace

    def constants(self, which: int, numbers: Sequence[np.ndarray]) -> np.ndarray:
        """Gradients, volumes, mass and weights of vectors, enhanced strains, viscosity, then what the laws prepare: the same for every loop."""
        e, given = self.step.element, np.array(numbers)
        assert isinstance(e, Solid)
        part = dict(zip(e.constants, np.split(given, np.cumsum(list(e.constants.values()))[:-1], axis=1), strict=True))
        count, v, d = len(given), e.vectors, e.interpolation.dimension
        weights = np.zeros((count, v, 3))
        weights[:, :, :d] = (part["masses"].reshape(count, v, v) @ e.moving)[:, :, None] * part["gravity"][:, None]
        own = [part[n] for n in ("enhancement", *VISCOSITIES[e.viscosity]) if n in part]
        law = np.column_stack([part[n] for n in e.law.constants]) if e.law.constants else np.zeros((count, 1))
        laws = self.law.constants(law)
        return np.column_stack([part["gradients"], part["volumes"], part["masses"], weights.reshape(count, -1), *own, *laws])

    def initial_history(self, instances: Sequence[Instance], q: np.ndarray) -> list[np.ndarray]:
        """Internal variables at the start: viscous branches relaxed, enhanced strains in equilibrium."""
        found = super().initial_history(instances, q)
        e = self.step.element
        assert isinstance(e, Solid)
        if e.enhanced:
            from .at_rest import AtRest

            for z, settled in zip(found, AtRest(instances).history(q), strict=True):
                z[: e.modes] = settled[: e.modes]
        return found


def solid_kernels(
    element: Solid, evaluation: str, reduced: Mapping[str, Reduction], projected: bool = False, at_rest: bool = False
) -> SolidKernels:
    """The engine's functions of a type of solid for an evaluation of forces: residual, tangent, audit; ``at_rest`` without viscosity."""
    v, g, m = element.vectors, element.interpolation.points, element.modes
    law, step = compiled_law(element.law, evaluation == "discrete"), VectorStep(element, evaluation, reduced, projected)
    viscosity_at = native.geometry_size(v, g) + 6 * g * m
    first = viscosity_at + len(VISCOSITIES[element.viscosity])
    stress_at, tangent_at, energy_at = first + np.cumsum([0, *(max(1, f.signature.constants) for f in law.functions)])[:3]
    left_at = native.AREA
    expanded_at = left_at + 6 * m * v
    matrix_at = expanded_at + 15 * v
    bodies = np.array([f"body{b}" in reduced for b in range(element.bodies)], np.int64)
    medium = native.Medium(
        vectors=v, dimension=element.interpolation.dimension, points=g, evaluation=EVALUATIONS.index(evaluation), modes=m,
        viscosity=0 if at_rest else list(VISCOSITIES).index(element.viscosity), linear=int(law.linear), bodies=bodies, projected=int(projected), unknowns=len(step.unknowns),
        inputs=ap.SCALARS + 4 * element.size + sum(element.history.values()), work=matrix_at + 18 * v * v + law.workspace,
        numbers=int(energy_at) + max(1, law.functions[2].signature.constants),
        stress=law.addresses[0], tangent=law.addresses[1], energy=law.addresses[2], principal=0 if law.medium is None else law.medium.address,
        enhancement_at=native.geometry_size(v, g), viscosity_at=viscosity_at, stress_at=int(stress_at), tangent_at=int(tangent_at),
        energy_at=int(energy_at), left_at=left_at, right_at=left_at + 3 * m * v, expanded_at=expanded_at, matrix_at=matrix_at,
        law_at=matrix_at + 18 * v * v,
    )  # fmt: skip
    audit = native.solid_history if element.history else native.solid_audit
    functions = (native.solid_residual, native.solid_tangent, audit)
    return SolidKernels(step, functions, ((), tuple(step.tangent_entries), ()), medium, law=law)
