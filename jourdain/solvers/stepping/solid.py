"""Native loops over the quadrature points of a solid: forces ∫ BᵀS, their derivative ∫ BᵀDB with the geometric part, and energies.

Each is called as the compiled function of an element type is, ``int32_t f(void **args)``: packed input, results, constants, work.  Behind
them stands the medium: sizes and the compiled law of a point.  The derivative is formed through the tangent
A = ∂(F S)/∂F (9 × 9), K_{ai,bj} = ∫ G_{aJ} A_{iJjL} G_{bL} with the gradients G of the interpolation.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import hot, kernel
from ...native.record import Address, Record
from . import frame as ap
from .frame import SCALARS


class Medium(Record):
    """Nodes, points, where the scheme evaluates forces; functions of a point and where their constants begin behind those of the geometry."""

    nodes: int
    points: int
    evaluation: int
    stress: Address
    tangent: Address
    energy: Address
    stress_at: int
    tangent_at: int
    energy_at: int


class Call(Record):
    """The arguments of a kernel: those of a tangent have its entries in third place."""

    x: Address
    y: Address
    third: Address
    fourth: Address
    fifth: Address
    medium: Address


# Work of a point: arguments of its law, strains at both ends, S, D, F where forces act, F₀, F at the end, A, then that of the law.
ARGUMENTS, STRAINS, STRESS, SLOPE, ACTING, START, END, TANGENT, LAW = 0, 8, 20, 26, 62, 71, 80, 89, 170


def geometry_size(nodes: int, points: int) -> int:
    """Constants of an element before those of its law: gradients, volumes, mass, weights of the nodes."""
    return 3 * nodes * points + points + nodes * nodes + 3 * nodes


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
def _law(function: int, constants: Any, w: Any, tangent: bool) -> None:
    """Stress, and its derivative, from the strains."""
    args = words(at(w[ARGUMENTS:]), 8)
    args[0], args[1] = at(w[STRAINS:]), at(w[STRESS:])
    if tangent:
        args[2], args[3], args[4] = at(w[SLOPE:]), at(constants), at(w[LAW:])
    else:
        args[2], args[3] = at(constants), at(w[LAW:])
    call(function, args)


@hot
def _point(medium: Medium, q0: Any, q1: Any, G: Any, theta: float, w: Any) -> None:
    """Strains, F where forces act and F by which the strain at the end changes."""
    F, F0, F1 = w[ACTING:], w[START:], w[END:]
    _deformation(q0, G, medium.nodes, F0)
    _deformation(q1, G, medium.nodes, F1)
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
def _evaluated(medium: Medium, x: Any, r: Any, K: Any, constants: Any, w: Any, tangent: bool) -> None:
    """Residual M (q₁ − q₀ − w) + κ (∫ BᵀS − weight), and its derivative."""
    a, n, g = medium.nodes, 3 * medium.nodes, medium.points
    kappa = x[2]
    q0, q1, excess = x[SCALARS:], x[SCALARS + n :], x[SCALARS + 2 * n :]
    volumes, mass = constants[n * g :], constants[n * g + g :]
    weights = constants[n * g + g + a * a :]
    theta = x[3] if medium.evaluation == ap.END else 0.5
    if tangent:
        for c in range(n * n):
            K[c] = 0.0
    for b in range(a):
        for i in range(3):
            r[3 * b + i] = -kappa * weights[3 * b + i]
            for c in range(a):
                r[3 * b + i] += mass[b * a + c] * excess[3 * c + i]
                if tangent:
                    K[(3 * b + i) * n + 3 * c + i] = mass[b * a + c]
    discrete = medium.evaluation == ap.DISCRETE
    for p in range(g):
        G, scale = constants[p * n :], kappa * volumes[p]
        _point(medium, q0, q1, G, theta, w)
        if tangent:
            _law(medium.tangent, constants[medium.tangent_at :], w, True)
            _moduli(w, 1.0 if discrete else theta, 0.5 if discrete else theta)
            _stiffness(w[TANGENT:], G, a, scale, K)
        else:
            _law(medium.stress, constants[medium.stress_at :], w, False)
        _forces(w[ACTING:], w[STRESS:], G, a, scale, r)


@kernel
def solid_residual(address: int) -> int:
    """The residual of one element."""
    given = Call.at(address)
    medium = Medium.at(given.medium)
    r = doubles(given.y, 3 * medium.nodes)
    _evaluated(medium, doubles(given.x, 1), r, r, doubles(given.third, 1), doubles(given.fourth, 1), False)
    return 0


@kernel
def solid_tangent(address: int) -> int:
    """The residual and its derivative by the places at the end."""
    given = Call.at(address)
    medium = Medium.at(given.medium)
    r, K = doubles(given.y, 3 * medium.nodes), doubles(given.third, 1)
    _evaluated(medium, doubles(given.x, 1), r, K, doubles(given.fourth, 1), doubles(given.fifth, 1), True)
    return 0


@kernel
def solid_audit(address: int) -> int:
    """Energies and momenta at the end of the step, where the excess holds the velocities."""
    given = Call.at(address)
    medium = Medium.at(given.medium)
    x, y, constants, w = doubles(given.x, 1), doubles(given.y, ap.AUDIT_SIZE), doubles(given.third, 1), doubles(given.fourth, 1)
    a, n, g = medium.nodes, 3 * medium.nodes, medium.points
    q1, v = x[SCALARS + n :], x[SCALARS + 2 * n :]
    volumes, mass = constants[n * g :], constants[n * g + g :]
    weights, F, args = constants[n * g + g + a * a :], w[END:], words(at(w[ARGUMENTS:]), 8)
    for k in range(ap.AUDIT_SIZE):
        y[k] = 0.0
    for b in range(a):
        p0, p1, p2 = 0.0, 0.0, 0.0
        for c in range(a):
            m = mass[b * a + c]
            p0 += m * v[3 * c]
            p1 += m * v[3 * c + 1]
            p2 += m * v[3 * c + 2]
        q, u = q1[3 * b :], v[3 * b :]
        y[0] += 0.5 * (p0 * u[0] + p1 * u[1] + p2 * u[2])
        y[1] -= weights[3 * b] * q[0] + weights[3 * b + 1] * q[1] + weights[3 * b + 2] * q[2]
        y[5] += p0
        y[6] += p1
        y[7] += p2
        y[8] += q[1] * p2 - q[2] * p1
        y[9] += q[2] * p0 - q[0] * p2
        y[10] += q[0] * p1 - q[1] * p0
    for p in range(g):
        _deformation(q1, constants[p * n :], a, F)
        _strain(F, w[STRAINS + 6 :])
        args[0], args[1], args[2], args[3] = at(w[STRAINS:]), at(w[STRESS:]), at(constants[medium.energy_at :]), at(w[LAW:])
        call(medium.energy, args)
        y[1] += volumes[p] * w[STRESS]
    return 0
