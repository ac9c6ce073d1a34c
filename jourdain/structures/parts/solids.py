"""Solid elements: four-node quadrilaterals in the plane, hexahedra and tetrahedra of 4, 8, 10 and 20 nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ..structure import Structure
from .dofs import Array, Dofs, dofs_of
from .elements import ElementGroup, assemble
from .sections import Material

STRESSES = ("sxx", "syy", "szz", "sxy", "syz", "szx")
PLANE_STRESSES = ("sxx", "syy", "sxy")


@dataclass(frozen=True)
class Kind:
    """A reference element: shape functions and their derivatives at points, and the points that integrate stiffness and mass."""

    nodes: int
    dimension: int
    shape: Callable[[Array], tuple[Array, Array]]
    stiffness_points: tuple[Array, Array]
    mass_points: tuple[Array, Array]
    bubbles: int = 0  #: incompatible modes (Wilson, Taylor) that keep thin linear bricks from locking in bending


@dataclass(frozen=True, eq=False)
class SolidElements(ElementGroup):
    """Isoparametric solids; channels are the mean stresses of each element."""

    nodes: NDArray[np.int64]
    rows: NDArray[np.int64]
    gradients: Array  #: (e, g, nodes, d) of the shape functions at the integration points
    volumes: Array  #: (e, g) weights times Jacobians
    strain_operators: Array  #: (e, g, s, rows), with incompatible modes eliminated
    law: Array  #: elasticity matrix (s, s)

    @property
    def channels(self) -> list[str]:
        return list(STRESSES if self.gradients.shape[3] == 3 else PLANE_STRESSES)

    def recovery(self) -> Array:
        return np.einsum("st,eg,egtr->esr", self.law, self.shares, self.strain_operators, optimize=True)

    def von_mises(self, values: Array) -> Array:
        if values.shape[1] == 3:
            x, y, xy = values.T
            return np.sqrt(x**2 - x * y + y**2 + 3 * xy**2)
        x, y, z, xy, yz, zx = values.T
        return np.sqrt(0.5 * ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) + 3 * (xy**2 + yz**2 + zx**2))

    @property
    def shares(self) -> Array:
        """Shares (e, g) of the integration points in the volume of an element."""
        return np.asarray(self.volumes / self.volumes.sum(axis=1, keepdims=True))

    def strains(self) -> Array:
        """Mean strains; shear as half of γ."""
        mean = np.einsum("eg,egsr->esr", self.shares, self.strain_operators, optimize=True)
        mean[:, self.gradients.shape[3] :] *= 0.5
        return mean

    def rotations(self) -> Array:
        """Half of the curl, in the mean."""
        mean = np.einsum("eg,egnd->end", self.shares, self.gradients, optimize=True)
        e, n, d = mean.shape
        pairs = ((1, 2), (2, 0), (0, 1)) if d == 3 else ((0, 1),)
        rows = np.zeros((e, len(pairs), n, d))
        for k, (a, b) in enumerate(pairs):
            rows[:, k, :, b] = 0.5 * mean[:, :, a]
            rows[:, k, :, a] = -0.5 * mean[:, :, b]
        return rows.reshape(e, len(pairs), n * d)

    def geometric(self, displacement: Array, size: int) -> sp.csc_array:
        """∫ ∇Nᵀ σ ∇N for each component."""
        d = self.gradients.shape[3]
        stress = np.einsum("st,egtr,er->egs", self.law, self.strain_operators, displacement[self.rows], optimize=True)
        tensor = stress[..., np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]] if d == 3 else [[0, 2], [2, 1]])]
        scalar = np.einsum("eg,egia,egab,egjb->eij", self.volumes, self.gradients, tensor, self.gradients, optimize=True)
        n = scalar.shape[1]
        blocks = np.einsum("eij,ab->eiajb", scalar, np.eye(d)).reshape(len(scalar), n * d, n * d)
        return assemble(size, self.rows, blocks)


def elasticity(material: Material, dimension: int) -> Array:
    """Hooke's law; plane stress in two dimensions."""
    E, nu = material.E, material.nu
    if dimension == 2:
        return E / (1 - nu**2) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])
    law = np.zeros((6, 6))
    law[:3, :3] = E / ((1 + nu) * (1 - 2 * nu)) * ((1 - 2 * nu) * np.eye(3) + nu)
    law[3:, 3:] = material.G * np.eye(3)
    return law


def strain_operator(gradients: Array) -> Array:
    """B (…, s, nodes d) from gradients (…, nodes, d); shear strains are γ."""
    *front, n, d = gradients.shape
    pairs = ((0, 1), (1, 2), (2, 0)) if d == 3 else ((0, 1),)
    B = np.zeros((*front, d + len(pairs), n, d))
    for a in range(d):
        B[..., a, :, a] = gradients[..., a]
    for k, (a, b) in enumerate(pairs):
        B[..., d + k, :, a] = gradients[..., b]
        B[..., d + k, :, b] = gradients[..., a]
    return B.reshape(*front, d + len(pairs), n * d)


def solid(nodes: ArrayLike, elements: ArrayLike, material: Material, thickness: float = 1.0, name: str = "solid") -> Structure:
    """Solid elements on given nodes: quadrilaterals (4 nodes, in the plane), tetrahedra (4 or 10), hexahedra (8 or 20).

    Linear ones have incompatible bending modes where the shape allows (quadrilaterals, 8-node hexahedra); numbering is Abaqus's.
    """
    given = np.asarray(nodes, float)
    table = np.asarray(elements, dtype=np.int64)
    if given.ndim != 2 or table.ndim != 2 or not table.size:
        raise InputError(f"{name}: nodes must be (n, 2) or (n, 3), and elements a table of their numbers with at least one row")
    dimension = given.shape[1]
    if (table.shape[1], dimension) not in KINDS:
        raise InputError(
            f"{name}: there is no element of {table.shape[1]} nodes in {dimension} dimensions; there are quad4 (2), tet4, tet10, hex8, hex20 (3)"
        )
    if table.size and (table.min() < 0 or table.max() >= len(given)):
        raise InputError(f"{name}: elements name node {table.max()}, but nodes go from 0 to {len(given) - 1}")
    kind = KINDS[table.shape[1], dimension]
    dofs = dofs_of(len(given), dimension * len(given), None)
    group, K = stiffness_of(given, table, kind, dofs, elasticity(material, dimension), thickness, name)
    mu = scalar_mass(given, table, kind, material.density * thickness if dimension == 2 else material.density)
    part = Structure(given, sp.kron(mu, np.eye(dimension), format="csc"), K, dofs, elements=[group], name=name)
    part.recipe = {"kind": "solid", "nodes": given, "elements": table, "material": material, "thickness": thickness}
    return part


def mapped(points: Array, table: NDArray[np.int64], derivatives: Array, name: str) -> tuple[Array, Array]:
    """Gradients (e, g, nodes, d) in space and Jacobian determinants (e, g)."""
    jacobian = np.einsum("end,gnr->egdr", points[table], derivatives, optimize=True)
    det = np.linalg.det(jacobian)
    if (det <= 0).any():
        k = int(np.argmin(det.min(axis=1)))
        raise InputError(
            f"{name}: element {k} has a negative volume (Jacobian {det[k].min():.4g} m³); its nodes {table[k].tolist()} are in the wrong order or it is folded"
        )
    return np.einsum("gnr,egrd->egnd", derivatives, np.linalg.inv(jacobian), optimize=True), det


def stiffness_of(
    points: Array, table: NDArray[np.int64], kind: Kind, dofs: Dofs, law: Array, thickness: float, name: str
) -> tuple[SolidElements, sp.csc_array]:
    x, w = kind.stiffness_points
    gradients, det = mapped(points, table, kind.shape(x)[1], name)
    volumes = det * w * (thickness if kind.dimension == 2 else 1.0)
    B = strain_operator(gradients)
    matrices = np.einsum("eg,egsr,st,egtq->erq", volumes, B, law, B, optimize=True)
    if kind.bubbles:
        inner = bubble_strains(points, table, kind, det)
        cross = np.einsum("eg,egsr,st,egtq->erq", volumes, inner, law, B, optimize=True)
        own = np.einsum("eg,egsr,st,egtq->erq", volumes, inner, law, inner, optimize=True)
        answer = np.linalg.solve(own, cross)
        matrices = matrices - np.swapaxes(cross, 1, 2) @ answer
        B = B - np.einsum("egsr,erq->egsq", inner, answer, optimize=True)
    rows = dofs.table[table][:, :, : kind.dimension].reshape(len(table), -1)
    matrices = 0.5 * (matrices + np.swapaxes(matrices, 1, 2))
    return SolidElements(table, rows, gradients, volumes, B, law), assemble(len(dofs), rows, matrices)


def bubble_strains(points: Array, table: NDArray[np.int64], kind: Kind, det: Array) -> Array:
    """Strains of the incompatible modes 1 − ξ_a², mapped with the Jacobian of the centre and scaled by |J₀|/|J| (Taylor, Beresford & Wilson 1976)."""
    x, _ = kind.stiffness_points
    centre = kind.shape(np.zeros((1, kind.dimension)))[1]
    jacobian = np.einsum("end,nr->edr", points[table], centre[0])
    inverse, at_centre = np.linalg.inv(jacobian), np.linalg.det(jacobian)
    local = np.zeros((len(x), kind.dimension, kind.dimension))
    for a in range(kind.dimension):
        local[:, a, a] = -2.0 * x[:, a]
    gradients = np.einsum("gnr,erd->egnd", local, inverse) * (at_centre[:, None] / det)[:, :, None, None]
    return strain_operator(gradients)


def scalar_mass(points: Array, table: NDArray[np.int64], kind: Kind, density: float) -> sp.csc_array:
    """μ of the consistent mass matrix μ ⊗ I."""
    x, w = kind.mass_points
    N, dN = kind.shape(x)
    jacobian = np.einsum("end,gnr->egdr", points[table], dN, optimize=True)
    return assemble(len(points), table, density * np.einsum("eg,gi,gj->eij", np.linalg.det(jacobian) * w, N, N, optimize=True))


def block(
    size: Sequence[float], cells: Sequence[int], material: Material, origin: ArrayLike = (0, 0, 0), kind: str = "hex8", name: str = "block"
) -> Structure:
    """A box of hexahedra ("hex8", "hex20") or tetrahedra ("tet4", "tet10"); faces are sets "x-", "x+", "y-", "y+", "z-", "z+"."""
    if len(size) != 3 or len(cells) != 3 or min(cells) < 1 or min(size) <= 0:
        raise InputError(f"{name}: size {tuple(size)} and cells {tuple(cells)} must be three positive numbers each")
    refine = 2 if kind in ("hex20", "tet10") else 1
    fine = [refine * c for c in cells]
    axes = [np.linspace(0.0, s, n + 1) for s, n in zip(size, fine)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(grid)).reshape([n + 1 for n in fine])
    if kind not in CORNERS:
        raise InputError(f"{name}: kind '{kind}' is unknown; there are {', '.join(CORNERS)}")
    corner = np.stack(np.meshgrid(*(refine * np.arange(c) for c in cells), indexing="ij"), axis=-1).reshape(-1, 3)
    elements = np.concatenate([number[tuple(np.moveaxis(corner[:, None, :] + np.array(o)[None], -1, 0))] for o in CORNERS[kind]])
    used = np.unique(elements)
    back = np.full(len(grid), -1)
    back[used] = np.arange(len(used))
    points = grid[used]
    part = solid(points + np.asarray(origin, float), back[elements], material, name=name)
    for a, letter in enumerate("xyz"):
        part.sets[f"{letter}-"] = np.flatnonzero(points[:, a] <= 1e-12 * size[a])
        part.sets[f"{letter}+"] = np.flatnonzero(points[:, a] >= size[a] * (1 - 1e-12))
    part.recipe = {"kind": "block", "size": size, "cells": cells, "material": material, "origin": origin, "element_kind": kind}
    return part


def hexahedra(
    size: Sequence[float], cells: Sequence[int], material: Material, origin: ArrayLike = (0, 0, 0), nodes: int = 8, name: str = "hexahedra",
    **interfaces: str,
) -> Structure:  # fmt: skip
    """A box of hexahedra of 8 or 20 ``nodes``; ``interfaces`` are sides by which it is held, by name: ``root="x-"``.

    >>> blade = hexahedra((2.0, 0.2, 0.1), (8, 1, 1), Material(1e9, 0.3, 1e3), root="x-", tip="x+")
    >>> sorted(blade.interfaces), len(blade.sets["x-"])
    (['root', 'tip'], 4)
    """
    return _held(size, cells, material, origin, {8: "hex8", 20: "hex20"}, nodes, name, interfaces)


def tetrahedra(
    size: Sequence[float], cells: Sequence[int], material: Material, origin: ArrayLike = (0, 0, 0), nodes: int = 4, name: str = "tetrahedra",
    **interfaces: str,
) -> Structure:  # fmt: skip
    """A box of tetrahedra of 4 or 10 ``nodes``, six for each of the ``cells``; ``interfaces`` as of :func:`hexahedra`."""
    return _held(size, cells, material, origin, {4: "tet4", 10: "tet10"}, nodes, name, interfaces)


def _held(
    size: Sequence[float], cells: Sequence[int], material: Material, origin: ArrayLike, kinds: dict[int, str], nodes: int, name: str,
    interfaces: dict[str, str],
) -> Structure:  # fmt: skip
    if nodes not in kinds:
        raise InputError(f"{name}: elements of {nodes!r} nodes do not exist; there are {' and '.join(map(str, kinds))}")
    part = block(size, cells, material, origin, kinds[nodes], name)
    for word, side in interfaces.items():
        if side not in part.sets:
            raise InputError(f"{name}: '{side}' of interface '{word}' is no side; there are {', '.join(sorted(part.sets))}")
        part.interface(word, side)
    return part


def sheet(
    size: Sequence[float], cells: Sequence[int], thickness: float, material: Material, origin: ArrayLike = (0, 0), name: str = "sheet"
) -> Structure:
    """A rectangle of quadrilaterals in the x–y plane, plane stress; sides are sets "x-", "x+", "y-", "y+"."""
    if len(size) != 2 or len(cells) != 2 or min(cells) < 1 or min(size) <= 0:
        raise InputError(f"{name}: size {tuple(size)} and cells {tuple(cells)} must be two positive numbers each")
    axes = [np.linspace(0.0, s, n + 1) for s, n in zip(size, cells)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    number = np.arange(len(points)).reshape([n + 1 for n in cells])
    low, high = slice(None, -1), slice(1, None)
    elements = np.stack([number[low, low], number[high, low], number[high, high], number[low, high]], axis=-1).reshape(-1, 4)
    part = solid(points + np.asarray(origin, float), elements, material, thickness, name)
    for a, letter in enumerate("xy"):
        part.sets[f"{letter}-"] = np.flatnonzero(points[:, a] <= 1e-12 * size[a])
        part.sets[f"{letter}+"] = np.flatnonzero(points[:, a] >= size[a] * (1 - 1e-12))
    part.recipe = {"kind": "sheet", "size": size, "cells": cells, "thickness": thickness, "material": material, "origin": origin}
    return part


# reference elements


def bricks(corners: Array) -> Callable[[Array], tuple[Array, Array]]:
    """Multilinear shapes Π (1 + ξ ξ_i)/2."""

    def shape(x: Array) -> tuple[Array, Array]:
        factor = 0.5 * (1 + x[:, None, :] * corners[None])
        N = factor.prod(axis=2)
        dN = np.stack([0.5 * corners[:, a] * np.delete(factor, a, axis=2).prod(axis=2) for a in range(corners.shape[1])], axis=2)
        return N, dN

    return shape


def serendipity(x: Array) -> tuple[Array, Array]:
    """The 20-node brick: corners ⅛ Π(1 + ξξ_i)(Σ ξξ_i − 2), edges ¼ (1 − ξ²)(1 + ηη_i)(1 + ζζ_i)."""
    N, dN = np.zeros((len(x), 20)), np.zeros((len(x), 20, 3))
    for i, p in enumerate(HEX20):
        f = 1 + x * p
        df = np.broadcast_to(p, x.shape).copy()
        middle = p == 0
        f[:, middle] = 1 - x[:, middle] ** 2
        df[:, middle] = -2 * x[:, middle]
        scale = 0.25 if middle.any() else 0.125
        extra = np.ones(len(x)) if middle.any() else x @ p - 2
        N[:, i] = scale * f.prod(axis=1) * extra
        for a in range(3):
            others = np.delete(f, a, axis=1).prod(axis=1)
            dN[:, i, a] = scale * (df[:, a] * others * extra + (0 if middle.any() else f.prod(axis=1) * p[a]))
    return N, dN


def tetrahedron(x: Array) -> tuple[Array, Array]:
    L = np.column_stack([1 - x.sum(axis=1), x])
    return L, np.broadcast_to(BARYCENTRIC, (len(x), 4, 3)).copy()


def quadratic_tetrahedron(x: Array) -> tuple[Array, Array]:
    L, dL = tetrahedron(x)
    i, j = np.array(EDGES).T
    N = np.hstack([L * (2 * L - 1), 4 * L[:, i] * L[:, j]])
    corners = (4 * L - 1)[:, :, None] * dL
    edges = 4 * (L[:, i, None] * dL[:, j] + L[:, j, None] * dL[:, i])
    return N, np.concatenate([corners, edges], axis=1)


def product_rule(count: int, dimension: int) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(count)
    points = np.stack(np.meshgrid(*[x] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    weights = np.stack(np.meshgrid(*[w] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension).prod(axis=1)
    return points, weights


def tetrahedral_rule(count: int) -> tuple[Array, Array]:
    """Gauss points on the unit tetrahedron by collapsing a cube (Stroud): exact for degree 2 count − 3 at least."""
    x, w = product_rule(count, 3)
    a, b, c = 0.5 * (x + 1).T
    points = np.column_stack([a, b * (1 - a), c * (1 - a) * (1 - b)])
    return points, w / 8 * (1 - a) ** 2 * (1 - b)


QUAD4 = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], float)
HEX8 = np.array([(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], float)
HEX_EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
HEX20 = np.vstack([HEX8, [0.5 * (HEX8[i] + HEX8[j]) for i, j in HEX_EDGES]])
EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
BARYCENTRIC = np.vstack([-np.ones(3), np.eye(3)])
ONE_POINT = (np.full((1, 3), 0.25), np.full(1, 1 / 6))

KINDS = {
    (4, 2): Kind(4, 2, bricks(QUAD4), product_rule(2, 2), product_rule(2, 2), bubbles=2),
    (8, 3): Kind(8, 3, bricks(HEX8), product_rule(2, 3), product_rule(2, 3), bubbles=3),
    (20, 3): Kind(20, 3, serendipity, product_rule(3, 3), product_rule(3, 3)),
    (4, 3): Kind(4, 3, tetrahedron, ONE_POINT, tetrahedral_rule(3)),
    (10, 3): Kind(10, 3, quadratic_tetrahedron, tetrahedral_rule(3), tetrahedral_rule(4)),
}

#: Six tetrahedra about the diagonal of a cube, corners as 0/1 offsets; each has a positive volume.
SIX = [[(0, 0, 0), a, b, (1, 1, 1)] for a, b in (
    ((1, 0, 0), (1, 1, 0)), ((1, 1, 0), (0, 1, 0)), ((0, 1, 0), (0, 1, 1)), ((0, 1, 1), (0, 0, 1)), ((0, 0, 1), (1, 0, 1)), ((1, 0, 1), (1, 0, 0)),
)]  # fmt: skip
CORNERS: dict[str, list[NDArray[np.int64]]] = {
    "hex8": [((HEX8 + 1) / 2).astype(np.int64)],
    "hex20": [(HEX20 + 1).astype(np.int64)],
    "tet4": [np.array(t) for t in SIX],
    "tet10": [np.vstack([2 * np.array(t), [np.array(t[i]) + np.array(t[j]) for i, j in EDGES]]) for t in SIX],
}
