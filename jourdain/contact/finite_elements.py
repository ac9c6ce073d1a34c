"""Fast model "finite elements": all degrees of freedom, by central differences (spec 05, 3.9).

Contact is Hertz's law at the node that is struck, or, for bodies of revolution on one axis, penalties between surfaces that are
resolved by elements: then nothing is put in but the materials and the shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, pi, sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InputError
from ..structures.parts.dofs import Array
from .bodies import Ball, Cylinder, FastBody, Rod
from .elastic import Elastic, highest_frequency, revolved_solid
from .hertz_theory import relative_curvatures
from .impact import MOST_CONTACTS, Impact, Motion, Pair, RigidMotion, contacts_of
from .marches import march_elements
from .meshes import cylinder_section, graded, sphere_section

CONTACTS = ("hertz", "penalty")
#: Elements in the radius of the largest circle of contact, and how far beyond it they stay so small.
ELEMENTS_IN_CONTACT, BEYOND = 5, 1.5
#: Step as a share of the largest stable one, and fewest steps of a contact.
SHARE, STEPS = 0.9, 1000
MOST_ROWS = 20_000
#: Largest yielding of a grid under its node, as a share of Hertz's, that can be taken out again.
MOST_YIELDING = 0.8
#: Nodes on penalties may part for a moment: shorter times apart, as a share of a rigid impact, do not count.
CHATTER = 0.05


@dataclass(frozen=True, eq=False)
class NodalMotion:
    """Displacements at the node that is struck during the run; afterwards only the rigid motion is known."""

    time: Array
    position: Array
    state: tuple[Array, Array]
    elastic: Elastic

    def displacement(self, x: Any, t: Any) -> Array:
        self._struck(x)
        return np.interp(np.asarray(t, float), self.time, self.position, right=np.nan)

    def velocity(self, x: Any, t: Any) -> Array:
        self._struck(x)
        return np.interp(np.asarray(t, float), self.time, np.gradient(self.position, self.time, edge_order=2), right=np.nan)

    def strain(self, x: Any, t: Any) -> Array:
        raise InputError("strain: finite-element runs keep the motion of the node that is struck; take model='modes' or 'waves'")

    def _struck(self, x: Any) -> None:
        if np.any(np.asarray(x) != 0):
            raise InputError(
                f"place {x!r}: finite-element runs keep the motion of the node that is struck (0); take model='modes' for others"
            )


def impact_by_elements(pair: Pair, until: float | None, contact: str, size: float | None, penalty: float, quiet: float | None) -> Impact:
    """Integrates both bodies until they stayed apart for a period of the slowest mode (or `quiet` seconds)."""
    if contact not in CONTACTS:
        raise InputError(f"contact = '{contact}' is unknown; there are {', '.join(CONTACTS)}")
    for body in (pair.a, pair.b):
        if isinstance(body, Rod) and body.other_end != "free":
            raise InputError("rod: other_end = 'fixed' is not for finite elements; take model='waves'")
    if contact == "hertz":
        if pair.law.damping:
            raise InputError(f"law: damping = {pair.law.damping:g} N s/m is not taken by finite elements; take model='modes'")
        bodies = [None if isinstance(body, Ball) else body.elastic(size) for body in (pair.a, pair.b)]
        gap, stiffness, exponent = np.zeros(1), np.array([pair.law.stiffness]), pair.law.exponent
        pairs = np.array([[0 if e is None else e.struck for e in bodies]])
    else:
        bodies, pairs, gap, stiffness = resolved_pair(pair, penalty)
        exponent = 1.0
    return march(pair, bodies, pairs, gap, stiffness, exponent, until, quiet)


def march(
    pair: Pair,
    bodies: list[Elastic | None],
    pairs: Array,
    gap: Array,
    stiffness: Array,
    exponent: float,
    until: float | None,
    quiet: float | None,
) -> Impact:
    """One system of both bodies; a body that is None is a mass."""
    blocks = [sp.csr_array((1, 1)) if e is None else e.K for e in bodies]
    masses = [np.array([body.mass]) if e is None else e.lumped for e, body in zip(bodies, (pair.a, pair.b), strict=True)]
    split = len(masses[0])
    K = sp.csr_array(sp.block_diag(blocks, format="csr"))
    inverse = 1 / np.concatenate(masses)
    pair_a, pair_b = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64) + split
    viscosity = max(pair.a.viscosity, pair.b.viscosity)
    if viscosity and (pair.a.viscosity != pair.b.viscosity) and None not in bodies:
        raise InputError(f"viscosity: {pair.a.viscosity:g} and {pair.b.viscosity:g} s; finite elements take one for both bodies")
    yielding, tangent = (0.0, stiffness) if len(gap) > 1 else point_contact(pair, bodies)
    h = stable_step(pair, K, inverse, (pair_a, pair_b), tangent, viscosity)
    apart = max(pair.a.period, pair.b.period) if quiet is None else quiet
    longest = until if until is not None else 20 * (pair.rigid_duration + apart)
    most, calm = ceil(longest / h), max(ceil(apart / h), 2)
    stride = max(1, int((6 * pair.rigid_duration + 2 * apart) / h / MOST_ROWS))
    trace, rows = np.zeros((min(most // stride + 2, 4 * MOST_ROWS), 4)), np.zeros((MOST_CONTACTS, 3))
    x, v = np.zeros(len(inverse)), np.zeros(len(inverse))
    v[np.zeros(1, dtype=np.int64) if bodies[0] is None else bodies[0].along[bodies[0].along >= 0]] = pair.speed
    before = v.copy()
    done, kept, impulse, number, touching = march_elements(
        K.indptr.astype(np.int64), K.indices.astype(np.int64), K.data, inverse, x, v, np.zeros(len(x)), viscosity, pair_a, pair_b, gap, stiffness,
        float(exponent), yielding, h, most, calm, stride, trace, rows,
    )  # fmt: skip
    trace = trace[:kept]

    def motion(e: Elastic | None, column: int, part: slice) -> Motion:
        if e is None:
            return RigidMotion(trace[:, 0], trace[:, column], float(before[part][0]), float(v[part][0]))
        return NodalMotion(trace[:, 0], trace[:, column], (x[part], v[part]), e)

    parts = slice(0, split), slice(split, None)
    a, b = motion(bodies[0], 2, parts[0]), motion(bodies[1], 3, parts[1])
    energy = sum(vibration(e, x[part], v[part], h) for e, part in zip(bodies, parts, strict=True) if e is not None)
    found = contacts_of(rows, number, CHATTER * pair.rigid_duration)
    finished = not touching and done < most
    return Impact(trace[:, 0], trace[:, 1], trace[:, 2] - trace[:, 3], found, impulse, energy, finished, done, a, b)


def point_contact(pair: Pair, bodies: list[Elastic | None]) -> tuple[float, Array]:
    """How far the grids yield under a force at the nodes that touch (m/N), and the largest stiffness (1,) between these."""
    yielding = sum(e.yielding for e in bodies if e is not None)
    slope = pair.law.largest_slope(1 / pair.mobility, pair.speed)
    if yielding * slope > MOST_YIELDING:
        raise InputError(
            f"'{pair.a.name}' and '{pair.b.name}': their elements are so small that they yield by {yielding:.2g} m/N under a force at one node, "
            f"Hertz's contact by {1 / slope:.2g}; give a larger size=, or take contact='penalty'"
        )
    return yielding, np.array([slope / (1 - yielding * slope)])


def stable_step(
    pair: Pair, K: sp.csr_array, inverse: Array, touching: tuple[NDArray[np.int64], NDArray[np.int64]], tangent: Array, viscosity: float
) -> float:
    """A step that is stable for all elements and contacts, resolves the contact, and lets no node that lands leave faster than it came."""
    a, b = touching
    places = np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a])
    springs = sp.coo_array((np.concatenate([tangent, tangent, -tangent, -tangent]), places), shape=K.shape)
    omega = highest_frequency(sp.csr_array(K + springs), inverse)
    xi = 0.5 * viscosity * omega
    landing = float((tangent * (inverse[a] + inverse[b])).max())
    return SHARE * min(2 / omega * (sqrt(1 + xi * xi) - xi), sqrt(2 / landing), pair.rigid_duration / STEPS)


def vibration(e: Elastic, x: Array, v: Array, h: float) -> float:
    """Kinetic and strain energy without the rigid motion; velocities are half a step behind the displacements."""
    rigid, weighed = e.rigid, e.lumped[:, None] * e.rigid
    here = v - 0.5 * h * (e.K @ x) / e.lumped
    free = here - rigid @ np.linalg.solve(rigid.T @ weighed, weighed.T @ here)
    return float(0.5 * free @ (e.lumped * free) + 0.5 * x @ (e.K @ x))


# -- surfaces resolved by elements -----------------------------------------------------------------------------------


def resolved_pair(pair: Pair, penalty: float) -> tuple[list[Elastic | None], Array, Array, Array]:
    """Two bodies of revolution on one axis with nodes opposite to each other, and penalties (N/m) between them.

    The penalty of a node is `penalty` times E*/h times the area around it.
    """
    for body in (pair.a, pair.b):
        if not isinstance(body, Ball | Rod | Cylinder):
            raise InputError(f"{body.name}: contact='penalty' is for balls, rods and cylinders on one axis; take contact='hertz'")
    depth, _ = pair.law.rigid_impact(1 / pair.mobility, pair.speed)
    circle = sqrt(depth / (2 * relative_curvatures(pair.a, pair.b)[0]))  # a² = R δ
    fine = circle / ELEMENTS_IN_CONTACT
    zone = BEYOND * circle
    shared: Array = fine * np.arange(float(ceil(zone / fine) + 1))
    (first, face), (second, opposite) = (resolved(body, shared, fine) for body in (pair.a, pair.b))
    edges = np.concatenate([[0.0], 0.5 * (shared[1:] + shared[:-1]), [shared[-1] + 0.5 * fine]])
    area = pi * np.diff(edges**2)
    modulus = 1 / sum((1 - body.nu**2) / body.E for body in (pair.a, pair.b))
    return (
        [first, second],
        np.column_stack([face, opposite]),
        height(pair.a, shared) + height(pair.b, shared),
        penalty * modulus / fine * area,
    )


def height(body: FastBody, r: Array) -> Array:
    """How far the surface has fallen back at a distance r from the axis."""
    k = body.curvatures[0]
    return np.zeros(len(r)) if k == 0 else (1 - np.sqrt(1 - (k * r) ** 2)) / k


def resolved(body: FastBody, shared: Array, fine: float) -> tuple[Elastic, NDArray[np.int64]]:
    """A grid with nodes at the shared radii, growing coarser away from the contact; degrees of freedom of the shared nodes."""
    if isinstance(body, Ball):
        outer = body.radius * sqrt(0.5)
        coarse = body.radius / 8
        surface = np.concatenate([shared, shared[-1] + graded(outer - shared[-1], 1.2 * fine, growth=1.25, largest=coarse)[1:]])
        depth = graded(2 * body.radius, fine, shared[-1] / 2, 1.25, coarse) / (2 * body.radius)
        nodes, cells = sphere_section(body.radius, surface, depth)
        stride = len(depth)
    else:
        assert isinstance(body, Rod | Cylinder)
        if body.curvatures[0]:
            raise InputError(
                f"{body.name}: end_radius = {body.curvatures[0] ** -1:g} m; penalty contact takes flat ends only, take contact='hertz'"
            )
        coarse = body.radius / 6
        r = np.concatenate([shared, shared[-1] + graded(body.radius - shared[-1], 1.2 * fine, growth=1.25, largest=coarse)[1:]])
        z = graded(body.length, fine, shared[-1] / 2, 1.25, body.radius if isinstance(body, Rod) else coarse)
        nodes, cells = cylinder_section(body.radius, body.length, r, z)
        stride = len(z)
    e = revolved_solid(body.name, nodes, cells, body.material, body.mass)
    return e, e.along[stride * np.arange(len(shared))]
