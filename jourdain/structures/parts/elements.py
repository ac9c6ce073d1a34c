"""What groups of elements of one type have in common: their place in the matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .dofs import Array

#: Accelerations (p, 3, k) and angular accelerations (p, 3, k) of k motions at places (p, 3) on axes of the elements, from motions (p, 6, d) of these
#: places by the degrees of freedom (p, d) of their elements; in the part's axes.
Acceleration = Callable[[Array, NDArray[np.int64], Array], tuple[Array, Array]]


class ElementGroup(ABC):
    """Elements of one type: stiffness, and what a displacement of the nodes means in each of them."""

    nodes: NDArray[np.int64]  #: (e, nodes an element)
    rows: NDArray[np.int64]  #: (e, d) degrees of freedom of each element in the structure's matrices

    @property
    @abstractmethod
    def channels(self) -> list[str]:
        """Names of what :meth:`recovery` gives for each element."""

    @abstractmethod
    def recovery(self) -> Array:
        """(e, c, d): linear operators from the element's degrees of freedom to its channels."""

    def inside(self, acceleration: Acceleration) -> Array | None:
        """(e, c, k): what the inertia of mass within each element adds to its channels beyond :meth:`recovery`; None where that knows nothing of it."""
        return None

    @abstractmethod
    def von_mises(self, values: Array) -> Array:
        """The equivalent stress (e,) of channels (e, c)."""

    @abstractmethod
    def strains(self) -> Array:
        """(e, r, d): linear operators to strains, the largest of which says whether the element is strained little."""

    @abstractmethod
    def rotations(self) -> Array:
        """(e, r, d): linear operators to small rotations of the element, rad."""

    @abstractmethod
    def geometric(self, displacement: Array, size: int) -> sp.csc_array:
        """Geometric stiffness K_g (n, n) of the stress state that belongs to a displacement of all degrees of freedom."""


def assemble(size: int, rows: NDArray[np.int64], matrices: Array) -> sp.csc_array:
    """Σ over elements of their matrices (e, d, d) at their rows (e, d)."""
    d = rows.shape[1]
    i = np.repeat(rows, d, axis=1).ravel()
    j = np.tile(rows, (1, d)).ravel()
    return sp.csc_array(sp.coo_array((matrices.ravel(), (i, j)), shape=(size, size)))


def stacked(size: int, rows: NDArray[np.int64], operators: Array) -> sp.csr_array:
    """Operators (e, r, d) of elements as one sparse matrix (e r, n)."""
    e, r, d = operators.shape
    i = np.repeat(np.arange(e * r), d)
    j = np.repeat(rows, r, axis=0).ravel()
    return sp.csr_array(sp.coo_array((operators.ravel(), (i, j)), shape=(e * r, size)))
