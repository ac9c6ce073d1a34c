"""Shares of forces and couples on bodies in the velocities that move them: a row of J, and what drives add to it."""

from __future__ import annotations

from typing import Any

from ....native.call import address as at
from ....native.call import call
from ....native.kernel import hot, jit
from ....solvers.nonsmooth.contact_set import NOBODY
from ..link_sweeps import NUMBERS


@jit
def _spread_force(c: Any, body: int, point: Any, axes: Any, row: int, sign: float, turns: bool, J: Any) -> float:
    """Adds the shares of a unit force at a point of a body in the freedoms behind it to a row of J; the speed there that drives bring about."""
    p, parts, w = c.mass, c.parts, c.wrench
    program, step, shares = p.program, p.work.step, p.work.shares
    links, sort, rows, size = program.links, program.sort, p.work.rows, program.row
    dust, zeros = at(p.work.dust), at(p.work.zeros)
    k = c.body_link[body]
    R = c.link_poses[k]
    x, y, z = sign * axes[3 * row], sign * axes[3 * row + 1], sign * axes[3 * row + 2]
    dx, dy, dz = point[0] - R[9], point[1] - R[10], point[2] - R[11]
    mx, my, mz = dy * z - dz * y, dz * x - dx * z, dx * y - dy * x
    if turns:
        mx, my, mz, x, y, z = x, y, z, 0.0, 0.0, 0.0
    for i in (0, 1, 2):  # in the axes of the link
        w[i] = R[i] * x + R[3 + i] * y + R[6 + i] * z
        w[3 + i] = R[i] * mx + R[3 + i] * my + R[6 + i] * mz
    carried, drift = at(w), 0.0
    step.new = at(shares)
    while k >= 0:
        to = dust if carried != dust else zeros
        link = links[k]
        step.numbers = at(link) + 8 * NUMBERS
        step.own, step.wrench, step.parent_out = at(rows) + 8 * size * (k + 1), carried, to
        call(c.spread[sort[k]], step)
        if link.v < 0:
            drift += shares[0] * c.prescribed[3 * link.q + 1]
        else:
            for l in range(link.velocities):
                J[parts.place_of[link.v + l]] += shares[l]
        k, carried = link.parent, to
    return drift


@jit
def _loose_force(c: Any, body: int, point: Any, axes: Any, row: int, sign: float, turns: bool, J: Any) -> None:
    """The same for a body that nothing holds."""
    R = c.link_poses[c.body_link[body]]
    x, y, z = sign * axes[3 * row], sign * axes[3 * row + 1], sign * axes[3 * row + 2]
    dx, dy, dz = point[0] - R[9], point[1] - R[10], point[2] - R[11]
    mx, my, mz = dy * z - dz * y, dz * x - dx * z, dx * y - dy * x
    if turns:
        mx, my, mz, x, y, z = x, y, z, 0.0, 0.0, 0.0
    J[0], J[1], J[2] = x, y, z
    for i in (0, 1, 2):
        J[3 + i] = R[i] * mx + R[3 + i] * my + R[6 + i] * mz


@jit
def _framed_force(c: Any, body: int, point: Any, axes: Any, row: int, sign: float, turns: bool, J: Any) -> float:
    """The same by the compiled rows of a body or node."""
    f, parts, nv, pose = c.framed, c.parts, c.parts.part_of.size, c.body_poses[body]
    x, y, z = sign * axes[3 * row], sign * axes[3 * row + 1], sign * axes[3 * row + 2]
    dx, dy, dz = point[0] - pose[9], point[1] - pose[10], point[2] - pose[11]
    mx, my, mz = dy * z - dz * y, dz * x - dx * z, dx * y - dy * x
    if turns:
        mx, my, mz, x, y, z = x, y, z, 0.0, 0.0, 0.0
    rows, d, part = f.J[6 * nv * body :], f.drift[6 * body :], f.part[body]
    if part >= 0:
        first = parts.first[part]
        for i in range(parts.first[part + 1] - first):
            k = parts.member[first + i]
            force = x * rows[k] + y * rows[nv + k] + z * rows[2 * nv + k]
            J[i] += force + mx * rows[3 * nv + k] + my * rows[4 * nv + k] + mz * rows[5 * nv + k]
    return x * d[0] + y * d[1] + z * d[2] + mx * d[3] + my * d[4] + mz * d[5]  # type: ignore[no-any-return]


@hot
def force_row(c: Any, body: int, point: Any, axes: Any, row: int, sign: float, turns: bool, J: Any) -> float:
    """A unit force at a point, or (``turns``) a unit couple, along one of the axes."""
    if c.framed.motion.function != 0:
        return _framed_force(c, body, point, axes, row, sign, turns, J)  # type: ignore[no-any-return]
    if c.loose[body] != 0:
        _loose_force(c, body, point, axes, row, sign, turns, J)
        return 0.0
    return _spread_force(c, body, point, axes, row, sign, turns, J)  # type: ignore[no-any-return]


@jit
def part_of_body(c: Any, body: int) -> int:
    """The part that moves a body; none for the ground and for bodies that drives alone move."""
    if body < 0:
        return NOBODY
    if c.framed.motion.function != 0:
        return c.framed.part[body]  # type: ignore[no-any-return]
    links = c.mass.program.links
    k = c.body_link[body]
    while k >= 0:
        if links[k].v >= 0:
            return c.parts.part_of[links[k].v]  # type: ignore[no-any-return]
        k = links[k].parent
    return NOBODY


__all__ = ["force_row", "part_of_body"]
