"""Memory for the problems of a step: laws of all contacts, and penetrations that are taken away."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..complementarity.problem import BLOCK_SPARSE, BODIES, BlockSparse, Problem, room
from ..complementarity.solve import Task, solve_task
from .contact_set import ContactSet, Parts

#: Velocities of a body; parts of no more are taken as such.
BODY = 6
#: Most penetrations that are taken away together by pivots.
PIVOTS = 200


def make_tasks(contacts: ContactSet, parts: Parts) -> dict[str, Any]:
    """Memory for the laws of all contacts and for their penetrations, and what solves them."""
    laws, depths = _problems(contacts, parts)
    n, laws.near = contacts.room, 1
    halfway = int(_all_loose(parts))
    return {
        "halfway": halfway,
        "solver": solve_task.address,
        "laws": Task(problem=laws, p=np.zeros(3 * n)),
        "depths": Task(problem=depths, p=np.zeros(n)),
    }


def _problems(contacts: ContactSet, parts: Parts) -> tuple[Problem, Problem]:
    """W by bodies where all parts are as small as one, else by blocks."""
    n, count, pivots = contacts.room, parts.first.size - 1, min(contacts.room, PIVOTS)
    if parts.stride > BODY:
        laws, depths = room(n, 3 * n, BLOCK_SPARSE), room(n, n, BLOCK_SPARSE, pivots=pivots)
        laws.sparse = depths.sparse = _blocks(n)
        return laws, depths
    laws, depths = room(n, 3 * n, BODIES, count), room(n, n, BODIES, count, pivots=pivots)
    laws.bodies.J, laws.bodies.response, laws.bodies.pair = contacts.J, contacts.Y, contacts.part
    depths.bodies.pair = contacts.part
    if _all_loose(parts):  # with W = YᵀY sweeps read half as much
        laws.bodies.J, depths.bodies.J = laws.bodies.response, depths.bodies.response
    laws.bodies.inverse_mass = depths.bodies.inverse_mass = np.zeros(0)
    return laws, depths


def _all_loose(parts: Parts) -> bool:
    return parts.stride == BODY and bool(parts.inverse.size) and bool(parts.inverse.all())


def _blocks(room: int) -> BlockSparse:
    """Memory for W where a contact meets ten others on the average."""
    n = 12 * room + 64
    return BlockSparse(
        first=np.zeros(room + 1, np.int64), column=np.zeros(n, np.int64), place=np.zeros(n, np.int64), values=np.zeros(9 * n)
    )
