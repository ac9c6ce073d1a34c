"""An order of elimination for large structures: nested dissection by the places of their nodes (George 1973)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .dofs import Array

#: Pieces of so few nodes are not cut further.
LEAF = 40


def dissection(K: sp.csc_array, nodes: NDArray[np.int64], places: Array) -> NDArray[np.int64]:
    """The order in which rows of K fill in little: halves first, what lies between them last.

    `nodes` tells the node of each row, `places` (n, 3) where nodes are.
    """
    here, owner = np.unique(nodes, return_inverse=True)
    points = places[here]
    spread = sp.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(here), len(owner)))
    pattern = sp.csc_array((np.ones(K.nnz), K.indices, K.indptr), shape=K.shape)
    graph = sp.csr_array(spread @ pattern @ spread.T)
    number = np.empty(len(here), dtype=np.int64)
    number[np.concatenate(pieces(np.arange(len(here)), points, graph))] = np.arange(len(here))
    return np.argsort(number[owner], kind="stable")


def pieces(some: NDArray[np.int64], points: Array, graph: sp.csr_array) -> list[NDArray[np.int64]]:
    """Nodes in order: one side of a cut across the longest side, the other, and the nodes of the other that touch the first."""
    if len(some) <= LEAF:
        return [some]
    x = points[some]
    axis = int(np.argmax(np.ptp(x, axis=0)))
    low = x[:, axis] < np.median(x[:, axis])
    if not low.any():
        return [some]
    first, rest = some[low], some[~low]
    mark = np.zeros(len(points))
    mark[first] = 1.0
    touches = graph[rest] @ mark > 0
    return [*pieces(first, points, graph), *pieces(rest[~touches], points, graph), rest[touches]]
