"""The bias c(q, v) taken apart: Coriolis matrix C(q, v), gravity, and Christoffel symbols.

C is the one of composite bodies (Echeandia and Wensing 2021): the force of the accelerations e × ρ̇ + (ω_j × e) × ρ that
one unit of rate adds along the motion.  With it Ṁ − 2C is skew-symmetric, and for coordinates whose rates are the
velocities it is the matrix of Christoffel symbols, C_ij = Σ Γ_ijk v_k.  Driven coordinates add forces of their own:
c = C v + g holds where nothing is driven, the skew symmetry always (Ṁ with the driven motion).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from ...symbolic.derivatives import jacobian, jvp, sparse_jacobian
from ...symbolic.expr import HALF, ONE, ZERO, Expr, add, mul, sub
from ...symbolic.vectors import NULL, Vector, scalar_product
from ..equations import project_wrenches
from .composite_body import composite_inertias, mass_matrix
from .derivatives import Table, composite_momenta, origin_rates, pair_tables
from .links import Field, Link, LinkMotion, Wrench
from .newton_euler import link_motions
from .rods import coriolis_coupling
from .tree import Tree


def coriolis_matrix(tree: Tree) -> Table:
    """C(q, v), nv×nv, with the velocity-dependent forces C v and Ṁ − 2C skew-symmetric.

    >>> import jourdain as jd
    >>> m = jd.Model("arm", gravity=(0, 0, 0))
    >>> upper, lower = m.body("upper", mass=1.0, com=(0.5, 0, 0)), m.body("lower", mass=1.0, com=(0.5, 0, 0))
    >>> shoulder, elbow = m.revolute("shoulder", m.ground, upper), m.revolute("elbow", upper.at(1, 0, 0), lower)
    >>> C = coriolis_matrix(Tree(m))
    >>> state = {shoulder.position: 0.0, elbow.position: 1.57, shoulder.velocity: 1.0, elbow.velocity: 0.0}
    >>> round(float(jd.evaluate(C[1][0], state)), 3)
    0.5
    """
    if tree.flexible:
        return _by_differentiation(tree)
    motions = link_motions(tree, gravity=False, acceleration=False)
    composites = composite_inertias(tree)
    rates = origin_rates(tree, motions)
    momenta = composite_momenta(tree, motions, composites, rates)
    tables = pair_tables(tree, [_fields(link, motions[link.index]) for link in tree.links], composites, momenta, rates)
    C = [[mul(HALF, e) for e in row] for row in tables[0]] if tables else []
    if tree.couplings:
        C = [[add(a, b) for a, b in zip(row, more, strict=True)] for row, more in zip(C, coriolis_coupling(tree), strict=True)]
    return C


def _by_differentiation(tree: Tree) -> Table:
    """½(Ṁ + ∂(M v)/∂q − (∂(M v)/∂q)ᵀ), the matrix of Christoffel symbols where q̇ = v."""
    _refuse_quaternions(tree, "the Coriolis matrix of a system with flexible bodies")
    n, M = tree.nv, mass_matrix(tree)
    flat = [M[i][j] for i in range(n) for j in range(n)]
    flow = dict(zip(tree.q, tree.v, strict=True)) | {tree.model.time: ONE}
    rates = jvp(flat, flow)
    slopes = jacobian([scalar_product(row, tree.v) for row in M], tree.q)
    return [[mul(HALF, add(rates[i * n + j], sub(slopes[i][j], slopes[j][i]))) for j in range(n)] for i in range(n)]


def _refuse_quaternions(tree: Tree, what: str) -> None:
    for c in tree.coordinates:
        if c.is_quaternion:
            raise InputError(
                f"{what}: the coordinate '{c.names[0].removesuffix('.e0')}' is a quaternion; choose an orientation sequence such as 'xyz' "
                "for its joint"
            )


def _fields(link: Link, motion: LinkMotion) -> list[list[Field]]:
    """Twice the accelerations that a unit of rate adds along the motion, and those of a unit of acceleration."""
    return [[f.by_rate(lambda e: motion.omega.cross(e) * 2.0), f.by_acceleration()] for f in link.freedoms]


def gravity_vector(tree: Tree) -> list[Expr]:
    """g(q): generalised forces that hold the system at rest against gravity, from composite first moments."""
    forces = [ZERO] * tree.nv
    composites = composite_inertias(tree)
    upwards: list[Vector] = []
    for link in tree.links:
        up = link.into(upwards[link.parent] if link.parent >= 0 else -tree.model.gravity)
        upwards.append(up)
        for freedom in link.freedoms:
            held = freedom.asked(*composites[link.index])[0].dot(up)
            forces[freedom.index] = add(forces[freedom.index], mul(freedom.ratio, held))
    if not tree.couplings:
        return forces
    return [sub(f, w) for f, w in zip(forces, project_wrenches(tree, coupled_weights(tree, upwards)), strict=True)]


def coupled_weights(tree: Tree, upwards: Sequence[Vector]) -> dict[int, Wrench]:
    """Weight that the couplings of rods with mass add to links, about their origins; ``upwards`` is −g in each link's axes."""
    found: dict[int, Wrench] = {}
    for c in tree.couplings:
        for i, s in ((c.a, c.moment_a), (c.b, c.moment_b)):
            if i >= 0:
                angle = tree.links[i].angle
                f, n = found.get(i, (NULL, NULL))
                found[i] = (f - upwards[i] * c.mass, n - (s if angle is None else angle.out(s)).cross(upwards[i]))
    return found


def christoffel(tree: Tree) -> list[Table]:
    """Christoffel symbols of the first kind Γ_ijk = ½(∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i), for small systems.

    The forces Σ Γ_ijk v_j v_k are those of the velocities; indices run as ``gamma[i][j][k]``.  Not defined for
    quaternions, whose velocities are not rates of coordinates.
    """
    _refuse_quaternions(tree, "Christoffel symbols")
    n, M = tree.nv, mass_matrix(tree)
    d = [[[ZERO] * n for _ in range(n)] for _ in range(n)]
    for (entry, k), value in sparse_jacobian([M[i][j] for i in range(n) for j in range(n)], tree.q).items():
        d[entry // n][entry % n][k] = value
    gamma = [[[ZERO] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(j + 1):
                value = mul(HALF, sub(add(d[i][j][k], d[i][k][j]), d[j][k][i]))
                gamma[i][j][k] = gamma[i][k][j] = value
    return gamma
