"""Across the belt: the displacement of its line, slow shape functions of second order and fast ones of first order (section 5.1)."""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from ..linear.dense import lu_factor, lu_solve
from .layers import carried, carries


@jit
def find_line(b: Any) -> None:
    """w, w′, ẇ and the angle by which the belt turns, at all stations."""
    path = b.path
    for j in range(path.stations):
        w, w1, wdot, turn = 0.0, 0.0, 0.0, 0.0
        for e in range(path.start[j], path.start[j + 1]):
            q = b.q[path.column[e]]
            w += path.value[e] * q
            w1 += path.slope[e] * q
            turn += path.turn[e] * q
            wdot += path.value[e] * b.rate[path.column[e]]
        path.w[j], path.w1[j], path.wdot[j] = w, w1, wdot
        path.angle[j] = path.turning[j] - turn


@hot
def stack_moment(stiffness: float, curvature: float, force: float, k_minus: float, k_plus: float) -> Any:
    """Moment between elements that push each other (24), within their faces, and its secant, which no step overshoots."""
    moment = -stiffness * curvature
    if moment < force * k_minus:
        return force * k_minus, -force * k_minus / curvature
    if moment > -force * k_plus:
        return -force * k_plus, force * k_plus / curvature
    return moment, stiffness


@jit
def _gather(b: Any, h: float) -> None:
    """Matrix and right side of a step: constant parts, then tension, centrifugal forces and the moments of the stack."""
    n, path, layers = b.size, b.path, b.layers
    mass, v = 0.0, layers.speed[0]
    for k in range(layers.rings + 1):
        mass += layers.mass[k]
    for i in range(n):
        total = -b.unbending[i]
        for k in range(n):
            b.matrix[i * n + k] = b.bent[i, k] + mass * (b.inertia[i, k] / h + v * b.gyroscopic[i, k]) / h
            total += mass * b.inertia[i, k] * b.rate[k] / h - b.bent[i, k] * b.q[k]
        b.matrix[i * n + i] += b.relaxation[i] / h
        b.right[i] = total
    for j in range(path.stations):
        share, kap = path.share[j], path.turning[j] / path.share[j]
        lift = mass * v * v * kap * kap * share
        moment, stiffness = stack_moment(b.stack, path.angle[j] / share, carried(layers, 0, j), b.k_minus, b.k_plus)
        pull = path.force[j]
        stiffness /= share
        for e in range(path.start[j], path.start[j + 1]):
            i = path.column[e]
            b.right[i] += (
                path.value[e] * (lift * path.w[j] - pull * path.turning[j])
                - path.slope[e] * pull * path.w1[j] * share
                - path.turn[e] * moment
            )
            s, t, u = path.slope[e] * pull * share, path.turn[e] * stiffness, path.value[e] * lift
            for g in range(path.start[j], path.start[j + 1]):
                b.matrix[i * n + path.column[g]] += s * path.slope[g] + t * path.turn[g] - u * path.value[g]


@jit
def _gather_length(b: Any) -> None:
    """A longer line stretches all layers that carry everywhere alike: stiffness of rank one."""
    n, path, layers, longer = b.size, b.path, b.layers, b.longer
    stiffness = 0.0
    for k in range(layers.rings + 1):
        if carries(k, layers.mean[k]):
            stiffness += layers.stiffness[k] / layers.length[k]
    for i in range(n):
        longer[i] = 0.0
    for j in range(path.stations):
        along = path.w1[j] * path.share[j]
        for e in range(path.start[j], path.start[j + 1]):
            longer[path.column[e]] += path.turning[j] * path.value[e] + along * path.slope[e]
    for i in range(n):
        for k in range(n):
            b.matrix[i * n + k] += stiffness * longer[i] * longer[k]


@jit
def _gather_contacts(b: Any, pulley: Any, h: float) -> None:
    """Outward forces of the flanks with their stiffness and their damping by radial sliding."""
    n, path = b.size, b.path
    for c in range(pulley.contacts):
        if pulley.force[c] > 0.0:
            j = pulley.station[c]
            damping, surface = pulley.damping[c], pulley.omega * pulley.lever[c]
            force, stiffness = pulley.outward[c] + damping * path.wdot[j], pulley.rise[c] + damping / h
            for e in range(path.start[j], path.start[j + 1]):
                i = path.column[e]
                b.right[i] += path.value[e] * force
                for g in range(path.start[j], path.start[j + 1]):
                    b.matrix[i * n + path.column[g]] += path.value[e] * (stiffness * path.value[g] + damping * surface * path.slope[g])


@jit
def step_line(b: Any, h: float) -> int:
    """A linearly implicit step of all shape functions."""
    n = b.size
    _gather(b, h)
    _gather_length(b)
    _gather_contacts(b, b.driving, h)
    _gather_contacts(b, b.driven, h)
    if lu_factor(b.matrix, n, b.pivots) != 0:
        return 1
    lu_solve(b.matrix, n, b.pivots, b.right)
    for i in range(n):
        b.q[i] += b.right[i]
        b.rate[i] = b.right[i] / h
    return 0
