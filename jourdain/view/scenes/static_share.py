"""What loads add to the colours of flexible bodies beyond their modes: the static share of joints, loads and inertia.

The share is a sum of unit loads' answers times their amplitudes; over a motion few combinations of these are more than rounding.  They are put behind the
modes as amplitudes that move nothing and colour (mode-acceleration method, as in :mod:`jourdain.analysis.recover`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...model.elastic.flexible import FlexibleBody
from ...results.solution import Solution
from ...structures import ReducedStructure
from ..rotation import Array
from ..scene import Scene
from .surface import Field, Surface, principal

#: Combinations of unit loads below this part of the largest are not drawn.
NEGLIGIBLE = 1e-4


def add_static_share(scene: Scene, runs: Sequence[tuple[Solution, Array]], system: Any, few: bool = True) -> None:
    """Completes the colours of the bodies of a scene that are coloured by stress; ``runs`` are solutions with the rows that are drawn.

    ``few``: the share by the combinations of unit loads that the runs need, else by all of them.
    """
    for body in scene.bodies:
        item = system.model.bodies.get(body.name)
        surface = body.surface
        if not isinstance(item, FlexibleBody) or surface is None or surface.shown in (None, "displacement") or not has_share(item):
            continue
        from ...analysis.recover import load_amplitudes
        from ...structures.load_cases import load_cases
        from ...structures.recovery import inside, missed
        from .from_structure import loaded_surface

        part = item.part
        cases = load_cases(part, item.used_nodes)
        shapes = np.hstack([missed(part, cases), np.zeros((len(part.shapes), part.modes))])
        added = [inside(part, group, cases) for group in part.part.elements]
        amplitudes = [load_amplitudes(system, sol, item, cases)[rows] for sol, rows in runs]
        if few:
            effects = [g.recovery() @ shapes[g.rows] + more for g, more in zip(part.part.elements, added, strict=True)]
            combination, amplitudes = principal(np.concatenate([x.reshape(-1, x.shape[2]) for x in effects]), amplitudes, NEGLIGIBLE)
            shapes, added = shapes @ combination, [more @ combination for more in added]
        first = np.asarray(scene.runs[0].amplitudes[body.name]).shape[1]
        whole = loaded_surface(_with_shapes(part, shapes), added)
        body.surface = replace(surface, fields=_fields(surface, whole, item.part.modes, first))
        for run, track in zip(scene.runs, amplitudes, strict=True):
            run.amplitudes = _joined(run.amplitudes, body.name, track)


def has_share(body: FlexibleBody) -> bool:
    """Whether stresses of a body are known, and small enough a deformation that the loads act on the undeformed body."""
    return bool(body.part.part.elements) and body.curved is None


def _with_shapes(part: ReducedStructure, more: Array) -> ReducedStructure:
    """The part as if the shapes of the share were modes, to be drawn."""
    names = [*part.names, *(f"load{k + 1}" for k in range(more.shape[1]))]
    empty = np.zeros((3, len(names)))
    points = {n: replace(p, phi_t=empty, phi_r=empty, psi_t=None, psi_r=None) for n, p in part.points.items()}
    return replace(part, names=names, shapes=np.hstack([part.shapes, more]), points=points)


def _fields(old: Surface, new: Surface, modes: int, first: int) -> list[Field]:
    """The fields of stresses with the share, whose amplitudes stand from number ``first`` on; displacements as they were."""

    def moved(f: Field) -> Field:
        gap = np.zeros((*f.rows.shape[:2], first - modes))
        return replace(f, rows=np.concatenate([f.rows[:, :, :modes], gap, f.rows[:, :, modes:]], axis=2))

    return [f if f.name == "displacement" else moved(new.field(f.name)) for f in old.fields]


def _joined(amplitudes: Mapping[str, Any], body: str, track: Array) -> dict[str, Any]:
    return {**amplitudes, body: np.hstack([np.asarray(amplitudes[body]), track])}


__all__ = ["add_static_share", "has_share"]
