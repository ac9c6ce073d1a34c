"""What loads add to the colours of flexible bodies beyond their modes: the static share of joints, loads and inertia.

The share is a sum of unit loads' answers times their amplitudes; over a motion few combinations of these are more than rounding.  They are put behind the
modes as amplitudes that move nothing and colour (mode-acceleration method, as in :mod:`jourdain.analysis.recover`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..model.flexible import FlexibleBody
from ..results.solution import Solution
from ..structures import ReducedStructure
from .rotation import Array
from .scene import Scene
from .surface import Field, Surface

#: Combinations of unit loads below this part of the largest are not drawn.
NEGLIGIBLE = 1e-4


def add_static_share(scene: Scene, runs: Sequence[tuple[Solution, Array]], system: Any) -> None:
    """Completes the colours of the bodies of a scene that are coloured by stress; ``runs`` are solutions with the rows that are drawn."""
    for body in scene.bodies:
        item = system.model.bodies.get(body.name)
        surface = body.surface
        if not isinstance(item, FlexibleBody) or surface is None or surface.shown in (None, "displacement") or not item.part.part.elements:
            continue
        from ..analysis.recover import load_amplitudes
        from ..structures.load_cases import load_cases
        from ..structures.recovery import missed
        from .from_structure import surface_of

        cases = load_cases(item.part, item.used_nodes)
        shapes = missed(item.part, cases)
        amplitudes = [load_amplitudes(system, sol, item, cases)[rows] for sol, rows in runs]
        combined, tracks = _compressed(shapes, amplitudes)
        whole = surface_of(_with_shapes(item.part, combined))
        body.surface = replace(surface, fields=_fields(surface, whole))
        for run, track in zip(scene.runs, tracks, strict=True):
            run.amplitudes = _joined(run.amplitudes, body.name, track)


def _compressed(shapes: Array, amplitudes: list[Array]) -> tuple[Array, list[Array]]:
    """The share as few shapes times few amplitudes: principal components of what the loads do along all runs."""
    rows = np.concatenate(amplitudes)
    size = np.linalg.norm(shapes, axis=0)  # loads by what they do
    _, values, vectors = np.linalg.svd(rows * size, full_matrices=False)
    kept = vectors[values > NEGLIGIBLE * max(float(values.max(initial=0.0)), 1e-300)]
    tracks = [(a * size) @ kept.T for a in amplitudes]
    return shapes @ (kept / np.where(size > 0.0, size, 1.0)).T, tracks


def _with_shapes(part: ReducedStructure, more: Array) -> ReducedStructure:
    """The part as if the shapes of the share were modes, to be drawn."""
    names = [*part.names, *(f"load{k + 1}" for k in range(more.shape[1]))]
    empty = np.zeros((3, len(names)))
    points = {n: replace(p, phi_t=empty, phi_r=empty, psi_t=None, psi_r=None) for n, p in part.points.items()}
    return replace(part, names=names, shapes=np.hstack([part.shapes, more]), points=points)


def _fields(old: Surface, new: Surface) -> list[Field]:
    """The fields of stresses with the share; displacements as they were."""
    return [f if f.name == "displacement" else new.field(f.name) for f in old.fields]


def _joined(amplitudes: Mapping[str, Any], body: str, track: Array) -> dict[str, Any]:
    return {**amplitudes, body: np.hstack([np.asarray(amplitudes[body]), track])}


__all__ = ["add_static_share"]
