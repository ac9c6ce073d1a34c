"""The search for contacts: places, boxes, tree, then every pair of neighbours by the entry point for its kinds."""

from __future__ import annotations

from typing import Any

from ...native.call import call
from ...native.kernel import jit, kernel
from .broad import enclose, keep_pairs, neighbours, number, pair_up, place, sort, still_near, unite
from .records import KINDS, World, sort_by_feature


@jit
def look(scene: Any, a: int) -> None:
    """Contacts of shape a with those after it."""
    found, own = neighbours(scene, a), scene.solids[a].body + 1
    for k in range(found):
        b, first = scene.found[k], scene.count
        if scene.only != 0 and scene.only != own and scene.only != scene.solids[b].body + 1:
            continue
        if scene.solids[a].kind <= scene.solids[b].kind:
            scene.a, scene.b = a, b
        else:
            scene.a, scene.b = b, a
        scene.near = scene.margin + scene.solids[a].reach + scene.solids[b].reach
        call(scene.kernels[scene.solids[scene.a].kind * KINDS + scene.solids[scene.b].kind], scene)
        if scene.count <= scene.contacts.size:
            sort_by_feature(scene.contacts, first, scene.count)


@kernel
def search(address: int) -> int:
    """All contacts of the scene at ``scene.poses`` within ``scene.margin``, into ``scene.contacts``; ``scene.count`` of them, though not all fit."""
    scene = World.at(address)
    scene.count, scene.tests, scene.triangle = 0, 0, 0
    place(scene)
    end, n = 0, scene.solids.size
    near = still_near(scene)
    if not near or scene.planes.size > 0:
        enclose(scene)
    if not near and scene.bounded.size > 0:
        number(scene)
        sort(scene)
        unite(scene)
        scene.held = 0
        if pair_up(scene, 0, n) >= 0:
            keep_pairs(scene)
    if scene.held == 1:
        end = n
    for a in range(end):
        look(scene, a)
    first = end
    while first < n:
        end = n
        while scene.bounded.size > 0 and pair_up(scene, first, end) < 0:
            end = first + (end - first) // 2
        for a in range(first, end):
            look(scene, a)
        first = end
    return 0


@jit
def collide(scene: Any, poses: Any, margin: float, contacts: Any) -> int:
    """Contacts with a gap up to ``margin`` at given poses, written to a table; how many there are, negative where they do not fit.

    ``scene`` is :attr:`Scene.native`; ``poses`` has a row for each body: its rotation (body's to world's axes) row by row, then its origin.  Contacts
    come in order of shape_a, shape_b and feature, the same for the same poses whatever was asked before.
    """
    scene.poses, scene.margin, scene.contacts = poses, margin, contacts
    call(scene.search, scene)
    return scene.count if scene.count <= contacts.size else -scene.count  # type: ignore[no-any-return]
