"""Contact forces before a function of (t, x) is called, and their share in its derivatives.

Equations are linear in the wrenches on bodies.  So a column of ∂ẋ/∂x gains what ẋ changes by under the change of the wrenches, which follows from two
looks at places a little apart along the column: this holds whatever the law and the shapes are, turning normals and lever arms included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import jit, kernel
from ...native.record import Address, Integers, Record
from ..native_function import NativeFunction, address
from .touch import WRENCH, Touch, renew, touch

#: How far apart the two looks are: in positions (m, rad) and in velocities.
APART, FASTER = 1e-8, 1e-7


class Before(Record):
    """Arguments of a function of (t, x) that contact forces are found for."""

    t: Address
    x: Address
    out: Address
    touch: Touch
    function: Address
    args: Integers
    #: of :func:`state_jacobian`: ẋ without looking; of :func:`renew_then`: the number of memories
    rates: Address
    rates_args: Integers
    memories: int


@kernel
def touch_then(args: int) -> int:
    """Find contact forces, then call the function."""
    a = Before.at(args)
    status = touch(a.touch, a.t, a.x)
    if status != 0:
        return status
    inner = a.args
    inner[0], inner[1], inner[2] = a.t, a.x, a.out
    return call(a.function, inner)


@kernel
def touch_before(args: int) -> int:
    """The same for a function whose arguments begin with t, x; the address of the record and of the function stand four words before them."""
    head, a = words(args - 32, 2), words(args, 2)
    status = touch(Touch.at(head[1]), a[0], a[1])
    if status != 0:
        return status
    return call(head[0], args)


@jit
def _keep(c: Any, out: Any) -> None:
    """Copies the wrenches that stand among the inputs."""
    k = 0
    for i in range(c.wrench.size):
        if c.wrench[i] >= 0:
            for j in range(WRENCH):
                out[k] = c.u[c.wrench[i] + j]
                k += 1


@jit
def _put(c: Any, values: Any) -> None:
    """Puts wrenches among the inputs."""
    k = 0
    for i in range(c.wrench.size):
        if c.wrench[i] >= 0:
            for j in range(WRENCH):
                c.u[c.wrench[i] + j] = values[k]
                k += 1


@jit
def changes(c: Any, t: int, x: int, dx: Any, dt: float) -> int:
    """The change of the wrenches along a direction, from two looks; the wrenches among the inputs stay."""
    largest, fastest = abs(dt), 0.0
    for i in range(c.n):
        if i < c.nq:
            largest = max(largest, abs(dx[i]))
        else:
            fastest = max(fastest, abs(dx[i]))
    scale = 1.0 / max(largest / APART, fastest / FASTER, 1e-300)
    here, now = doubles(x, c.n), doubles(t, 1)[0]
    _keep(c, c.saved)
    for side in (0, 1):
        sign = 1.0 - 2.0 * side
        for i in range(c.n):
            c.state[i] = here[i] + sign * scale * dx[i]
        c.clock[0] = now + sign * scale * dt
        status = touch(c, at(c.clock), at(c.state))
        if status != 0:
            return status
        _keep(c, c.change if side == 1 else c.one)
    for i in range(c.change.size):
        c.change[i] = (c.one[i] - c.change[i]) / (2.0 * scale)
    _put(c, c.saved)
    return 0


@kernel
def along_direction(args: int) -> int:
    """A derivative in a direction (t, x, u, v̇, λ, δx, δv̇, δt, …) whose change of the wrenches is found first: its own arguments have δw behind δt."""
    head, a = words(args - 32, 3), words(args, 8)
    c, inner = Touch.at(head[1]), words(head[2], 9)
    status = changes(c, a[0], a[1], doubles(a[5], c.n), doubles(a[7], 1)[0])
    if status != 0:
        return status
    for i in range(8):
        inner[i] = a[i]
    inner[8] = at(c.change)
    return call(head[0], head[2])


@kernel
def state_jacobian(args: int) -> int:
    """∂ẋ/∂x, row by row: that at constant wrenches, and what their change adds."""
    a = Before.at(args)
    c = a.touch
    n = c.n
    status = touch(c, a.t, a.x)
    if status != 0:
        return status
    inner = a.args
    inner[0], inner[1], inner[2] = a.t, a.x, a.out
    status = call(a.function, inner)
    if status != 0:
        return status
    out, dx, rates = doubles(a.out, n * n), c.work[: c.n], a.rates_args
    still, moved = c.work[n : 2 * n], c.work[2 * n : 3 * n]
    rates[0], rates[1], rates[2] = a.t, a.x, at(still)
    _keep(c, c.saved)
    for k in range(c.change.size):
        c.change[k] = 0.0
    _put(c, c.change)
    status = call(a.rates, rates)
    _put(c, c.saved)
    for i in range(n):
        dx[i] = 0.0
    for j in range(n):
        if status != 0:
            return status
        dx[j] = 1.0
        status = changes(c, a.t, a.x, dx, 0.0)
        dx[j] = 0.0
        largest = 0.0
        for k in range(c.change.size):
            largest = max(largest, abs(c.change[k]))
        if status != 0 or largest == 0.0:
            continue
        _put(c, c.change)
        rates[2] = at(moved)
        status = call(a.rates, rates)
        _put(c, c.saved)
        for i in range(n):
            out[i * n + j] += moved[i] - still[i]
    return status


@kernel
def state_time_derivative(args: int) -> int:
    """∂ẋ/∂t: that at constant wrenches, and what their change adds where bodies are driven."""
    a = Before.at(args)
    c = a.touch
    n = c.n
    status = touch(c, a.t, a.x)
    inner, rates, dx, still, moved = a.args, a.rates_args, c.work[: c.n], c.work[n : 2 * n], c.work[2 * n : 3 * n]
    inner[0], inner[1], inner[2] = a.t, a.x, a.out
    if status == 0:
        status = call(a.function, inner)
    for i in range(n):
        dx[i] = 0.0
    if status == 0:
        status = changes(c, a.t, a.x, dx, 1.0)
    if status != 0:
        return status
    rates[0], rates[1], rates[2] = a.t, a.x, at(moved)
    _put(c, c.change)
    status = call(a.rates, rates)
    for k in range(c.change.size):
        c.change[k] = 0.0
    _put(c, c.change)
    rates[2] = at(still)
    if status == 0:
        status = call(a.rates, rates)
    _put(c, c.saved)
    out = doubles(a.out, n)
    for i in range(n):
        out[i] += moved[i] - still[i]
    return status


@kernel
def renew_then(args: int) -> int:
    """New memories: those of the model by the function, then the slots of contacts."""
    a = Before.at(args)
    status = 0
    if a.function != 0:
        inner = a.args
        inner[0], inner[1], inner[2] = a.t, a.x, a.out
        status = call(a.function, inner)
    return status if status != 0 else renew(a.touch, a.t, a.x, doubles(a.out, a.memories))


def before(record: Touch, f: NativeFunction, *keep: Any) -> NativeFunction:
    """A function that finds contact forces before it calls another."""
    return NativeFunction.of(touch_then.address, Before(touch=record, function=f.address, args=f.own_arguments()), f, *keep)


def directed(record: Touch, function: int, pointers: NDArray[np.uintp]) -> tuple[int, NDArray[np.uintp]]:
    """The same for a derivative in a direction, whose pointers have the change of wrenches in their ninth place."""
    inner = address(pointers)
    whole = np.concatenate([np.array([function, record.address, inner, 0], np.uintp), np.delete(pointers, 8)])
    return along_direction.address, whole[4:]


def headed(record: Touch, function: int, pointers: NDArray[np.uintp]) -> tuple[int, NDArray[np.uintp]]:
    """Function and arguments by which native code finds contact forces before it calls a function with pointers (t, x, …)."""
    base = pointers.base if pointers.base is not None else np.zeros(0, np.uintp)
    own = np.zeros(2, np.uintp) if getattr(base, "size", 0) != pointers.size + 2 else np.asarray(base)[:2]
    whole = np.concatenate([np.array([function, record.address], np.uintp), own, pointers])
    return touch_before.address, whole[4:]


__all__ = [
    "Before",
    "along_direction",
    "before",
    "directed",
    "headed",
    "renew_then",
    "state_jacobian",
    "state_time_derivative",
    "touch_before",
    "touch_then",
]
