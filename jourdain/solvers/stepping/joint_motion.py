"""Finite motions of the tree of pairs of an assembled system, and the first guess of a step in joint coordinates."""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from . import joint_space as sp
from .frame import Frame
from .joint_space import JointFrame


@jit
def _turn(m: Any, x: float, y: float, z: float) -> Any:
    """(Q − 1) x for the unit quaternion m."""
    a, b, c = m[2] * z - m[3] * y, m[3] * x - m[1] * z, m[1] * y - m[2] * x
    return (
        2.0 * (m[0] * a + m[2] * c - m[3] * b), 2.0 * (m[0] * b + m[3] * a - m[1] * c), 2.0 * (m[0] * c + m[1] * b - m[2] * a)
    )  # fmt: skip


@jit
def _turned_by(m: Any, x: float, y: float, z: float) -> None:
    """Puts a further rotation by the vector (x, y, z) after the rotation m."""
    angle = math.sqrt(x * x + y * y + z * z)
    s = math.sin(0.5 * angle) / angle if angle > 1e-8 else 0.5 - angle * angle / 48.0
    _after(m, math.cos(0.5 * angle), s * x, s * y, s * z)


@jit
def _after(m: Any, a: float, x: float, y: float, z: float) -> None:
    """m ← (a, x, y, z) m, quaternions."""
    b, u, v, w = m[0], m[1], m[2], m[3]
    m[0] = a * b - x * u - y * v - z * w
    m[1] = a * u + x * b + y * w - z * v
    m[2] = a * v - x * w + y * b + z * u
    m[3] = a * w + x * v - y * u + z * b


@jit
def _elementary(js: JointFrame, j: int, p: Any, amount: float, body: Any, m: Any) -> None:
    """Moves a body (its point less the displacement in m, its rotation) by one freedom: a turn about p, then a translation."""
    f = sp.freedom(js, sp.AT_END, j)
    part = js.scratch[8:]
    part[0], part[1], part[2], part[3] = 1.0, 0.0, 0.0, 0.0
    _turned_by(part, amount * f[0], amount * f[1], amount * f[2])
    x, y, z = _turn(part, body[0] + m[4] - p[0], body[1] + m[5] - p[1], body[2] + m[6] - p[2])
    m[4], m[5], m[6] = m[4] + x + amount * f[3], m[5] + y + amount * f[4], m[6] + z + amount * f[5]
    _after(m, part[0], part[1], part[2], part[3])


@jit
def _together(js: JointFrame, first: int, p: Any, w: Any, body: Any, m: Any) -> None:
    """Moves a body by a turn about p whose vector is the sum of three freedoms."""
    x = y = z = 0.0
    for j in range(first, first + 3):
        f = sp.freedom(js, sp.AT_END, j)
        x, y, z = x + w[j] * f[0], y + w[j] * f[1], z + w[j] * f[2]
    _turned_by(m, x, y, z)
    a, b, c = _turn(m, body[0] - p[0], body[1] - p[1], body[2] - p[2])
    m[4], m[5], m[6] = a, b, c


@jit
def finite_motion(frame: Frame, js: JointFrame, q: Any, w: Any, delta: Any) -> None:
    """Increments of all bodies of the tree for finite increments w of its joints from the configuration q (joint vectors of sp.AT_END).

    Every joint moves what lies beyond it as a rigid body, so all its constraints stay as they are; the result is written as the
    displacement and the Cayley vector that the bodies' own retraction takes.
    """
    body, other = js.scratch, js.scratch[3:]
    for i in range(len(js.nodes)):
        node, p, m = js.nodes[i], sp.point(js, sp.AT_END, i), js.motion[8 * i :]
        u, d, c, first, count = node.unknown, node.dimension, node.coordinate, node.first, node.count
        for a in range(3):
            body[a] = q[c + a] if a < d else 0.0
        for a in range(8):
            m[a] = 0.0
        m[0] = 1.0
        if node.together == 1:
            turn = first + count - 3
            _together(js, turn, p, w, body, m)
            for j in range(first, turn):
                f = sp.freedom(js, sp.AT_END, j)
                m[4], m[5], m[6] = m[4] + w[j] * f[3], m[5] + w[j] * f[4], m[6] + w[j] * f[5]
        elif node.sign > 0:
            for k in range(count - 1, -1, -1):
                _elementary(js, first + k, p, w[first + k], body, m)
        else:
            for k in range(count):
                _elementary(js, first + k, p, w[first + k], body, m)
        if node.parent >= 0:
            inner, e = js.motion[8 * node.parent :], js.nodes[node.parent].coordinate
            for a in range(3):
                other[a] = q[e + a] if a < d else 0.0
            x, y, z = _turn(inner, body[0] + m[4] - other[0], body[1] + m[5] - other[1], body[2] + m[6] - other[2])
            m[4], m[5], m[6] = m[4] + x + inner[4], m[5] + y + inner[5], m[6] + z + inner[6]
            _after(m, inner[0], inner[1], inner[2], inner[3])
        for a in range(d):
            delta[u + a] = m[4 + a]
        if d == 3:
            for a in range(3):
                delta[u + 3 + a] = 2.0 * m[1 + a] / m[0]
        else:
            delta[u + 2] = 2.0 * m[3] / m[0]


@jit
def _twist(q: Any, v: Any, c: int, d: int, t: Any) -> None:
    """ω and φ̇ of a body from the rates of its directors, or from mean rates and mean directors, which are shorter."""
    square = 0.0
    for a in range(6):
        t[a] = 0.0
    if d == 2:
        for k in range(2, 6):
            square += q[c + k] * q[c + k]
        t[2] = (q[c + 2] * v[c + 3] - q[c + 3] * v[c + 2] + q[c + 4] * v[c + 5] - q[c + 5] * v[c + 4]) / square
        t[3], t[4] = v[c], v[c + 1]
        return
    for k in range(3, 12):
        square += q[c + k] * q[c + k]
    factor = 1.0 / max(0.1, square - 1.0)
    for k in range(3, 12, 3):
        x, y, z = q[c + k], q[c + k + 1], q[c + k + 2]
        t[0] += factor * (y * v[c + k + 2] - z * v[c + k + 1])
        t[1] += factor * (z * v[c + k] - x * v[c + k + 2])
        t[2] += factor * (x * v[c + k + 1] - y * v[c + k])
    t[3], t[4], t[5] = v[c], v[c + 1], v[c + 2]


@jit
def _solve_gram(gram: Any, n: int, b: Any, at: int) -> None:
    """Solves a small positive definite system in place, from b[at] on, by elimination."""
    for k in range(n):
        for i in range(k + 1, n):
            factor = gram[i * n + k] / gram[k * n + k]
            for j in range(k, n):
                gram[i * n + j] -= factor * gram[k * n + j]
            b[at + i] -= factor * b[at + k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[at + k] -= gram[k * n + j] * b[at + j]
        b[at + k] /= gram[k * n + k]


@jit
def _nearest_rates(js: JointFrame, q: Any, v: Any, w: Any) -> None:
    """Least squares of the relative twists at the joints."""
    t, relative, gram = js.scratch, js.scratch[6:], js.scratch[12:]
    for i in range(len(js.nodes)):
        node, p = js.nodes[i], sp.point(js, sp.AT_END, i)
        count, first, d, c = node.count, node.first, node.dimension, node.coordinate
        for a in range(6):
            relative[a] = 0.0
        for side in range(2):
            at = c if side == 0 else (js.nodes[node.parent].coordinate if node.parent >= 0 else -1)
            if at >= 0:
                sign = 1.0 if side == 0 else -1.0
                _twist(q, v, at, d, t)
                x, y, z = sp.cross(t, p[0] - q[at], p[1] - q[at + 1], p[2] - q[at + 2] if d == 3 else 0.0)
                t[3], t[4], t[5] = t[3] + x, t[4] + y, t[5] + z
                for a in range(6):
                    relative[a] += sign * t[a]
        for k in range(count):
            f = sp.freedom(js, sp.AT_END, first + k)
            total = 0.0
            for a in range(6):
                total += f[a] * relative[a]
            w[first + k] = total
            for m in range(count):
                g, total = sp.freedom(js, sp.AT_END, first + m), 0.0
                for a in range(6):
                    total += f[a] * g[a]
                gram[k * count + m] = total
        _solve_gram(gram, count, w, first)


@jit
def joint_rates(frame: Frame, js: JointFrame, w: Any, h: float) -> None:
    """Rates of the joints nearest to the guessed rates of the bodies: v₀ at the start of the step, mean rates in its middle.

    Joint vectors of sp.AT_END are left at the start.
    """
    vec = frame.vec
    q0, v0, v, q, mean = vec.q0, vec.v0, vec.guess, vec.saved, False
    for i in range(frame.n_q):
        mean = mean or v[i] != v0[i]
    for i in range(frame.n_q):
        q[i] = q0[i] + (0.5 * h * v[i] if mean else 0.0)
    sp.joint_vectors(frame, js, q, q, sp.AT_END)
    _nearest_rates(js, q, v, w)
    if mean:
        sp.joint_vectors(frame, js, q0, q0, sp.AT_END)


@hot
def _turned_part(x: float) -> float:
    """2 arctan(x/2)/x."""
    return 2.0 * math.atan(0.5 * x) / x if abs(x) > 1e-4 else 1.0 - x * x / 12.0


@jit
def predicted_turns(js: JointFrame, w: Any, h: float) -> None:
    """Increments of the joints for the rates w over a step h: by the mid-point rule a turn is 2 arctan(h ω/2), however large the step is."""
    for i in range(len(js.nodes)):
        node = js.nodes[i]
        first, count = node.first, node.count
        turn = first + count - 3 if node.together == 1 else first + count
        x = y = z = 0.0
        for j in range(first, first + count):
            f = sp.freedom(js, sp.AT_END, j)
            if j >= turn:
                x, y, z = x + w[j] * f[0], y + w[j] * f[1], z + w[j] * f[2]
            else:
                w[j] *= h * _turned_part(h * w[j] * math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]))
        part = h * _turned_part(h * math.sqrt(x * x + y * y + z * z))
        for j in range(turn, first + count):
            w[j] *= part
