"""Native loops over the quadrature points of a solid: forces ∫ BᵀS, their derivative ∫ BᵀDB with the geometric part, and energies.

Each is called as the compiled function of an element type is, ``int32_t f(void **args)``: packed input, results, constants, work.  Behind
them stands the medium: sizes and the compiled law of a point.  The derivative is formed through the tangent
A = ∂(F S)/∂F (9 × 9), K_{ai,bj} = ∫ G_{aJ} A_{iJjL} G_{bL} with the gradients G of the interpolation.

Strains may be enhanced by modes of the element's own, Ê = E + M α with ∫ MᵀS̄ = 0, which is solved within the element: then
∫ S̄ : ΔÊ = ∫ S̄ : ΔE, and the energy stays exact.  Vectors are the nodes' places, or origin and directors of bodies that carry nodes; the null
spaces of such bodies are applied at the end (:mod:`.vectors`).  In the plane vectors have two components, and F₃₃ = 1.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import hot, jit, kernel
from ...native.record import Address, Integers, Record
from . import frame as ap
from .frame import SCALARS
from .vectors import balance, compressed, inertial, reduced_matrix, reduced_residual

#: Viscosities: none, a dashpot beside the law, a Maxwell branch.
ELASTIC, KELVIN_VOIGT, STANDARD = range(3)
#: Change of enhanced strains after which the next is below rounding (Newton's method converges quadratically), and the most iterations.
SETTLED, ITERATIONS = 1e-10, 25


class Medium(Record):
    """Sizes of an element type; where the scheme evaluates forces; functions of a point; where constants and work begin."""

    vectors: int
    dimension: int
    points: int
    evaluation: int
    modes: int
    viscosity: int
    linear: int  # whether stress is linear in strain
    bodies: Integers  # 1 where a body's null space is taken, 0 where it is not
    projected: int
    unknowns: int
    inputs: int
    numbers: int
    work: int
    stress: Address
    tangent: Address
    energy: Address
    principal: Address  # what functions of principal stretches are given besides
    enhancement_at: int
    viscosity_at: int
    stress_at: int
    tangent_at: int
    energy_at: int
    left_at: int
    right_at: int
    expanded_at: int
    matrix_at: int
    law_at: int


class Call(Record):
    """The arguments of a kernel: those of a tangent have its entries in third place, those of an audit with history its end."""

    x: Address
    y: Address
    third: Address
    fourth: Address
    fifth: Address
    medium: Address


# Work of a point: arguments of its law, strains at both ends, S, D, F where forces act, F₀, F at the end, A, enhanced strains, their defect and
# its derivative, then areas whose size depends on the element.
ARGUMENTS, STRAINS, STRESS, SLOPE, ACTING, START, END, TANGENT, ALPHA, DEFECT, OWN, AREA = 0, 8, 20, 26, 62, 71, 80, 89, 170, 179, 188, 269


def geometry_size(vectors: int, points: int) -> int:
    """Constants of an element before those of enhanced strains: gradients, volumes, mass, weights of the vectors."""
    return 3 * vectors * points + points + vectors * vectors + 3 * vectors


@hot
def _deformation(q: Any, G: Any, nodes: int, F: Any) -> None:
    """F_iJ = Σ q_ai G_aJ."""
    for k in range(9):
        F[k] = 0.0
    for a in range(nodes):
        for i in range(3):
            for j in range(3):
                F[3 * i + j] += q[3 * a + i] * G[3 * a + j]


@hot
def _strain(F: Any, E: Any) -> None:
    """E₁₁, E₂₂, E₃₃, 2E₁₂, 2E₂₃, 2E₁₃."""
    for j in range(3):
        E[j] = 0.5 * (F[j] * F[j] + F[3 + j] * F[3 + j] + F[6 + j] * F[6 + j] - 1.0)
    E[3] = F[0] * F[1] + F[3] * F[4] + F[6] * F[7]
    E[4] = F[1] * F[2] + F[4] * F[5] + F[7] * F[8]
    E[5] = F[0] * F[2] + F[3] * F[5] + F[6] * F[8]


@hot
def _law(medium: Medium, function: int, constants: Any, w: Any, tangent: bool) -> None:
    """Stress, and its derivative, from the strains."""
    args = words(at(w[ARGUMENTS:]), 8)
    args[0], args[1] = at(w[STRAINS:]), at(w[STRESS:])
    if tangent:
        args[2], args[3], args[4] = at(w[SLOPE:]), at(constants), at(w[medium.law_at :])
    else:
        args[2], args[3] = at(constants), at(w[medium.law_at :])
    args[5] = medium.principal
    call(function, args)


@hot
def _isotropic(lame: float, shear: float, X: Any, S: Any) -> None:
    """S += λ tr X 1 + 2μ X, where X has doubled shear components."""
    trace = lame * (X[0] + X[1] + X[2])
    for k in range(3):
        S[k] += trace + 2.0 * shear * X[k]
        S[3 + k] += shear * X[3 + k]


@hot
def _branch(h: float, c: Any, z: float, w: Any, k: int) -> tuple[float, float]:
    """A₁ of Ȧ = (E − A)/τ by the mid-point rule, and the mean of E − A, of one component."""
    rate = 0.5 * h / c[2]
    E0, E1 = w[STRAINS + k], w[STRAINS + 6 + k]
    A1 = ((1.0 - rate) * z + rate * (E0 + E1)) / (1.0 + rate)
    return A1, 0.5 * (E0 - z + E1 - A1)


@hot
def _viscous(medium: Medium, h: float, c: Any, z: Any, first: int, w: Any, tangent: bool) -> None:
    """Adds what viscosity gives to S and ∂S/∂E₁."""
    X, S, D = w[TANGENT:], w[STRESS:], w[SLOPE:]
    slope = 1.0 / h
    for k in range(6):
        X[k] = (w[STRAINS + 6 + k] - w[STRAINS + k]) / h
        if medium.viscosity == STANDARD:
            _, X[k] = _branch(h, c, z[first + k], w, k)
            slope = 0.5 / (1.0 + 0.5 * h / c[2])
    _isotropic(c[0], c[1], X, S)
    if tangent:
        for k in range(3):
            for j in range(3):
                D[6 * k + j] += slope * c[0]
            D[7 * k] += 2.0 * slope * c[1]
            D[7 * (3 + k)] += slope * c[1]


@hot
def _point(medium: Medium, q0: Any, q1: Any, z: Any, constants: Any, p: int, theta: float, w: Any) -> None:
    """Strains, F where forces act and F by which the strain at the end changes."""
    n, m = medium.vectors, medium.modes
    G, F, F0, F1 = constants[3 * n * p :], w[ACTING:], w[START:], w[END:]
    _deformation(q0, G, n, F0)
    _deformation(q1, G, n, F1)
    F0[8] += 3.0 - medium.dimension
    F1[8] += 3.0 - medium.dimension
    if medium.evaluation == ap.DISCRETE:
        for k in range(9):
            F[k] = 0.5 * (F0[k] + F1[k])
        _strain(F0, w[STRAINS:])
    else:
        for k in range(9):
            F[k] = F0[k] + theta * (F1[k] - F0[k])
            F1[k] = F[k]
        _strain(F, w[STRAINS:])
    _strain(F1, w[STRAINS + 6 :])
    if m > 0:
        M = constants[medium.enhancement_at + 6 * m * p :]
        for k in range(6):
            for i in range(m):
                w[STRAINS + k] += M[m * k + i] * z[i]
                w[STRAINS + 6 + k] += M[m * k + i] * w[ALPHA + i]


@hot
def _stressed(medium: Medium, q0: Any, q1: Any, z: Any, h: float, theta: float, constants: Any, p: int, w: Any, tangent: bool) -> None:
    """Strains, stress and perhaps its derivative of a point."""
    _point(medium, q0, q1, z, constants, p, theta, w)
    if tangent:
        _law(medium, medium.tangent, constants[medium.tangent_at :], w, True)
    else:
        _law(medium, medium.stress, constants[medium.stress_at :], w, False)
    if medium.viscosity != ELASTIC:
        _viscous(medium, h, constants[medium.viscosity_at :], z, medium.modes + 6 * p, w, tangent)


@hot
def _own(medium: Medium, M: Any, volume: float, w: Any, defect: bool) -> None:
    """Adds ∫ MᵀDM, and ∫ MᵀS if it is asked for; DM stays in the work of the tangent."""
    m, S, D, DM = medium.modes, w[STRESS:], w[SLOPE:], w[TANGENT:]
    for k in range(6):
        for j in range(m):
            DM[m * k + j] = 0.0
        for c in range(6):
            for j in range(m):
                DM[m * k + j] += D[6 * k + c] * M[m * c + j]
    for k in range(6):
        for i in range(m):
            share = volume * M[m * k + i]
            if share != 0.0:  # each mode has three strains
                if defect:
                    w[DEFECT + i] += share * S[k]
                for j in range(m):
                    w[OWN + m * i + j] += share * DM[m * k + j]


@jit
def _eliminated(H: Any, n: int, b: Any, columns: int) -> None:
    """b (n × columns) becomes H⁻¹ b; H is lost (elimination with partial pivots)."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(H[n * i + k]) > abs(H[n * best + k]):
                best = i
        if best != k:
            for j in range(n):
                H[n * k + j], H[n * best + j] = H[n * best + j], H[n * k + j]
            for j in range(columns):
                b[columns * k + j], b[columns * best + j] = b[columns * best + j], b[columns * k + j]
        for i in range(k + 1, n):
            f = H[n * i + k] / H[n * k + k]
            for j in range(k + 1, n):
                H[n * i + j] -= f * H[n * k + j]
            for j in range(columns):
                b[columns * i + j] -= f * b[columns * k + j]
    for k in range(n - 1, -1, -1):
        for j in range(columns):
            for i in range(k + 1, n):
                b[columns * k + j] -= H[n * k + i] * b[columns * i + j]
            b[columns * k + j] /= H[n * k + k]


@jit
def _enhanced(medium: Medium, q0: Any, q1: Any, z: Any, h: float, theta: float, constants: Any, w: Any) -> None:
    """α of ∫ MᵀS = 0 by Newton's method from the value at the start of the step."""
    m, g, n = medium.modes, medium.points, 3 * medium.vectors
    for i in range(m):
        w[ALPHA + i] = z[i]
    change, count = 1.0, 0
    most = 1 if medium.linear == 1 else ITERATIONS
    while change > SETTLED and count < most:
        for i in range(m):
            w[DEFECT + i] = 0.0
        for i in range(m * m):
            w[OWN + i] = 0.0
        for p in range(g):
            _stressed(medium, q0, q1, z, h, theta, constants, p, w, True)
            _own(medium, constants[medium.enhancement_at + 6 * m * p :], constants[n * g + p], w, True)
        _eliminated(w[OWN:], m, w[DEFECT:], 1)
        change, count = 0.0, count + 1
        for i in range(m):
            w[ALPHA + i] -= w[DEFECT + i]
            change = max(change, abs(w[DEFECT + i]))


@hot
def _forces(F: Any, S: Any, G: Any, nodes: int, scale: float, r: Any) -> None:
    """r_ai += scale · (F S)_iJ G_aJ."""
    for i in range(3):
        p0 = scale * (F[3 * i] * S[0] + F[3 * i + 1] * S[3] + F[3 * i + 2] * S[5])
        p1 = scale * (F[3 * i] * S[3] + F[3 * i + 1] * S[1] + F[3 * i + 2] * S[4])
        p2 = scale * (F[3 * i] * S[5] + F[3 * i + 1] * S[4] + F[3 * i + 2] * S[2])
        for a in range(nodes):
            r[3 * a + i] += p0 * G[3 * a] + p1 * G[3 * a + 1] + p2 * G[3 * a + 2]


@hot
def _moduli(w: Any, material: float, geometric: float) -> None:
    """A_iJjL = material · L(F)ᵀ D L(F₁) + geometric · δ_ij S_JL, where L takes changes of F to those of strain."""
    F, F1, S, D, A = w[ACTING:], w[END:], w[STRESS:], w[SLOPE:], w[TANGENT:]
    for c in range(81):
        A[c] = 0.0
    for k in range(6):
        row = D[6 * k :]
        # where the k-th strain acts: pairs (J, I) with A_iJ += F_iI · row
        first, second = (k, k) if k < 3 else (0, 1) if k == 3 else (1, 2) if k == 4 else (0, 2)
        for j in range(3):
            f0, f1, f2 = F1[3 * j], F1[3 * j + 1], F1[3 * j + 2]
            u0 = material * (row[0] * f0 + row[3] * f1 + row[5] * f2)
            u1 = material * (row[1] * f1 + row[3] * f0 + row[4] * f2)
            u2 = material * (row[2] * f2 + row[4] * f1 + row[5] * f0)
            for i in range(3):
                to = A[27 * i + 9 * first + 3 * j :]
                f = F[3 * i + second]
                to[0] += f * u0
                to[1] += f * u1
                to[2] += f * u2
                if k > 2:
                    to = A[27 * i + 9 * second + 3 * j :]
                    f = F[3 * i + first]
                    to[0] += f * u0
                    to[1] += f * u1
                    to[2] += f * u2
    for i in range(3):
        to = A[27 * i + 3 * i :]
        to[0] += geometric * S[0]
        to[1] += geometric * S[3]
        to[2] += geometric * S[5]
        to[9] += geometric * S[3]
        to[10] += geometric * S[1]
        to[11] += geometric * S[4]
        to[18] += geometric * S[5]
        to[19] += geometric * S[4]
        to[20] += geometric * S[2]


@hot
def _stiffness(A: Any, G: Any, nodes: int, scale: float, K: Any) -> None:
    """K_{ai,bj} += scale · G_aJ A_iJjL G_bL."""
    n = 3 * nodes
    for a in range(nodes):
        g0, g1, g2 = scale * G[3 * a], scale * G[3 * a + 1], scale * G[3 * a + 2]
        for i in range(3):
            A0, A1, A2, row = A[27 * i :], A[27 * i + 9 :], A[27 * i + 18 :], K[(3 * a + i) * n :]
            for j in range(3):
                h0 = g0 * A0[3 * j] + g1 * A1[3 * j] + g2 * A2[3 * j]
                h1 = g0 * A0[3 * j + 1] + g1 * A1[3 * j + 1] + g2 * A2[3 * j + 1]
                h2 = g0 * A0[3 * j + 2] + g1 * A1[3 * j + 2] + g2 * A2[3 * j + 2]
                for b in range(nodes):
                    row[3 * b + j] += h0 * G[3 * b] + h1 * G[3 * b + 1] + h2 * G[3 * b + 2]


@hot
def _sides(medium: Medium, M: Any, G: Any, scale: float, volume: float, w: Any) -> None:
    """Adds κ ∫ BᵀDM and ∫ MᵀDB, by which enhanced strains are condensed; DM stands in the work of the tangent."""
    m, n, D = medium.modes, 3 * medium.vectors, w[SLOPE:]
    DM, column, row = w[TANGENT:], w[TANGENT + 6 * medium.modes :], w[TANGENT + 6 * medium.modes + 6 :]
    for i in range(m):
        for k in range(6):
            column[k], row[k] = DM[m * k + i], 0.0
            for c in range(6):
                row[k] += D[6 * c + k] * M[m * c + i]
        _forces(w[ACTING:], column, G, medium.vectors, scale, w[medium.left_at + n * i :])
        _forces(w[END:], row, G, medium.vectors, volume, w[medium.right_at + n * i :])


@hot
def _evaluated(
    medium: Medium, q0: Any, q1: Any, excess: Any, z: Any, x: Any, r: Any, K: Any, constants: Any, w: Any, tangent: bool
) -> None:
    """Residual M (q₁ − q₀ − w) + κ (∫ BᵀS − weight), and its derivative."""
    a, n, g, m = medium.vectors, 3 * medium.vectors, medium.points, medium.modes
    h, kappa = x[0], x[2]
    volumes, mass = constants[n * g :], constants[n * g + g :]
    weights = constants[n * g + g + a * a :]
    theta = x[3] if medium.evaluation == ap.END else 0.5
    balance(a, kappa, mass, weights, excess, r, K, tangent)
    discrete = medium.evaluation == ap.DISCRETE
    material, geometric = 1.0 if discrete else theta, 0.5 if discrete else theta
    if m > 0:
        _enhanced(medium, q0, q1, z, h, theta, constants, w)
        if tangent:
            for i in range(m * m):
                w[OWN + i] = 0.0
            for i in range(m * n):
                w[medium.left_at + i] = w[medium.right_at + i] = 0.0
    for p in range(g):
        G, M, scale = constants[p * n :], constants[medium.enhancement_at + 6 * m * p :], kappa * volumes[p]
        _stressed(medium, q0, q1, z, h, theta, constants, p, w, tangent)
        _forces(w[ACTING:], w[STRESS:], G, a, scale, r)
        if tangent:
            _moduli(w, material, geometric)
            _stiffness(w[TANGENT:], G, a, scale, K)
            if m > 0:
                _own(medium, M, volumes[p], w, False)
                _sides(medium, M, G, scale, material * volumes[p], w)
    if tangent and m > 0:
        _eliminated(w[OWN:], m, w[medium.right_at :], n)
        for c in range(m):
            left, right = w[medium.left_at + n * c :], w[medium.right_at + n * c :]
            for i in range(n):
                for j in range(n):
                    K[i * n + j] -= left[i] * right[j]


@jit
def _expanded(x: Any, vectors: int, y: Any) -> None:
    """Vectors of the plane as vectors of space."""
    for k in range(vectors):
        y[3 * k], y[3 * k + 1], y[3 * k + 2] = x[2 * k], x[2 * k + 1], 0.0


@hot
def _in_space(medium: Medium, q0: Any, q1: Any, excess: Any, e0: Any, e1: Any, e2: Any) -> None:
    """Places at both ends and the excess with three numbers a vector."""
    if medium.dimension == 2:
        _expanded(q0, medium.vectors, e0)
        _expanded(q1, medium.vectors, e1)
        _expanded(excess, medium.vectors, e2)
    else:
        for i in range(3 * medium.vectors):
            e0[i], e1[i], e2[i] = q0[i], q1[i], excess[i]


@hot
def _balanced(medium: Medium, x: Any, y: Any, entries: Any, constants: Any, w: Any, tangent: bool) -> None:
    """Residual and derivative by the unknowns of an element: of vectors of the plane or of bodies with null spaces through those in space."""
    n = medium.dimension * medium.vectors
    q0, q1, excess, z = x[SCALARS:], x[SCALARS + n :], x[SCALARS + 2 * n :], x[SCALARS + 4 * n :]
    if medium.dimension == 3 and medium.bodies.size == 0:
        _evaluated(medium, q0, q1, excess, z, x, y, entries, constants, w, tangent)
        return
    v = 3 * medium.vectors
    e0, e1, e2 = w[medium.expanded_at :], w[medium.expanded_at + v :], w[medium.expanded_at + 2 * v :]
    acting, r, K = w[medium.expanded_at + 3 * v :], w[medium.expanded_at + 4 * v :], w[medium.matrix_at :]
    _in_space(medium, q0, q1, excess, e0, e1, e2)
    _evaluated(medium, e0, e1, e2, z, x, r, K, constants, w, tangent)
    theta = x[3] if medium.evaluation == ap.END else 0.5
    for i in range(v):
        acting[i] = e0[i] + theta * (e1[i] - e0[i])
    reduced_residual(medium.dimension, medium.vectors, medium.bodies, medium.projected, acting, r, y)
    if tangent:
        columns = w[medium.matrix_at + v * v :]
        compressed(medium.dimension, medium.vectors, medium.bodies, medium.projected, medium.unknowns, e1, K, columns)
        reduced_matrix(
            medium.dimension, medium.vectors, medium.bodies, medium.projected, medium.unknowns, acting, e1, theta, r, columns, entries
        )


@kernel
def solid_residual(address: int) -> int:
    """The residual of one element."""
    given = Call.at(address)
    medium = Medium.at(given.medium)
    r = doubles(given.y, medium.unknowns)
    _balanced(
        medium, doubles(given.x, medium.inputs), r, r, doubles(given.third, medium.numbers), doubles(given.fourth, medium.work), False
    )
    return 0


@kernel
def solid_tangent(address: int) -> int:
    """The residual and its derivative by the places at the end."""
    given = Call.at(address)
    medium = Medium.at(given.medium)
    r, K = doubles(given.y, medium.unknowns), doubles(given.third, medium.unknowns * medium.unknowns)
    _balanced(medium, doubles(given.x, medium.inputs), r, K, doubles(given.fourth, medium.numbers), doubles(given.fifth, medium.work), True)
    return 0


@hot
def _dissipated(medium: Medium, h: float, c: Any, z: Any, z_end: Any, first: int, volume: float, w: Any, y: Any) -> None:
    """Energy of the branch and what the step dissipates; the branch's strain at the end goes into the history."""
    X, S = w[TANGENT:], w[TANGENT + 6 :]
    E0, E1 = w[STRAINS:], w[STRAINS + 6 :]
    for k in range(6):
        S[k] = 0.0
    if medium.viscosity == KELVIN_VOIGT:
        for k in range(6):
            X[k] = (E1[k] - E0[k]) / h
        _isotropic(c[0], c[1], X, S)
        for k in range(6):
            y[3] += volume * S[k] * (E1[k] - E0[k])
    else:
        for k in range(6):
            z_end[first + k], X[k] = _branch(h, c, z[first + k], w, k)
        _isotropic(c[0], c[1], X, S)
        for k in range(6):
            y[3] += volume * S[k] * (z_end[first + k] - z[first + k])
            X[k], S[k] = E1[k] - z_end[first + k], 0.0
        _isotropic(c[0], c[1], X, S)
        for k in range(6):
            y[2] += 0.5 * volume * S[k] * X[k]


@hot
def _audited(medium: Medium, x: Any, y: Any, z_end: Any, constants: Any, w: Any) -> None:
    """Energies and momenta at the end of the step, where the excess holds the velocities; 1 in the last place if a point is inside out."""
    n, v, g, m = medium.dimension * medium.vectors, 3 * medium.vectors, medium.points, medium.modes
    e0, e1, e2 = w[medium.expanded_at :], w[medium.expanded_at + v :], w[medium.expanded_at + 2 * v :]
    q0, q1, excess, z = x[SCALARS:], x[SCALARS + n :], x[SCALARS + 2 * n :], x[SCALARS + 4 * n :]
    _in_space(medium, q0, q1, excess, e0, e1, e2)
    for k in range(ap.AUDIT_SIZE):
        y[k] = 0.0
    mass, weights = constants[v * g + g :], constants[v * g + g + medium.vectors * medium.vectors :]
    inertial(medium.vectors, medium.bodies.size * (medium.dimension + 1), medium.dimension, mass, weights, e1, e2, y)
    if m > 0:
        _enhanced(medium, e0, e1, z, x[0], 1.0, constants, w)
        for i in range(m):
            z_end[i] = w[ALPHA + i]
    F, args = w[END:], words(at(w[ARGUMENTS:]), 8)
    for p in range(g):
        volume = constants[v * g + p]
        _point(medium, e0, e1, z, constants, p, 1.0, w)
        if medium.viscosity != ELASTIC:
            _dissipated(medium, x[0], constants[medium.viscosity_at :], z, z_end, m + 6 * p, volume, w, y)
        args[0], args[1], args[2], args[3] = at(w[STRAINS:]), at(w[STRESS:]), at(constants[medium.energy_at :]), at(w[medium.law_at :])
        args[5] = medium.principal
        call(medium.energy, args)
        y[1] += volume * w[STRESS]
        det = F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6])
        if not det > 0.0:
            y[ap.ASTRAY] = 1.0


@kernel
def solid_audit(address: int) -> int:
    """Energies and momenta of an element without history."""
    given = Call.at(address)
    medium = Medium.at(given.medium)
    x, y = doubles(given.x, medium.inputs), doubles(given.y, ap.AUDIT_SIZE)
    _audited(medium, x, y, y, doubles(given.third, medium.numbers), doubles(given.fourth, medium.work))
    return 0


@kernel
def solid_history(address: int) -> int:
    """Energies and momenta of an element with history, and the history at the end of the step."""
    given = Call.at(address)
    medium = Medium.at(given.medium)
    x, y, z_end = doubles(given.x, medium.inputs), doubles(given.y, ap.AUDIT_SIZE), doubles(given.third, medium.inputs)
    _audited(medium, x, y, z_end, doubles(given.fourth, medium.numbers), doubles(given.fifth, medium.work))
    return 0
