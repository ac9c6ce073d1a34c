"""Elements of vectors in the engine: their native kernels, their forces and stiffness at an instant, and what has gone wrong with one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...elements.beam import Beam
from ...elements.element import Element, Reduction
from ...elements.solid import Solid
from ...elements.vectors import VectorElement
from ...errors import InputError
from ...solvers.stepping import frame as ap
from ...solvers.stepping.solid import Call
from .beam_kernels import beam_kernels
from .program import Instance, Kernels
from .solids import solid_kernels


def vector_kernels(
    element: VectorElement, evaluation: str, reduced: Mapping[str, Reduction], projected: bool = False, at_rest: bool = False
) -> Kernels:
    """The engine's functions of a type for an evaluation of forces: residual, tangent, audit; ``at_rest`` without viscosity."""
    if evaluation == "start":
        raise InputError(f"{element.name}: the method 'variational' does not know solids and beams; take 'energy-momentum' or 'midpoint'")
    if element.viscous and evaluation != "discrete" and not at_rest:
        raise InputError(f"{element.name}: viscosity '{element.viscous}' is balanced by the method 'energy-momentum' alone; take it")
    if isinstance(element, Beam):
        return beam_kernels(element, evaluation, reduced, projected, at_rest)
    assert isinstance(element, Solid)
    return solid_kernels(element, evaluation, reduced, projected, at_rest)


class AtRest:
    """Elements of one type at an instant: mass, elastic forces and stiffness by the native loops."""

    def __init__(self, members: Sequence[Instance]) -> None:
        element = members[0].element
        assert isinstance(element, VectorElement)
        self.members, self.element = members, element
        if element.key not in _AT_REST:
            _AT_REST[element.key] = vector_kernels(element, "end", {}, at_rest=True)
        self.kernels = _AT_REST[element.key]
        self._constants = self.kernels.constants(0, [i.numbers for i in members])
        self.index = np.array([[h.offset + i for b in element.blocks for h in (m.blocks[b],) for i in range(h.size)] for m in members])
        v, first = element.vectors, _before(element.constants, "masses")
        scalar = np.array([i.numbers[first : first + v * v].reshape(v, v) for i in members])
        self.masses = np.einsum("eab,ij->eaibj", scalar, np.eye(element.dimension)).reshape(len(members), element.size, element.size)

    def forces(self, q: np.ndarray, v: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """∇V (elements × coordinates) and its derivative (elements × coordinates × coordinates)."""
        n = self.element.size
        r, K = np.zeros((len(self.members), n)), np.zeros((len(self.members), n, n))
        for k, (x, constants, w) in enumerate(self._calls(q)):
            self._call(self.kernels.functions[1], x, r[k], K[k], constants, w)
        return r, K - self.masses

    def history(self, q: np.ndarray) -> list[np.ndarray]:
        """Internal variables of the elements after a step in which nothing moves."""
        y, z, found = np.zeros(ap.AUDIT_SIZE), np.zeros(sum(self.element.history.values())), []
        for x, constants, w in self._calls(q):
            self._call(self.kernels.functions[2], x, y, z, constants, w)
            found.append(z.copy())
        return found

    def _calls(self, q: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Packed input, constants and work for each element."""
        n, k = self.element.size, sum(self.element.history.values())
        x, w = np.zeros(ap.SCALARS + 4 * n + k), np.zeros(self.kernels.workspace)
        x[:4] = 1.0, 0.0, 1.0, 1.0
        for here, constants in zip(q[self.index], self._constants, strict=True):
            x[ap.SCALARS : ap.SCALARS + 2 * n] = np.tile(here, 2)
            yield x, constants, w

    def _call(self, kernel: Any, *arrays: np.ndarray) -> None:
        medium = self.kernels.medium
        assert medium is not None
        places = dict(zip(("x", "y", "third", "fourth", "fifth"), (a.ctypes.data for a in arrays), strict=True))
        kernel.call(Call(**places, medium=medium.address).address)


_AT_REST: dict[Any, Kernels] = {}


def _before(sizes: Mapping[str, int], name: str) -> int:
    return sum(n for k, n in sizes.items() if list(sizes).index(k) < list(sizes).index(name))


def astray(instances: Sequence[Instance], q: np.ndarray) -> str:
    """The name of an element that has gone wrong at some coordinates, and how; nothing if there is none."""
    for i in instances:
        if type(i.element).astray is not Element.astray:
            here = np.concatenate([q[h.offset : h.offset + h.size] for h in (i.blocks[b] for b in i.element.blocks)])
            parts = np.split(i.numbers, np.cumsum(list(i.element.constants.values()))[:-1])
            if wrong := i.element.astray(here, dict(zip(i.element.constants, parts, strict=True))):
                return f"element '{i.name}' {wrong}"
    return ""


__all__ = ["AtRest", "astray", "vector_kernels"]
