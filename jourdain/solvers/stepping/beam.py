"""Native loops over the points of a beam by directors: residual, tangent, energies; called as the compiled functions of an element type are.

At a point seven vectors y follow linearly from those of the nodes: x′, d₁, d₂, d₃, d₁′, d₂′, d₃′.  The strains Γᵢ = dᵢ·x′ and
K₁ = ½ (d₃·d₂′ − d₂·d₃′) … are products of these, hence ε₁ − ε₀ = B(q_{n+½}) Δq; forces are Bᵀ(q_{n+½}) of the mean resultants.
"""

from __future__ import annotations

from typing import Any

from ...native.call import doubles
from ...native.kernel import hot, kernel
from ...native.record import Integers, Record
from . import frame as ap
from .frame import SCALARS
from .solid import ELASTIC, KELVIN_VOIGT, STANDARD, Call
from .vectors import balance, compressed, inertial, reduced_matrix, reduced_residual


class BeamMedium(Record):
    """Sizes of an element type, where the scheme evaluates forces, which nodes have null spaces, and where work begins."""

    vectors: int
    points: int
    evaluation: int
    viscosity: int
    bodies: Integers
    projected: int
    unknowns: int
    inputs: int
    numbers: int
    work: int


# Work: vectors of a point at the start, at the end, where forces act; strains at the ends, resultants, their derivative; then areas by size.
START, END, ACTING, STRAINS, RESULTANT, SLOPE, CHANGE, AREA = 0, 21, 42, 63, 75, 81, 117, 123


def sizes(vectors: int, points: int) -> tuple[int, ...]:
    """Numbers of constants: shapes, lengths, natural strains, mass, weights, stiffness, viscosity with its relaxation time."""
    return 7 * vectors * points, points, 6 * points, vectors * vectors, 3 * vectors, 36, 37


def workspace(vectors: int) -> int:
    """Numbers that a call needs: B at two places, D B, geometric part, residual, places where forces act, matrix and its columns."""
    return AREA + 54 * vectors + vectors * vectors + 6 * vectors + 18 * vectors * vectors


@hot
def _vectors(q: Any, shapes: Any, vectors: int, y: Any) -> None:
    """y = Σ shapes · vectors."""
    for k in range(21):
        y[k] = 0.0
    for a in range(vectors):
        for k in range(7):
            s = shapes[7 * a + k]
            if s != 0.0:
                for i in range(3):
                    y[3 * k + i] += s * q[3 * a + i]


@hot
def _product(y: Any, a: int, b: int) -> float:
    return y[3 * a] * y[3 * b] + y[3 * a + 1] * y[3 * b + 1] + y[3 * a + 2] * y[3 * b + 2]


@hot
def _round(k: int) -> tuple[int, int]:
    """Directors (1 … 3) i and j of the curvature K_k = ½ (dⱼ·dᵢ′ − dᵢ·dⱼ′)."""
    return (2, 3) if k == 0 else (3, 1) if k == 1 else (1, 2)


@hot
def _strains(y: Any, natural: Any, e: Any) -> None:
    """Γ and K less those of the unstressed beam."""
    for k in range(3):
        i, j = _round(k)
        e[k] = _product(y, 0, k + 1) - natural[k]
        e[3 + k] = 0.5 * (_product(y, j, i + 3) - _product(y, i, j + 3)) - natural[3 + k]


@hot
def _operator(y: Any, shapes: Any, vectors: int, B: Any) -> None:
    """B (6 × 3 vectors): changes of the strains with the vectors."""
    n = 3 * vectors
    for a in range(vectors):
        s = shapes[7 * a :]
        for k in range(3):
            i, j = _round(k)
            for c in range(3):
                B[n * k + 3 * a + c] = s[0] * y[3 * (k + 1) + c] + s[k + 1] * y[c]
                B[n * (3 + k) + 3 * a + c] = 0.5 * (
                    s[j] * y[3 * (i + 3) + c] + s[i + 3] * y[3 * j + c] - s[i] * y[3 * (j + 3) + c] - s[j + 3] * y[3 * i + c]
                )


@hot
def _added(C: Any, x: Any, factor: float, y: Any) -> None:
    """y += factor · C x."""
    for i in range(6):
        for j in range(6):
            y[i] += factor * C[6 * i + j] * x[j]


@hot
def _branch(h: float, tau: float, z: float, e0: float, e1: float) -> tuple[float, float]:
    """The branch's strain at the end by the mid-point rule, and the mean of what stretches its spring."""
    rate = 0.5 * h / tau
    z1 = ((1.0 - rate) * z + rate * (e0 + e1)) / (1.0 + rate)
    return z1, 0.5 * (e0 - z + e1 - z1)


@hot
def _resultants(medium: BeamMedium, h: float, z: Any, first: int, C: Any, V: Any, w: Any) -> None:
    """Mean resultants (or those where the scheme evaluates) and their derivative by the strains at the end."""
    S, D, e0, e1, x = w[RESULTANT:], w[SLOPE:], w[STRAINS:], w[STRAINS + 6 :], w[CHANGE:]
    discrete = medium.evaluation == ap.DISCRETE
    factor, slope = 0.5 if discrete else 1.0, 0.0
    for i in range(6):
        S[i] = 0.0
    _added(C, e1, factor, S)
    if discrete:
        _added(C, e0, factor, S)
    if medium.viscosity == KELVIN_VOIGT:
        slope = 1.0 / h
        for i in range(6):
            x[i] = (e1[i] - e0[i]) / h
    elif medium.viscosity == STANDARD:
        slope = 0.5 / (1.0 + 0.5 * h / V[36])
        for i in range(6):
            _, x[i] = _branch(h, V[36], z[first + i], e0[i], e1[i])
    if medium.viscosity != ELASTIC:
        _added(V, x, 1.0, S)
    for i in range(36):
        D[i] = factor * C[i]
        if medium.viscosity != ELASTIC:
            D[i] += slope * V[i]


@hot
def _geometric(S: Any, shapes: Any, vectors: int, scale: float, K: Any) -> None:
    """Adds scale · Σ S ∂²ε, the same for each component."""
    n = 3 * vectors
    for a in range(vectors):
        s = shapes[7 * a :]
        for b in range(vectors):
            t = shapes[7 * b :]
            g = 0.0
            for k in range(3):
                i, j = _round(k)
                g += S[k] * (s[0] * t[k + 1] + s[k + 1] * t[0])
                g += 0.5 * S[3 + k] * (s[j] * t[i + 3] + s[i + 3] * t[j] - s[i] * t[j + 3] - s[j + 3] * t[i])
            if g != 0.0:
                for c in range(3):
                    K[n * (3 * a + c) + 3 * b + c] += scale * g


@hot
def _point(medium: BeamMedium, q0: Any, q1: Any, shapes: Any, natural: Any, theta: float, w: Any) -> None:
    """Vectors and strains of a point."""
    y0, y1, y = w[START:], w[END:], w[ACTING:]
    _vectors(q0, shapes, medium.vectors, y0)
    _vectors(q1, shapes, medium.vectors, y1)
    for k in range(21):
        y[k] = y0[k] + theta * (y1[k] - y0[k])
    if medium.evaluation != ap.DISCRETE:
        for k in range(21):
            y0[k] = y1[k] = y[k]
    _strains(y0, natural, w[STRAINS:])
    _strains(y1, natural, w[STRAINS + 6 :])


@hot
def _balanced(medium: BeamMedium, x: Any, out: Any, entries: Any, constants: Any, w: Any, tangent: bool) -> None:
    """Residual M (q₁ − q₀ − w) + κ (∫ BᵀS − weight) and its derivative, by the unknowns of the element."""
    v, g, n = medium.vectors, medium.points, 3 * medium.vectors
    h, kappa = x[0], x[2]
    theta = x[3] if medium.evaluation == ap.END else 0.5
    q0, q1, excess, z = x[SCALARS:], x[SCALARS + n :], x[SCALARS + 2 * n :], x[SCALARS + 4 * n :]
    lengths, naturals = constants[7 * v * g :], constants[7 * v * g + g :]
    mass, weights = constants[7 * v * g + 7 * g :], constants[7 * v * g + 7 * g + v * v :]
    C, V = constants[7 * v * g + 7 * g + v * v + n :], constants[7 * v * g + 7 * g + v * v + n + 36 :]
    B, B1, DB, r = w[AREA:], w[AREA + 6 * n :], w[AREA + 12 * n :], w[AREA + 18 * n :]
    acting, K = w[AREA + 19 * n :], w[AREA + 20 * n :]
    balance(v, kappa, mass, weights, excess, r, K, tangent)
    discrete = medium.evaluation == ap.DISCRETE
    material, geometric = 1.0 if discrete else theta, 0.5 if discrete else theta
    for p in range(g):
        shapes, scale = constants[7 * v * p :], kappa * lengths[p]
        _point(medium, q0, q1, shapes, naturals[6 * p :], theta, w)
        _resultants(medium, h, z, 6 * p, C, V, w)
        _operator(w[ACTING:], shapes, v, B)
        S, D = w[RESULTANT:], w[SLOPE:]
        for k in range(6):
            for a in range(n):
                r[a] += scale * S[k] * B[n * k + a]
        if tangent:
            _operator(w[END:], shapes, v, B1)
            for i in range(6):
                for a in range(n):
                    DB[n * i + a] = 0.0
                for j in range(6):
                    if D[6 * i + j] != 0.0:
                        for a in range(n):
                            DB[n * i + a] += D[6 * i + j] * B1[n * j + a]
            for k in range(6):
                for a in range(n):
                    f = scale * material * B[n * k + a]
                    for b in range(n):
                        K[n * a + b] += f * DB[n * k + b]
            _geometric(S, shapes, v, geometric * scale, K)
    for i in range(n):
        acting[i] = q0[i] + theta * (q1[i] - q0[i])
    reduced_residual(3, v, medium.bodies, medium.projected, acting, r, out)
    if tangent:
        columns = w[AREA + 20 * n + n * n :]
        compressed(3, v, medium.bodies, medium.projected, medium.unknowns, q1, K, columns)
        reduced_matrix(3, v, medium.bodies, medium.projected, medium.unknowns, acting, q1, theta, r, columns, entries)


@kernel
def beam_residual(address: int) -> int:
    """The residual of one element."""
    given = Call.at(address)
    medium = BeamMedium.at(given.medium)
    r = doubles(given.y, medium.unknowns)
    _balanced(
        medium, doubles(given.x, medium.inputs), r, r, doubles(given.third, medium.numbers), doubles(given.fourth, medium.work), False
    )
    return 0


@kernel
def beam_tangent(address: int) -> int:
    """The residual and its derivative by the unknowns."""
    given = Call.at(address)
    medium = BeamMedium.at(given.medium)
    r, K = doubles(given.y, medium.unknowns), doubles(given.third, medium.unknowns * medium.unknowns)
    _balanced(medium, doubles(given.x, medium.inputs), r, K, doubles(given.fourth, medium.numbers), doubles(given.fifth, medium.work), True)
    return 0


@hot
def _audited(medium: BeamMedium, x: Any, y: Any, z_end: Any, constants: Any, w: Any) -> None:
    """Energies and momenta at the end of the step; 1 in the last place if sections turn by a right angle between nodes, beyond which
    curvature would fall again."""
    v, g, n, h = medium.vectors, medium.points, 3 * medium.vectors, x[0]
    q0, q1, rates, z = x[SCALARS:], x[SCALARS + n :], x[SCALARS + 2 * n :], x[SCALARS + 4 * n :]
    lengths, naturals = constants[7 * v * g :], constants[7 * v * g + g :]
    mass, weights = constants[7 * v * g + 7 * g :], constants[7 * v * g + 7 * g + v * v :]
    C, V = constants[7 * v * g + 7 * g + v * v + n :], constants[7 * v * g + 7 * g + v * v + n + 36 :]
    for k in range(ap.AUDIT_SIZE):
        y[k] = 0.0
    inertial(v, v, 3, mass, weights, q1, rates, y)
    e0, e1, S, X = w[STRAINS:], w[STRAINS + 6 :], w[RESULTANT:], w[CHANGE:]
    for p in range(g):
        _point(medium, q0, q1, constants[7 * v * p :], naturals[6 * p :], 1.0, w)
        for k in range(6):
            S[k] = 0.0
        _added(C, e1, 0.5 * lengths[p], S)
        for k in range(6):
            y[1] += S[k] * e1[k]
            S[k] = 0.0
        if medium.viscosity == KELVIN_VOIGT:
            for k in range(6):
                X[k] = e1[k] - e0[k]
            _added(V, X, lengths[p] / h, S)
            for k in range(6):
                y[3] += S[k] * X[k]
        elif medium.viscosity == STANDARD:
            for k in range(6):
                z_end[6 * p + k], X[k] = _branch(h, V[36], z[6 * p + k], e0[k], e1[k])
            _added(V, X, lengths[p], S)
            for k in range(6):
                y[3] += S[k] * (z_end[6 * p + k] - z[6 * p + k])
                X[k], S[k] = e1[k] - z_end[6 * p + k], 0.0
            _added(V, X, 0.5 * lengths[p], S)
            for k in range(6):
                y[2] += S[k] * X[k]
        size = _product(w[END:], 1, 1) + _product(w[END:], 2, 2) + _product(w[END:], 3, 3)
        if not size > 2.0:
            y[ap.ASTRAY] = 1.0


@kernel
def beam_audit(address: int) -> int:
    """Energies and momenta of an element without history."""
    given = Call.at(address)
    medium = BeamMedium.at(given.medium)
    x, y = doubles(given.x, medium.inputs), doubles(given.y, ap.AUDIT_SIZE)
    _audited(medium, x, y, y, doubles(given.third, medium.numbers), doubles(given.fourth, medium.work))
    return 0


@kernel
def beam_history(address: int) -> int:
    """Energies and momenta of an element with history, and the history at the end of the step."""
    given = Call.at(address)
    medium = BeamMedium.at(given.medium)
    x, y, z_end = doubles(given.x, medium.inputs), doubles(given.y, ap.AUDIT_SIZE), doubles(given.third, medium.inputs)
    _audited(medium, x, y, z_end, doubles(given.fourth, medium.numbers), doubles(given.fifth, medium.work))
    return 0
