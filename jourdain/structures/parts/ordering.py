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
    """Nodes in order: one side of a cut, the other, and the nodes of the other that touch the first; of cuts across the axes the one that the fewest touch."""
    if len(some) <= LEAF:
        return [some]
    x = points[some]
    low = x < np.median(x, axis=0)
    mark = np.zeros((len(points), x.shape[1]))
    mark[some] = low
    touches = (graph[some] @ mark > 0) & ~low
    sizes = np.where(low.any(axis=0), touches.sum(axis=0), len(some) + 1)
    axis = int(np.argmin(sizes))
    if sizes[axis] > len(some):
        return [some]
    first, between = low[:, axis], touches[:, axis]
    return [*pieces(some[first], points, graph), *pieces(some[~first & ~between], points, graph), some[between]]
