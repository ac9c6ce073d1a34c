"""States put back onto constraints after steps and behind jumps, in native code, with their derivatives."""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import jit
from .field import Field, push_map

#: Velocities, and positions (m, rad), put back by less than this part of their size leave derivatives as they are.
DRIFT, MOVED = 1e-11, 1e-10


@jit
def project(field: Field, t: Any, x: Any) -> int:
    if field.project.function == 0:
        return 0
    args = field.project.args
    args[0], args[1], args[2] = at(t), at(x), at(x)
    return call(field.project.function, args)


@jit
def strike(field: Field, before: Any, after: Any, rate: Any, rest: float) -> None:
    """Takes Δq and Δv of the projection that has brought the end of a step, ``before`` with a ``rest`` at a ``rate``, onto the constraints.

    M Δv = JᵀΛ holds at its end, so that changes of M and J move it by M⁻¹((dJ)ᵀΛ − (dM)Δv): as much of a derivative as a step drifts by.  So do those of J with
    Δq = −Jᵀy.
    """
    if field.project.function == 0:
        return
    _take(before, after, rate, rest, 0, field.first, MOVED, 1.0, field.shift)
    if field.m > 0:
        _take(before, after, rate, rest, field.first, field.nv, DRIFT, 0.0, field.impulse)


@jit
def _take(before: Any, after: Any, rate: Any, rest: float, first: int, count: int, least: float, ordinary: float, into: Any) -> None:
    """Takes what has changed from a place on; nothing where it is less than a part of the size, which is that of ``ordinary`` values at least."""
    most, size = 0.0, ordinary
    for j in range(count):
        i = first + j
        change = after[i] - before[i]
        if rest > 0.0:
            change -= rest * rate[i]
        into[j] = change
        most, size = max(most, abs(change)), max(size, abs(after[i]))
    if most <= least * size:
        for j in range(count):
            into[j] = 0.0


@jit
def spare(field: Field) -> None:
    """Projections that neither strike nor move again."""
    for j in range(field.nv):
        field.impulse[j] = 0.0
    for i in range(field.first):
        field.shift[i] = 0.0


@jit
def push_projection(field: Field, t: Any, x: Any, dt: Any, dx: Any, dc: Any) -> int:
    """Carries a direction over the projection that gave x."""
    if field.project_push.function == 0:
        return 0
    return push_map(field, field.project_push, t, x, dt, dx, dc, dx)


@jit
def pull_projection(field: Field, t: Any, x: Any, xbar: Any, cbar: Any) -> Any:
    """Walks weights back over the projection that gave x; the status and the weight of time."""
    if field.project_pull.function == 0:
        return 0, 0.0
    args, bar, c = field.project_pull.args, field.bar, field.cbar
    args[0], args[1], args[3], args[4], args[5] = at(t), at(x), at(xbar), at(bar), at(c)
    status = call(field.project_pull.function, args)
    for i in range(field.n):
        xbar[i] = bar[1 + i]
    for i in range(field.nc):
        cbar[i] += c[i]
    return status, bar[0]


__all__ = ["project", "pull_projection", "push_projection", "spare", "strike"]
