"""Dynamics written linearly in the inertial parameters, φ = Y(q, v, a) π, and the parameters motion can tell apart.

The ten standard parameters of a body are m, m·c (three entries) and the inertia Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the
body's origin, in body axes (entries of the matrix).  After the bodies come the reflected inertias n²J of rotors.
Combinations that φ depends on, the base parameters, follow Gautier (numerical) and Khalil (in closed form).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...model.bodies import Body
from ...model.elastic.bending import refuse_flexible
from ...model.model import Model
from ...shown import Shown
from ...symbolic.derivatives import jacobian
from ...symbolic.expr import ONE, ZERO, Expr, symbol
from ...symbolic.graph import evaluate
from ...symbolic.vectors import AXES, NULL, Inertia, Matrix, Vector
from .links import Link, LinkMotion, Wrench, inertial_moment
from .newton_euler import inverse_dynamics, link_motions, reflected_inertias
from .reactions import expressed_place
from .rods import rods_with_mass
from .tree import Tree

ENTRIES = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
UNITS = ("kg", *["kg·m"] * 3, *["kg·m²"] * 6)
#: Which parameters of a body are kept first when several columns depend on each other (Khalil's choice).
_PREFERENCE = (4, 7, 8, 5, 9, 6, 1, 2, 3, 0)


def standard_parameters(model: Model) -> dict[str, Expr]:
    """Names ("rod.m", "rod.mcx", …) and expressions of the parameters π in the order of the regressor's columns."""
    found: dict[str, Expr] = {}
    for body in model.bodies.values():
        entries = (body.mass, *body.moment, *body.inertia.entries)
        found.update(zip((f"{body.name}.{e}" for e in ENTRIES), entries, strict=True))
    tree = Tree(model, regroup=False)
    names = [c.names[0] for c in tree.coordinates for _ in c.v]
    for index, inertia in reflected_inertias(tree).items():
        found[f"{names[index]}.rotor"] = inertia
    return found


def regressor(tree: Tree) -> list[list[Expr]]:
    """Y(q, v, a), nv rows, with Y π = φ for π as :func:`standard_parameters` lists them (Khalil and Dombre, ch. 12)."""
    refuse_flexible(tree.model, "the regressor", "give it with rigid=True")
    if tree.couplings:
        name = rods_with_mass(tree.model)[0].name
        raise InputError(f"regressor: the mass of rod '{name}' is no parameter of a body; make the rod a body on a universal joint")
    motions = link_motions(tree)
    columns: list[list[Expr]] = []
    for body in tree.model.bodies.values():
        link = tree.places[body.name].link
        wrenches = _unit_wrenches(tree, body, motions[link]) if link >= 0 else [(NULL, NULL)] * 10
        columns += [_projected(tree, link, *w) for w in wrenches]
    a = tree.a
    for index in reflected_inertias(tree):
        columns.append([a[index] if i == index else ZERO for i in range(tree.nv)])
    return [list(row) for row in zip(*columns, strict=True)]


def _unit_wrenches(tree: Tree, body: Body, motion: LinkMotion) -> list[Wrench]:
    """Wrench about the link's origin, in its axes, that each inertial parameter of the body asks for when it is 1."""
    place = expressed_place(tree, body.origin)
    R, p = place.rotation, place.position
    inside = R.T
    own = LinkMotion(inside @ motion.omega, inside @ motion.omega_dot, inside @ (motion.acceleration + motion.at(p)))
    U = Matrix(own.rows)
    wrenches = [(own.acceleration, NULL)]
    wrenches += [(U.column(k), AXES[k].cross(own.acceleration)) for k in range(3)]
    for k in range(6):
        unit = Inertia(*(ONE if i == k else ZERO for i in range(6)))
        wrenches.append((NULL, inertial_moment(unit, own)))
    turned = [(R @ f, R @ n) for f, n in wrenches]
    return [(f, n + p.cross(f)) for f, n in turned]


def _projected(tree: Tree, index: int, force: Vector, moment: Vector) -> list[Expr]:
    """Generalised forces of a wrench on a link, walking to the ground."""
    forces = [ZERO] * tree.nv
    while index >= 0:
        link = tree.links[index]
        link.add_forces(forces, force, moment)
        force, moment = link.inwards(force, moment)
        index = link.parent
    return forces


# --- base parameters by numbers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BaseParameters(Shown):
    """Combinations β = B π of standard parameters that determine φ: the fewest that motion can tell apart."""

    #: names of the standard parameters
    names: tuple[str, ...]
    #: indices of the standard parameters that lead a group
    leading: tuple[int, ...]
    #: indices of those that only appear in groups of others
    grouped: tuple[int, ...]
    #: indices of those without influence on φ
    absent: tuple[int, ...]
    #: B, one row for each group
    matrix: np.ndarray
    #: present values of the standard parameters
    standard: np.ndarray
    #: condition number of the leading columns (scaled) on the random states used
    condition: float

    @property
    def count(self) -> int:
        """Number of base parameters."""
        return len(self.leading)

    @property
    def values(self) -> np.ndarray:
        """β at the present values."""
        return self.matrix @ self.standard

    def relation(self, k: int) -> str:
        """Group k as a sum of standard parameters."""
        row = self.matrix[k]
        text = self.names[self.leading[k]]
        for j in np.flatnonzero(row):
            if j != self.leading[k]:
                size = "" if abs(row[j]) == 1.0 else f"{abs(row[j]):.6g}*"
                text += f" {'+' if row[j] > 0 else '-'} {size}{self.names[j]}"
        return text

    def __str__(self) -> str:
        n = len(self.names)
        rest = f"{len(self.grouped)} grouped, {len(self.absent)} without influence"
        lines = [f"{self.count} base parameters of {n} standard ones ({rest})"]
        relations = [self.relation(k) for k in range(self.count)]
        width = max((len(f"{v:.6g}") for v in self.values), default=0)
        lines += [f"  {v:>{width}.6g}  {text}" for v, text in zip(self.values, relations, strict=True)]
        if self.absent:
            lines.append("  without influence: " + ", ".join(self.names[j] for j in self.absent))
        return "\n".join(lines)


def base_parameters(
    model: Model, parameters: Mapping[str, float] | None = None, samples: int | None = None, seed: int = 0,
    tolerance: float = 1e-9,
) -> BaseParameters:  # fmt: skip
    """Base parameters by orthogonalising the regressor's columns on random states (Gautier 1991).

    A column that is a combination of columns kept before it (to ``tolerance``, relative) joins their groups.  Columns
    nearer to the ground are kept first, so that parameters move inwards as in Khalil's rules.

    >>> from jourdain import Model
    >>> m = Model("pendulum")
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.5)), axis="y")
    >>> print(base_parameters(m))
    3 base parameters of 10 standard ones (0 grouped, 7 without influence)
      0.5  bob.Iyy
        0  bob.mcx
       -1  bob.mcz
      without influence: bob.m, bob.mcy, bob.Ixx, bob.Izz, bob.Ixy, bob.Ixz, bob.Iyz
    """
    tree = Tree(model, regroup=False)
    standard = standard_parameters(model)
    if tree.nv == 0 or not standard:
        raise InputError(f"model '{model.name}' has no free coordinate or no body: there is nothing to identify")
    W = sampled(tree, regressor(tree), parameters, samples or 4 * len(standard) // tree.nv + 8, seed)
    numbers = np.array([float(x) for x in model.parameter_set.evaluate(list(standard.values()), parameters)])
    return _grouping(W, tuple(standard), numbers, _column_order(tree, len(standard)), tolerance)


def sampled(tree: Tree, rows: Sequence[Sequence[Expr]], parameters: Mapping[str, float] | None, samples: int, seed: int) -> np.ndarray:
    """A table of expressions at random states, one block of rows for each state."""
    rng = np.random.default_rng(seed)
    known = {tree.model.time: rng.uniform(0.0, 3.0, samples)}
    for c in tree.coordinates:
        x = rng.normal(size=(len(c.q), samples))
        known.update(zip(c.q, x / np.linalg.norm(x, axis=0) if c.is_quaternion else x, strict=True))
        known.update(zip((*c.v, *c.a), rng.normal(size=(2 * len(c.v), samples)), strict=True))
    known.update(zip(tree.model.parameter_set.symbols, tree.model.parameter_set.values(parameters), strict=True))
    flat = [np.broadcast_to(x, (samples,)) for x in evaluate([e for row in rows for e in row], known)]
    return np.array(flat).reshape(len(rows), -1, samples).transpose(2, 0, 1).reshape(samples * len(rows), -1)


def _column_order(tree: Tree, total: int) -> list[int]:
    """Columns in the order in which they are kept: bodies from the ground outwards, rotors last."""
    place = {name: i for i, name in enumerate(tree.model.bodies)}
    order = [10 * place[b.body.name] + e for b in tree.model.topology.branches for e in _PREFERENCE]
    return order + list(range(10 * len(place), total))


def _grouping(W: np.ndarray, names: tuple[str, ...], standard: np.ndarray, order: list[int], tolerance: float) -> BaseParameters:
    norms = np.linalg.norm(W, axis=0)
    absent = [j for j in range(W.shape[1]) if norms[j] <= tolerance * norms.max(initial=1e-300)]
    basis = np.zeros((W.shape[0], 0))
    leading, grouped = [], []
    for j in order:
        if j in absent:
            continue
        rest = W[:, j] / norms[j]
        for _ in range(2):  # once more, against the rounding of the first pass
            rest = rest - basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size > tolerance:
            leading.append(j)
            basis = np.column_stack([basis, rest / size])
        else:
            grouped.append(j)
    kept = W[:, leading] / norms[leading]
    B = np.zeros((len(leading), len(names)))
    B[range(len(leading)), leading] = 1.0
    if grouped:
        K = np.linalg.lstsq(kept, W[:, grouped], rcond=None)[0] / norms[leading][:, None]
        nearest = np.round(K, 9)
        B[:, grouped] = np.where(np.abs(K - nearest) < 1e-11, nearest, K)
        B[:, grouped] = np.where(np.abs(B[:, grouped]) < tolerance, 0.0, B[:, grouped])
    condition = float(np.linalg.cond(kept)) if leading else 1.0
    return BaseParameters(names, tuple(leading), tuple(grouped), tuple(absent), B, standard, condition)


# --- base parameters in closed form ------------------------------------------------------------------------------


class ParameterTree(Tree):
    """The tree with a symbol for each inertial parameter of each body (:attr:`symbols`, in standard order)."""

    def __init__(self, model: Model, regroup: bool = True, share: bool = True) -> None:
        self.symbols = {f"{b}.{e}": symbol(f"{b}.{e}") for b in model.bodies for e in ENTRIES}
        super().__init__(model, regroup, share)

    def _add_inertia(self, link: Link, body: Body, p: Vector, R: Matrix) -> None:
        m, x, y, z, *inertia = (self.symbols[f"{body.name}.{e}"] for e in ENTRIES)
        stand_in = Body(self.model, body.name)
        stand_in.mass, stand_in.moment, stand_in.inertia = m, Vector(x, y, z), Inertia(*inertia)
        super()._add_inertia(link, stand_in, p, R)


def grouped_parameters(model: Model, seed: int = 0) -> dict[str, Expr]:
    """Khalil's groups in closed form: what each elementary link of the regrouped tree feels, as sums of π.

    Only groups that φ depends on are given; there are a few more than base parameters where axes stand in special ways
    (parallel to each other or to gravity), which :func:`base_parameters` finds.

    >>> from jourdain import Model
    >>> m = Model("pendulum")
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.5)), axis="y")
    >>> grouped_parameters(m)
    {'hinge.mcx': bob.mcx, 'hinge.mcz': bob.mcz, 'hinge.Iyy': bob.Iyy}
    """
    refuse_flexible(model, "grouping of inertial parameters", "give it with rigid=True")
    tree = ParameterTree(model)
    groups: list[tuple[str, Expr, Expr]] = []
    seen: dict[str, int] = {}
    for link in tree.links:
        seen[link.name] = seen.get(link.name, 0) + 1
        path = link.name if seen[link.name] == 1 else f"{link.name}.{seen[link.name]}"
        expressions = (link.mass, *link.own_moment, *link.own_inertia.entries)
        felt = [symbol(f"{path}.{e}") for e in ENTRIES]
        link.mass, link.moment, link.inertia = felt[0], Vector(*felt[1:4]), Inertia(*felt[4:])
        if link.angle is not None:
            link.moment, link.inertia = link.angle.out(link.moment), link.angle.out_inertia(link.inertia)
        groups += [(s.name, s, e) for s, e in zip(felt, expressions, strict=True)]
    Y = jacobian(inverse_dynamics(tree), [s for _, s, _ in groups])
    influence = np.abs(sampled(tree, Y, None, 8, seed)).max(axis=0)
    keep = influence > 1e-12 * influence.max(initial=1e-300)
    return {name: e for (name, _, e), k in zip(groups, keep, strict=True) if k and e is not ZERO}
