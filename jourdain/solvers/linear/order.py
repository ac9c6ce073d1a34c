"""The order in which an assembled matrix is eliminated: bodies with the joints that hang them, loops after the bodies they close.

The diagonal of a multiplier is zero until coordinates that it constrains are eliminated.  A spanning tree of the constraints gives each
group of coordinates those by which it hangs on the groups before it; the block of both is regular, and minimum degree orders such blocks
without pivots from outside.  A constraint that closes a loop comes after the groups of that loop, whose freedoms make its own block regular.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np

from .sparse_lu import minimum_degree


def elimination_order(ap: np.ndarray, ai: np.ndarray, groups: np.ndarray, coordinates: int, rank: np.ndarray | None = None) -> np.ndarray:
    """Columns of a matrix (starts ``ap``, rows ``ai``) in order of elimination.

    ``groups`` names the group of every column (body, joint, own constraints of a body with the body); columns from ``coordinates`` on
    belong to multipliers.  Constraints of high ``rank`` (a number for each multiplier) are taken for the tree before others.
    """
    n = ap.size - 1
    group = np.unique(groups, return_inverse=True)[1]
    tree = Tree(group, coordinates, ap, ai, rank)
    node = np.array([tree.owner.get(g, g) for g in range(tree.size)])
    closing = set(tree.closing)
    columns = np.repeat(np.arange(n), np.diff(ap))
    i, j = node[group[ai]], node[group[columns]]
    inside = ~np.isin(i, list(closing)) & ~np.isin(j, list(closing))
    around = np.array([(a, b) for g in closing for a in tree.around[g] for b in tree.around[g]], int).reshape(-1, 2)
    place = minimum_degree(np.append(i[inside], around[:, 0]), np.append(j[inside], around[:, 1]), tree.size).astype(float)
    last = {g: max((place[b] for b in tree.loop(g)), default=place[g]) + 0.5 for g in closing}
    for g, at in last.items():
        place[g] = at
    key = place[node[group]]
    return np.lexsort((np.arange(n), node[group], key)).astype(np.int64)


class Tree:
    """A spanning tree of groups of coordinates: ``owner`` of constraints, ``parents`` of groups, ``closing`` constraints."""

    def __init__(self, group: np.ndarray, coordinates: int, ap: np.ndarray, ai: np.ndarray, rank: np.ndarray | None = None) -> None:
        self.size = int(group.max(initial=-1)) + 1
        held, rows = (np.bincount(part, minlength=self.size) for part in np.split(group, [coordinates]))
        self._rows = rows.tolist()
        preferred = np.zeros(self.size, int)
        if rank is not None:
            np.maximum.at(preferred, group[coordinates:], rank)
        self._first = (preferred * (rows.max(initial=0) + 1) + rows).tolist()
        own = np.where(held > 0, rows, 0)  # constraints numbered with a group of coordinates are inside it
        self._room = (held - own).tolist()
        self.around = _neighbours(group, coordinates, ap, ai, held > 0)
        self._touching: dict[int, list[int]] = {}
        for g, bodies in self.around.items():
            for b in bodies:
                self._touching.setdefault(b, []).append(g)
        self.owner: dict[int, int] = {}
        self.parents: dict[int, tuple[int, ...]] = {}
        self._depth: dict[int, int] = {}
        self._grow(np.flatnonzero(held > 0).tolist())
        self.closing = [g for g in self.around if g not in self.owner]

    def _grow(self, bodies: list[int]) -> None:
        """From groups that have no room for any of their constraints (they hang on the ground), then from the fullest left.

        Constraints of many rows are taken first, then those reached first: a loop is cut where few rows are left of a constraint.
        """
        full = [b for b in bodies if self._room[b] < min((self._rows[g] for g in self._touching.get(b, ())), default=0)]
        queue: list[tuple[int, int, int]] = []

        def reach(b: int, parents: Iterable[int]) -> None:
            self.parents[b] = tuple(parents)
            self._depth[b] = 1 + max((self._depth[p] for p in self.parents[b]), default=-1)
            for g in self._touching.get(b, ()):
                if g not in self.owner:
                    heappush(queue, (-self._first[g], len(self._depth), g))

        for start in (full, *([b] for b in sorted(bodies, key=lambda b: self._room[b]))):
            for b in start:
                if b not in self._depth:
                    reach(b, ())
            while queue:
                g = heappop(queue)[2]
                fresh = [c for c in self.around[g] if c not in self._depth]
                if g in self.owner or len(fresh) > 1:
                    continue
                if not fresh:
                    self._join_parallel(g)
                elif self._room[fresh[0]] >= self._rows[g]:
                    self._take(g, fresh[0])
                    reach(fresh[0], self.around[g] - {fresh[0]})

    def _take(self, g: int, b: int) -> None:
        self.owner[g] = b
        self._room[b] -= self._rows[g]

    def _join_parallel(self, g: int) -> None:
        """A second constraint between the same groups stands with the first."""
        for b in self.around[g]:
            if self._room[b] >= self._rows[g] and self.around[g] - {b} <= set(self.parents[b]):
                return self._take(g, b)

    def loop(self, g: int) -> set[int]:
        """Groups of the loops that a constraint closes: upwards from its own to the one where they meet, or to the ground."""
        front, path, grounded = set(self.around[g]), set(self.around[g]), False
        while len(front) > (0 if grounded else 1):
            b = max(front, key=self._depth.__getitem__)
            front.remove(b)
            path.add(b)
            front.update(self.parents[b])
            grounded |= not self.parents[b]
        return path | front


def _neighbours(group: np.ndarray, coordinates: int, ap: np.ndarray, ai: np.ndarray, moving: np.ndarray) -> dict[int, set[int]]:
    """Groups of coordinates that each group of multipliers constrains."""
    columns = np.repeat(np.arange(ap.size - 1), np.diff(ap))
    between = (columns >= coordinates) & (ai < coordinates)
    found: dict[int, set[int]] = {}
    size = moving.size
    for key in np.unique(group[columns[between]] * size + group[ai[between]]).tolist():
        g, b = divmod(key, size)
        if not moving[g]:
            found.setdefault(g, set()).add(b)
    return found
