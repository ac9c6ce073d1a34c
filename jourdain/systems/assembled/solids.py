"""Solids in the assembled engine: the law of a point compiled, constants of elements laid out for the native loops over points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...elements.schemes import EVALUATIONS
from ...elements.solid import Solid, SolidStep
from ...errors import InputError, ModelError
from ...native.function import Function, compile_function
from ...solvers.stepping import solid as native
from .program import Handle, Kernels, prepared

if TYPE_CHECKING:
    from .system import AssembledSystem


@dataclass(frozen=True)
class SolidKernels(Kernels):
    """The native loops of a type of solid, with the compiled laws of its points: stress, stress and tangent, energy."""

    laws: tuple[Function, ...] = ()
    shared: ClassVar[bool] = True

    @property
    def workspace(self) -> int:
        """Numbers that a call needs for itself."""
        return native.LAW + max(f.signature.workspace for f in self.laws)

    def constants(self, which: int, numbers: Sequence[np.ndarray]) -> np.ndarray:
        """Gradients, volumes, mass and weights of nodes, then what the laws prepare: the same for every loop."""
        e, given = self.step.element, np.array(numbers)
        assert isinstance(e, Solid)
        part = dict(zip(e.constants, np.split(given, np.cumsum(list(e.constants.values()))[:-1], axis=1), strict=True))
        N, count = e.interpolation.values, len(given)
        mass = np.einsum("eg,ga,gb->eab", part["density"] * part["volumes"], N, N)
        weights = mass.sum(axis=2)[:, :, None] * part["gravity"][:, None]
        law, of = np.unique(np.column_stack([part[n] for n in e.law.constants]) if e.law.constants else np.zeros((count, 1)), axis=0,
                            return_inverse=True)  # fmt: skip
        laws = [prepared(f, list(law))[of.ravel()] for f in self.laws]  # mostly one material for all
        return np.column_stack([part["gradients"], part["volumes"], mass.reshape(count, -1), weights.reshape(count, -1), *laws])


def add_mesh(
    system: AssembledSystem, element: Solid, name: str, places: Any, cells: Any, velocities: Any = 0.0, fixed: Any = (), at: Any = None,
    **numbers: Any,
) -> list[Handle]:  # fmt: skip
    """What :meth:`.AssembledSystem.mesh` does."""
    what = f"system '{system.name}', mesh '{name}'"
    if not isinstance(element, Solid):
        raise ModelError(f"{what}: {element!r} is no solid; give an instance such as Solid(hexahedron())")
    X = np.asarray(places, float)
    if X.ndim != 2 or X.shape[1] != 3 or not np.isfinite(X).all():
        raise ModelError(f"{what}: places of shape {X.shape} are not finite numbers (nodes, 3)")
    nodes, held = _numbers(cells, len(X), f"{what}: cells"), np.zeros(len(X), bool)
    if nodes.ndim != 2 or nodes.shape[1] != element.interpolation.nodes:
        raise ModelError(f"{what}: cells of shape {nodes.shape} are not (cells, {element.interpolation.nodes})")
    held[_numbers(fixed, len(X), f"{what}: fixed")] = True
    lonely = np.setdiff1d(np.arange(len(X)), nodes)
    if lonely.size and not held[lonely].all():
        raise ModelError(f"{what}: node {lonely[~held[lonely]][0]} is in no cell, so that it has no mass; leave it out, or fix it")
    given = element.numbers(X[nodes], **numbers)
    x, v = (_rows(part, X.shape, f"{what}: {word}") for part, word in ((X if at is None else at, "at"), (velocities, "velocities")))
    v[held] = 0.0
    names, cell_names = [f"{name}.{k}" for k in range(len(X))], [f"{name}[{k}]" for k in range(len(nodes))]
    system.check_new(names, cell_names)
    handles, blocks = system.add_blocks(names, x, v, held, "m"), list(element.blocks)
    system.add_instances(element, cell_names, [dict(zip(blocks, [handles[i] for i in c], strict=True)) for c in nodes.tolist()], given)
    return handles


def _numbers(given: Any, count: int, what: str) -> np.ndarray:
    """Numbers of nodes."""
    found = np.asarray(given)
    if found.size == 0:
        return found.astype(np.int64)
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= count:
        raise ModelError(f"{what} name nodes {found.min()} … {found.max()}; there are 0 … {count - 1}")
    return found


def _rows(given: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """A row for each node, copied."""
    try:
        found = np.array(np.broadcast_to(np.asarray(given, float), shape))
    except (TypeError, ValueError):
        raise ModelError(f"{what} of shape {np.shape(given)} are not numbers {shape}") from None
    if not np.isfinite(found).all():
        raise ModelError(f"{what} hold a number that is not finite")
    return found


def solid_kernels(element: Solid, evaluation: str) -> SolidKernels:
    """The engine's functions of a type of solid for an evaluation of forces: residual, tangent, audit."""
    if evaluation == "start":
        raise InputError(
            f"{element.name} ({element.law.name}): the method 'variational' does not know solids; take 'energy-momentum' or 'midpoint'"
        )
    a, g = element.interpolation.nodes, element.interpolation.points
    laws = tuple(compile_function(f) for f in element.law.functions(evaluation == "discrete"))
    first, sizes = native.geometry_size(a, g), [max(1, f.signature.constants) for f in laws]
    medium = native.Medium(
        nodes=a, points=g, evaluation=EVALUATIONS.index(evaluation), stress=laws[0].address, tangent=laws[1].address, energy=laws[2].address,
        stress_at=first, tangent_at=first + sizes[0], energy_at=first + sizes[0] + sizes[1],
    )  # fmt: skip
    step = SolidStep(element, evaluation)
    functions = (native.solid_residual, native.solid_tangent, native.solid_audit)
    return SolidKernels(step, functions, ((), tuple(step.tangent_entries), ()), medium, laws)
