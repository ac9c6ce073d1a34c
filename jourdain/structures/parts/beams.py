"""Beams and frameworks: Euler–Bernoulli, Rayleigh and Timoshenko elements of any taper from one flexibility.

An element held at its first end and loaded at the other by F has the section forces S(x) = b(x) F; its flexibility
f = ∫ bᵀ c b dx, with c the compliance of a section, is exact for every taper, with and without shear (Przemieniecki 1968, ch. 5).
Stiffness is Gᵀ f⁻¹ G, and the shape functions are the displacements that belong to it, which for a uniform Euler–Bernoulli
beam are Hermite's cubics.  Mass follows by quadrature of these shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ..field import MassField
from ..structure import Structure
from .dofs import Array, dofs_of, skew
from .elements import Acceleration, ElementGroup, assemble, stacked
from .points import Motion
from .sections import Material, Section, Taper

Sections = Section | Callable[[float], Section]
#: Gauss points along an element: shapes are cubic, so that products of two are exact with four.
POINTS = 4
THEORIES = ("euler-bernoulli", "rayleigh", "timoshenko")
FORCES = ("N", "Vy", "Vz", "T", "My", "Mz")


@dataclass(frozen=True, eq=False)
class BeamElements(ElementGroup):
    """Two-node beams; section forces are those that the part beyond acts with on the part before, in the axes of the element."""

    nodes: NDArray[np.int64]
    rows: NDArray[np.int64]
    axes: Array  #: (e, 3, 3) local x, y, z in columns
    lengths: Array
    levers: Array  #: (e, 12, 12) from nodal motions in the part's axes to motions of the element's ends in its own
    end_force: Array  #: (e, 6, 12) F = f⁻¹ G, the force at the second end
    slopes: Array  #: (e, g, 2, 12) dv/dx and dw/dx at the Gauss points
    measure: Array  #: (g,) Gauss weights on (0, 1)
    sections: tuple[tuple[Section, Section], ...]  #: of the two ends of each element
    material: Material
    places: Array  #: (e, g, 3) Gauss points on the axes, in the part's axes
    shapes: Array  #: (e, g, 6, 12) motions of the sections there by those of the ends, in the element's axes
    masses: Array  #: (e, g) weights times mass a length
    rotary: Array  #: (e, g, 3) weights times rotary inertia a length about local x, y, z

    @property
    def channels(self) -> list[str]:
        return [f"{f}@{end}" for end in ("start", "end") for f in FORCES]

    def recovery(self) -> Array:
        at_end = self.end_force @ self.levers
        at_start = np.einsum("eab,ebc->eac", section_forces(np.zeros(len(self.lengths)), self.lengths), at_end)
        return np.concatenate([at_start, at_end], axis=1)

    def inside(self, acceleration: Acceleration) -> Array:
        """An element's ends carry K d less the consistent loads −∫ Nᵀ a dm of its own inertia, so that section forces are those of its equilibrium."""
        e, g = self.masses.shape
        turned = np.zeros((e, 6, 6))
        turned[:, :3, :3] = turned[:, 3:, 3:] = self.axes
        motions = np.einsum("eab,egbc,ecd->egad", turned, self.shapes, self.levers)
        a, alpha = acceleration(self.places.reshape(-1, 3), np.repeat(self.rows, g, axis=0), motions.reshape(-1, 6, 12))
        local = [np.einsum("eba,egbk->egak", self.axes, x.reshape(e, g, 3, -1)) for x in (a, alpha)]
        forces = np.concatenate([self.masses[:, :, None, None] * local[0], self.rotary[:, :, :, None] * local[1]], axis=2)
        loads = -np.einsum("egac,egak->eck", self.shapes, forces)
        return np.concatenate([loads[:, :6], -loads[:, 6:]], axis=1)

    def von_mises(self, values: Array) -> Array:
        """The largest over both ends and the outline; bending of round sections is added as vectors, of others at the corner."""
        worst = np.zeros(len(values))
        for k, end in enumerate((0, 6)):
            N, _, _, T, My, Mz = np.abs(values[:, end : end + 6]).T
            s = [pair[k] for pair in self.sections]
            y = Mz * np.array([x.half_y / x.Iz for x in s])
            z = My * np.array([x.half_z / x.Iy for x in s])
            bending = np.where([x.round for x in s], np.hypot(y, z), y + z)
            sigma = N / np.array([x.area for x in s]) + bending
            tau = T * np.array([x.torsion_radius / x.torsion for x in s])
            worst = np.maximum(worst, np.sqrt(sigma**2 + 3 * tau**2))
        return worst

    def strains(self) -> Array:
        """Axial strains of four outer fibres at both ends: N/EA ± Mz y/EIz ± My z/EIy."""
        forces = self.recovery() / self.material.E
        rows = []
        for k, end in enumerate((0, 6)):
            s = [pair[k] for pair in self.sections]
            N = forces[:, end] / np.array([x.area for x in s])[:, None]
            y = forces[:, end + 5] * np.array([x.half_y / x.Iz for x in s])[:, None]
            z = forces[:, end + 4] * np.array([x.half_z / x.Iy for x in s])[:, None]
            rows += [N - y + z, N + y + z, N - y - z, N + y - z]
        return np.stack(rows, axis=1)

    def rotations(self) -> Array:
        return self.levers[:, [3, 4, 5, 9, 10, 11]]

    def geometric(self, displacement: Array, size: int) -> sp.csc_array:
        """∫ N (v′² + w′²) dx with the axial force N of the displacement: strings under tension."""
        axial = np.einsum("ec,ec->e", (self.end_force @ self.levers)[:, 0], displacement[self.rows])
        slopes = np.einsum("egac,ecd->egad", self.slopes, self.levers)
        matrices = np.einsum("e,e,g,egac,egad->ecd", axial, self.lengths, self.measure, slopes, slopes, optimize=True)
        return assemble(size, self.rows, matrices)


@dataclass(frozen=True, eq=False)
class CableElements(BeamElements):
    """Beams without shear whose large deformation is that of a thin cable, by places and slopes of its nodes; ``viscosity`` (N s) is that of its tension."""

    viscosity: float = 0.0


def section_forces(x: Array, end: Array) -> Array:
    """b(x), (…, 6, 6): forces N, Vy, Vz, T, My, Mz in the section at x from a force at `end`."""
    b = np.broadcast_to(np.eye(6), (*np.shape(x), 6, 6)).copy()
    b[..., 4, 2] = -(end - x)
    b[..., 5, 1] = end - x
    return b


def beam(
    start: ArrayLike,
    end: ArrayLike,
    section: Sections,
    material: Material,
    elements: int = 10,
    theory: str = "euler-bernoulli",
    up: ArrayLike = (0, 0, 1),
    offset: ArrayLike = (0, 0, 0),
    name: str = "beam",
) -> Structure:
    """A straight beam of equal elements; its nodes are named "start", "end" and, where there is one, "middle".

    Args:
        start, end: positions in the part's coordinates, m.
        section: a :class:`Section`, ``taper(a, b)`` or any function of s in [0, 1] from start to end.
        theory: "euler-bernoulli" (no shear, no rotary inertia in bending), "rayleigh" (with rotary inertia) or "timoshenko" (both).
        up: a direction in the local x–z plane; a beam along x has the local axes y and z of the part.
        offset: where the axis of the beam is relative to the nodes, in local components.

    Example:
        >>> part = beam((0, 0, 0), (1, 0, 0), rectangle(0.02, 0.01), STEEL, elements=8)
    """
    if elements < 1:
        raise InputError(f"{name}: {elements} elements; at least one is needed")
    a, b = np.asarray(start, float), np.asarray(end, float)
    if a.shape != (3,) or b.shape != (3,):
        raise InputError(f"{name}: start and end must be positions of three numbers")
    s = np.linspace(0.0, 1.0, elements + 1)
    members = [(i, i + 1) for i in range(elements)]
    sections = [piece(section, low, high) for low, high in pairwise(s)] if callable(section) else section
    part = framework(a + s[:, None] * (b - a), members, sections, material, theory=theory, up=up, offset=offset, name=name)
    part.names.update(start=0, end=elements)
    if elements % 2 == 0 and elements > 1:
        part.names["middle"] = elements // 2
    if not callable(section) or isinstance(section, Taper):
        given = {"section": section, "material": material, "elements": elements, "theory": theory, "up": up, "offset": offset}
        part.recipe = {"kind": "beam", "start": start, "end": end, **given}
    return part


def cable(
    start: ArrayLike,
    end: ArrayLike,
    section: Section,
    material: Material,
    elements: int = 10,
    up: ArrayLike = (0, 0, 1),
    name: str = "cable",
    viscosity: float = 0.0,
) -> Structure:
    """A thin cable, straight and free of stress, of equal pieces; its nodes are named "start", "end" and, where there is one, "middle".

    By modes it is an Euler–Bernoulli beam; in directors it deforms as far as it likes, bends alike in all directions with E Iy, and transmits no torsion; a tension of
    ``viscosity`` (N s) times the rate of strain resists there.

    >>> cable((0, 0, 0), (2, 0, 0), circle(0.01), STEEL, elements=8).name
    'cable'
    """
    if not viscosity >= 0.0:
        raise InputError(f"{name}: viscosity = {viscosity:g} N s must not be negative")
    part = beam(start, end, section, material, elements=elements, up=up, name=name)
    (group,) = part.elements
    part.elements = (CableElements(**{f.name: getattr(group, f.name) for f in fields(BeamElements)}, viscosity=viscosity),)
    part.recipe = {"kind": "cable", "start": start, "end": end, "section": section, "material": material, "elements": elements, "up": up}
    if viscosity:
        part.recipe["viscosity"] = viscosity
    return part


def piece(section: Callable[[float], Section], low: float, high: float) -> Callable[[float], Section]:
    """A taper between two places of a longer one."""
    return lambda s: section(low + s * (high - low))


def framework(
    nodes: ArrayLike,
    members: Sequence[tuple[int, int]],
    section: Sections | Sequence[Sections],
    material: Material,
    theory: str = "euler-bernoulli",
    up: ArrayLike = (0, 0, 1),
    offset: ArrayLike = (0, 0, 0),
    name: str = "framework",
) -> Structure:
    """Beam elements between given nodes (pairs of numbers), all stiff at their ends; one section or one a member."""
    if theory not in THEORIES:
        raise InputError(f"{name}: theory '{theory}' is unknown; there are {', '.join(THEORIES)}")
    points = np.asarray(nodes, float)
    pairs = np.asarray(members, dtype=np.int64).reshape(-1, 2)
    given = list(section) if isinstance(section, Sequence) and not isinstance(section, str) else [section] * len(pairs)
    wrong = next((g for g in given if not (isinstance(g, Section) or callable(g))), None)
    if wrong is not None:
        raise InputError(f"{name}: {wrong!r} is no section; make one by structures.circle(…), rectangle(…), Section(…) or taper(…)")
    if not isinstance(material, Material):
        raise InputError(f"{name}: {material!r} is no material; give structures.Material(E, nu, density) or structures.STEEL")
    if len(given) != len(pairs):
        raise InputError(f"{name}: {len(given)} sections for {len(pairs)} members; give one, or one a member")
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(points)):
        raise InputError(f"{name}: members name node {pairs.max()}, but nodes go from 0 to {len(points) - 1}")
    dofs = dofs_of(len(points), 6 * len(points), None)
    rows = dofs.table[pairs].reshape(len(pairs), 12)
    axes, lengths = local_axes(points, pairs, np.asarray(up, float), name)
    levers = end_levers(axes, np.asarray(offset, float))

    x, measure = gauss(POINTS)
    law = compliance(given, x, material, theory)
    shapes, slopes, end_force, stiffness = element_shapes(lengths, law, given, material, theory, x)
    K = assemble(len(dofs), rows, transformed(stiffness, levers))

    area, second = inertia_of(given, x, material, theory)
    turned = np.einsum("eab,egbc,ecd->egad", axes, shapes[:, :, :3], levers)  # displacements in the part's axes
    places = (
        points[pairs[:, 0]][:, None]
        + np.einsum("eab,b->ea", axes, np.asarray(offset, float))[:, None]
        + x[:, None] * (lengths[:, None] * axes[:, :, 0])[:, None]
    )
    count = len(x)
    field_rows = np.repeat(rows, count, axis=0)
    masses = area * measure * lengths[:, None]
    spin = np.einsum("egac,ecd->egad", shapes[:, :, 3:], levers)
    turning = (measure * lengths[:, None])[:, :, None] * second
    rotary = np.einsum("egac,ega,egad->ecd", spin, turning, spin, optimize=True)
    field = MassField(
        places.reshape(-1, 3),
        stacked(len(dofs), field_rows, turned.reshape(-1, 3, 12)),
        sp.csc_array(sp.diags_array(masses.ravel())),
        assemble(len(dofs), rows, rotary),
    )
    ends = tuple((section_at(g, 0.0), section_at(g, 1.0)) for g in given)
    group = BeamElements(
        pairs, rows, axes, lengths, levers, end_force, slopes, measure, ends, material, places, shapes, masses, turning
    )  # fmt: skip
    part = Structure(points, field.mass_matrix(), K, dofs, field=field, elements=[group], name=name)
    if not any(callable(g) and not isinstance(g, Taper) for g in given):
        sections = section if isinstance(section, Section | Taper) else given
        part.recipe = {"kind": "framework", "nodes": points, "members": pairs, "section": sections, "material": material}
        part.recipe |= {"theory": theory, "up": up, "offset": offset}
    return part


def local_axes(points: Array, pairs: NDArray[np.int64], up: Array, name: str) -> tuple[Array, Array]:
    """Local axes of members and their lengths: x along, z as near to `up` as it can be (y where a member runs along `up`)."""
    along = points[pairs[:, 1]] - points[pairs[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    if (lengths <= 0).any():
        k = int(np.argmin(lengths))
        raise InputError(f"{name}: member {k} between nodes {pairs[k, 0]} and {pairs[k, 1]} has no length")
    x = along / lengths[:, None]
    if not np.linalg.norm(up) > 0:
        raise InputError(f"{name}: up = {tuple(up)} has no direction")
    up = up / np.linalg.norm(up)
    other = np.eye(3)[int(np.argmin(np.abs(up)))]
    parallel = np.linalg.norm(np.cross(x, up), axis=1) < 1e-6
    y = np.cross(np.where(parallel[:, None], other, up), x)
    y /= np.linalg.norm(y, axis=1)[:, None]
    return np.stack([x, y, np.cross(x, y)], axis=2), lengths


def end_levers(axes: Array, offset: Array) -> Array:
    """From motions of two nodes (part's axes) to motions of the element's ends (its own axes), which stand off by a rigid arm."""
    local = np.swapaxes(axes, 1, 2)
    end = np.zeros((len(axes), 6, 6))
    end[:, :3, :3] = end[:, 3:, 3:] = local
    end[:, :3, 3:] = -skew(offset) @ local
    levers = np.zeros((len(axes), 12, 12))
    levers[:, :6, :6] = levers[:, 6:, 6:] = end
    return levers


def transformed(matrices: Array, levers: Array) -> Array:
    return np.swapaxes(levers, 1, 2) @ matrices @ levers


def gauss(count: int) -> tuple[Array, Array]:
    """Gauss points and weights on (0, 1)."""
    x, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (x + 1.0), 0.5 * w


def section_at(section: Sections, s: float) -> Section:
    return section(s) if callable(section) else section


def compliance(sections: Sequence[Sections], x: Array, material: Material, theory: str) -> Array:
    """c(x), (e, g, 6): compliances of sections against N, Vy, Vz, T, My, Mz."""
    shear = 1.0 if theory == "timoshenko" else 0.0
    E, G = material.E, material.G

    def law(s: Section) -> list[float]:
        return [
            1 / (E * s.area),
            shear / (s.shear_y * G * s.area),
            shear / (s.shear_z * G * s.area),
            1 / (G * s.torsion),
            1 / (E * s.Iy),
            1 / (E * s.Iz),
        ]

    return tabulated(sections, x, law)


def inertia_of(sections: Sequence[Sections], x: Array, material: Material, theory: str) -> tuple[Array, Array]:
    """Mass a length (e, g) and rotary inertia a length about x, y, z (e, g, 3)."""
    bending = 0.0 if theory == "euler-bernoulli" else 1.0
    rho = material.density
    found = tabulated(sections, x, lambda s: [rho * s.area, rho * (s.Iy + s.Iz), bending * rho * s.Iy, bending * rho * s.Iz])
    return found[..., 0], found[..., 1:]


def tabulated(sections: Sequence[Sections], x: Array, law: Callable[[Section], list[float]]) -> Array:
    """Values of sections at the points x of each element; equal sections are asked once."""
    known: dict[int, list[list[float]]] = {}
    rows = []
    for s in sections:
        if id(s) not in known:
            known[id(s)] = [law(section_at(s, float(t))) for t in x]
        rows.append(known[id(s)])
    return np.array(rows)


def element_shapes(
    lengths: Array, law: Array, sections: Sequence[Sections], material: Material, theory: str, x: Array
) -> tuple[Array, Array, Array, Array]:
    """Shape functions (e, g, 6, 12) and slopes (e, g, 2, 12) at the Gauss points, end force (e, 6, 12), stiffness (e, 12, 12); local."""
    L = lengths
    _, measure = gauss(len(x))
    b = section_forces(L[:, None] * x, L[:, None])
    f = np.einsum("e,g,egia,egi,egib->eab", L, measure, b, law, b, optimize=True)
    G = np.concatenate([-carried(L), np.broadcast_to(np.eye(6), (len(L), 6, 6))], axis=2)
    end_force = np.linalg.solve(f, G)
    stiffness = np.swapaxes(G, 1, 2) @ end_force
    shapes = np.stack([shapes_at(at, L, sections, material, theory, end_force) for at in x], axis=1)
    strain = np.einsum("egi,egij,ejc->egic", law, b, end_force)
    slopes = np.stack([shapes[:, :, 5] + strain[:, :, 1], -shapes[:, :, 4] + strain[:, :, 2]], axis=2)
    return shapes, slopes, end_force, 0.5 * (stiffness + np.swapaxes(stiffness, 1, 2))


def shapes_at(at: float, L: Array, sections: Sequence[Sections], material: Material, theory: str, end_force: Array) -> Array:
    """Shape functions (e, 6, 12) at one place 0 ≤ at ≤ 1 of each element: the rigid motion with the first end, and what the end force bends."""
    x, measure = gauss(POINTS)
    inner = compliance(sections, at * x, material, theory)
    to_here = section_forces(L[:, None] * at * x, L[:, None] * at)
    from_end = section_forces(L[:, None] * at * x, L[:, None])
    moved = np.einsum("e,h,ehia,ehi,ehib->eab", at * L, measure, to_here, inner, from_end, optimize=True)
    return np.concatenate([carried(at * L), np.zeros((len(L), 6, 6))], axis=2) + moved @ end_force


def beam_elements(part: Structure) -> BeamElements:
    """The beam elements of a part; an error if it has none."""
    for group in part.elements:
        if isinstance(group, BeamElements):
            return group
    raise InputError(f"{part.name}: it is not made of beam elements, so that sections and curvatures are not known")


def beam_motion(part: Structure, x: float) -> Motion:
    """The motion of the section at x of a straight uniform Timoshenko beam along the part's x axis, between nodes by the element's shapes."""
    group = beam_elements(part)
    ends = part.nodes[group.nodes][:, :, 0]
    k = int(np.argmax(x <= ends[:, 1] * (1 + 1e-12)))
    one = slice(k, k + 1)
    at = float((x - ends[k, 0]) / (ends[k, 1] - ends[k, 0]))
    shapes = (
        shapes_at(at, group.lengths[one], [group.sections[k][0]], group.material, "timoshenko", group.end_force[one]) @ group.levers[one]
    )
    return Motion(f"x={x:g}", np.array([x, 0.0, 0.0]), np.eye(3), sp.csr_array(stacked(len(part.dofs), group.rows[one], shapes)), True)


def carried(x: Array) -> Array:
    """T(x), (e, 6, 6): the motion of a point at x that moves rigidly with the first end."""
    T = np.broadcast_to(np.eye(6), (len(x), 6, 6)).copy()
    T[:, 1, 5] = x
    T[:, 2, 4] = -x
    return T
