"""How many ways a mechanism can move: by counting (Grübler, Kutzbach), and by the rank of its constraints.

Counting takes every body with six freedoms (three in a plane) and every joint with the freedoms it removes; it knows nothing of lengths
and directions.  The rank of the constraints' Jacobian in a closed position tells what the mechanism really does there, and the rank in
positions nearby whether this position is singular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SolverError
from ..shown import Shown
from ..symbolic.graph import evaluate
from ..symbolic.vectors import AXES
from ..systems.constraints import jacobian
from ..systems.outputs.reactions import indeterminate
from ..systems.state import State
from ..systems.tree.partition import null_space
from ..systems.tree.redundancy import redundant_names, redundant_rows
from .assemble import close_positions

if TYPE_CHECKING:
    from ..systems.system import System

#: Equations of a closure in space, and of the same closure in a mechanism that moves in a plane.
SPATIAL = {
    "ball": 3, "spherical": 3, "body": 6, "fixed": 6, "rod": 1, "revolute": 5, "prismatic": 5, "cylindrical": 4, "universal": 4, "planar": 3,
    "parallel": 2,
}  # fmt: skip
PLANAR = {
    **SPATIAL,
    "ball": 2,
    "spherical": 2,
    "body": 3,
    "fixed": 3,
    "revolute": 2,
    "prismatic": 2,
    "cylindrical": 2,
    "planar": 0,
    "parallel": 0,
}
#: A singular value below this part of the largest counts as zero; one below the second as close to it.
ZERO_VALUE = 1e-9
SMALL_VALUE = 1e-3


@dataclass(frozen=True)
class Mobility(Shown):
    """Freedoms of a mechanism, counted and by rank, with what is redundant and what is singular; ``print`` explains it."""

    model: str
    bodies: int
    joints: int
    #: coordinates of the tree and equations among them
    velocities: int
    equations: int
    #: Kutzbach's count in space, and Grübler's in the plane (None when the motion is not plane)
    spatial_count: int
    planar_count: int | None
    #: freedoms by rank: here, in general (nearby), and of position when velocities are constrained further
    freedoms: int
    generic_freedoms: int
    position_freedoms: int
    independent: tuple[str, ...]
    #: equations that follow from the others wherever the mechanism goes (those that hold by themselves included), and the joints or closures
    #: that they belong to
    redundant: tuple[str, ...]
    overconstrained: tuple[str, ...]
    #: ratio of the smallest to the largest singular value of the independent equations: zero in a singular position
    condition: float
    #: joints and closures whose reactions in this state rigid bodies do not determine
    indeterminate: tuple[str, ...] = ()

    @property
    def is_singular(self) -> bool:
        """Whether the mechanism has more freedoms of velocity here than nearby."""
        return self.freedoms > self.generic_freedoms

    def __str__(self) -> str:
        lines = [
            f"'{self.model}': {self.bodies} bodies, {self.joints} joints; {self.velocities} coordinates of its tree, {self.equations} equations",
            f"  counted in space (Kutzbach): {self.spatial_count}",
        ]
        if self.planar_count is not None:
            lines.append(f"  counted in the plane (Grübler): {self.planar_count}")
        by = f" by {', '.join(self.independent)}" if self.independent else ""
        lines.append(f"  by rank, here: {self.freedoms}{by}")
        if self.position_freedoms != self.freedoms:
            lines.append(
                f"  freedoms of position: {self.position_freedoms} (constraints on velocities do not restrict where it can get to)"
            )
        if self.is_singular:
            lines.append(f"  singular position: nearby there are {self.generic_freedoms}; the motion may branch here")
        elif self.equations and self.condition < SMALL_VALUE:
            lines.append(f"  close to a singular position (condition {self.condition:.1e})")
        if self.redundant:
            lines.append(f"  redundant equations: {', '.join(self.redundant)}")
        if self.indeterminate:
            lines.append(f"  reactions of {', '.join(self.indeterminate)} are not unique")
        return "\n".join(lines)


def mobility(system: System, state: State | None = None) -> Mobility:
    """Freedoms of a mechanism in a closed position (found by assembling, if none is given)."""
    eq = system.equations_of_motion
    here = state if state is not None else system.assemble({})
    J = jacobian(system, here.q, here.t)
    redundant, names = redundant_rows(system.reference, here), redundant_names(system.reference, here)
    kept = [i for i in range(len(J)) if i not in redundant]
    values = np.linalg.svd(J[kept], compute_uv=False) if kept else np.ones(1)
    return Mobility(
        eq.model.name, len(eq.model.bodies), len(eq.model.joints), system.nv, len(eq.rows) + len(eq.idle_rows), _count(system, SPATIAL),
        _count(system, PLANAR) if _is_planar(system, here) else None, _freedoms(J), _generic_freedoms(system, here, J),
        _freedoms(J[: eq.holonomic]), tuple(system.velocity_names[j].removesuffix("_rate") for j in _independent(J)), tuple(names),
        tuple(dict.fromkeys(n.split("[")[0] for n in names)), float(values.min() / values.max()),
        _open_reactions(system, here),
    )  # fmt: skip


def _open_reactions(system: System, here: State) -> tuple[str, ...]:
    """Joints whose reactions are not determined; none are known where bodies lack mass."""
    try:
        return tuple(indeterminate(system, here))
    except SolverError:
        return ()


def _freedoms(J: np.ndarray) -> int:
    n = J.shape[1]
    if not len(J):
        return n
    values = np.linalg.svd(J, compute_uv=False)
    return n - int((values > ZERO_VALUE * values[0]).sum())


def _independent(J: np.ndarray) -> list[int]:
    """Columns left over by elimination with the largest pivots."""
    from scipy.linalg import qr

    if not len(J):
        return list(range(J.shape[1]))
    rank = J.shape[1] - _freedoms(J)
    return sorted(qr(J, mode="r", pivoting=True)[1][rank:].tolist())


def _generic_freedoms(system: System, here: State, J: np.ndarray, samples: int = 4, distance: float = 0.1) -> int:
    """The fewest freedoms in closed positions nearby."""
    allowed = null_space(J) if len(J) else np.eye(system.nv)
    found = [_freedoms(J)]
    rng = np.random.default_rng(0)
    for _ in range(samples if len(J) and allowed.shape[1] else 0):
        step = allowed @ rng.normal(size=allowed.shape[1])
        moved = system.configuration.integrate(here.q, distance * step / np.linalg.norm(step))
        try:
            q, *_ = close_positions(system, moved, [], np.ones(system.nv), here.t)
        except SolverError:
            continue
        found.append(_freedoms(jacobian(system, q, here.t)))
    return min(found)


def _count(system: System, equations: dict[str, int]) -> int:
    """Freedoms of the tree's joints less the equations of closures and constraints; coordinates in the plane are those of the tree."""
    eq = system.equations_of_motion
    others = (
        len(eq.rows) - sum(r.name.startswith(tuple(f"{c.name}[" for c in eq.closures)) for r in eq.rows) if eq.closures else len(eq.rows)
    )
    partly = [f"{c.name}[" for c in eq.closures if c.ignore]
    others += sum(r.name.startswith(tuple(partly)) for r in eq.rows)
    return system.nv - sum(equations[c.kind] for c in eq.closures if not c.ignore) - others


def _is_planar(system: System, here: State) -> bool:
    """Whether all axes of rotation are parallel, and all translations normal to them."""
    eq = system.equations_of_motion
    known = (
        dict(zip((*eq.q, *eq.v), (*here.q, *here.v), strict=True)) | dict(zip(eq.p, system.parameter_vector, strict=True)) | {eq.t: here.t}
    )
    turns: list[np.ndarray] = []
    slides: list[np.ndarray] = []
    for link in eq.tree.links:
        for found, axes in ((turns, link.turning_axes), (slides, link.sliding_axes)):
            for e in axes:
                found.append(np.array([float(x) for x in evaluate(list(eq.kinematics.turned(link.index, AXES[e])), known)]))
    if not turns:
        return False
    normal = turns[0]
    parallel = all(np.linalg.norm(np.cross(normal, axis)) < 1e-9 for axis in turns)
    return parallel and all(abs(normal @ axis) < 1e-9 for axis in slides)


__all__ = ["Mobility", "mobility"]
