"""The recursions over links as machine code known by address, each compiled when it is first asked for.

Every kernel has the signature `int32_t f(void** args)`, with the pointers

    inverse_dynamics   q, v, a, prescribed, wrenches, φ, constants, workspace
    bias               q, v, prescribed, wrenches, c, constants, workspace
    accelerations      q, v, τ, prescribed, wrenches, a, constants, workspace
    mass_matrix        q, prescribed, M, constants, workspace
    poses              q, prescribed, poses, constants, workspace
    state_derivative   t, x = [q, v], ẋ, τ, prescribed, wrenches, constants, workspace,
                       address and arguments of the function that writes `prescribed` (or 0, 0),
                       address and arguments of the function that writes τ (or 0, 0)

`wrenches` may be a null pointer. A kernel returns 0, or −(i + 1) where the joint of link i feels no inertia.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit

from jourdain.native.call import call, doubles, integers, words
from jourdain.solvers.frame import hot, kernel
from jourdain.solvers.link_articulated import ARTICULATED_ROW, articulated_body
from jourdain.solvers.link_recursions import (
    COMPOSITE_ROW,
    FOLLOWERS,
    HEAD,
    MOTIONS,
    NEWTON_ROW,
    NQ,
    NV,
    PRESCRIBED,
    composite_body,
    link_poses,
    newton_euler,
    position_rates,
)


@hot
def _sizes(constants: int) -> Any:
    """Numbers of links, positions, velocities and prescribed values."""
    head = integers(constants, HEAD)
    return head[0], head[NQ], head[NV], 3 * head[PRESCRIBED]


@hot
def _wrenches(address: int, n: int) -> Any:
    return doubles(address, 6 * n if address != 0 else 0)


def inverse_dynamics(args: int) -> int:
    """φ(q, v, a)."""
    p = words(args, 8)
    n, nq, nv, given = _sizes(p[6])
    q, v, a, out = doubles(p[0], nq), doubles(p[1], nv), doubles(p[2], nv), doubles(p[5], nv)
    newton_euler(p[6], q, v, a, True, doubles(p[3], given), _wrenches(p[4], n), doubles(p[7], NEWTON_ROW * (n + 1)), out)
    return 0


def bias(args: int) -> int:
    """c(q, v)."""
    p = words(args, 7)
    n, nq, nv, given = _sizes(p[5])
    q, v, out = doubles(p[0], nq), doubles(p[1], nv), doubles(p[4], nv)
    newton_euler(p[5], q, v, v, False, doubles(p[2], given), _wrenches(p[3], n), doubles(p[6], NEWTON_ROW * (n + 1)), out)
    return 0


@hot
def _accelerations(constants: int, q: int, v: int, tau: int, prescribed: int, wrenches: int, work: int, out: int) -> int:
    n, nq, nv, given = _sizes(constants)
    head = integers(constants, HEAD)
    room = doubles(work, _articulated_size(n, head[MOTIONS], head[FOLLOWERS]))
    return articulated_body(
        constants, doubles(q, nq), doubles(v, nv), doubles(tau, nv), doubles(prescribed, given), _wrenches(wrenches, n), room,
        doubles(out, nv),
    )  # fmt: skip


@hot
def _articulated_size(links: int, motions: int, followers: int) -> int:
    return ARTICULATED_ROW * (links + 1) + motions * (followers + 1) + followers * (followers + 1)


def accelerations(args: int) -> int:
    """a(q, v, τ)."""
    p = words(args, 8)
    return _accelerations(p[6], p[0], p[1], p[2], p[3], p[4], p[7], p[5])


def mass_matrix(args: int) -> int:
    """M(q)."""
    p = words(args, 5)
    n, nq, nv, given = _sizes(p[3])
    composite_body(p[3], doubles(p[0], nq), doubles(p[1], given), doubles(p[4], COMPOSITE_ROW * (n + 1)), doubles(p[2], nv * nv))
    return 0


def poses(args: int) -> int:
    """Rotation and position of every link."""
    p = words(args, 5)
    n, nq, _, given = _sizes(p[3])
    link_poses(p[3], doubles(p[0], nq), doubles(p[1], given), doubles(p[4], COMPOSITE_ROW), doubles(p[2], 12 * n))
    return 0


def state_derivative(args: int) -> int:
    """ẋ of x = [q, v], with prescribed motions and forces from functions of their own."""
    p = words(args, 12)
    _, nq, nv, _ = _sizes(p[6])
    if p[8] != 0:
        motion = words(p[9], 2)
        motion[0], motion[1] = p[0], p[4]
        status = call(p[8], p[9])
        if status != 0:
            return status
    if p[10] != 0:
        force = words(p[11], 3)
        force[0], force[1], force[2] = p[0], p[1], p[3]
        status = call(p[10], p[11])
        if status != 0:
            return status
    position_rates(p[6], doubles(p[1], nq), doubles(p[1] + 8 * nq, nv), doubles(p[2], nq))
    return _accelerations(p[6], p[1], p[1] + 8 * nq, p[3], p[4], p[5], p[7], p[2] + 8 * nq)


_KERNELS: dict[str, Callable[[int], int]] = {
    f.__name__: f for f in (inverse_dynamics, bias, accelerations, mass_matrix, poses, state_derivative)
}


@cache
def compiled(name: str) -> Any:
    """The machine code of a kernel, with its `address`."""
    return kernel(_KERNELS[name])


def workspace_size(name: str, links: int, motions: int, followers: int) -> int:
    """Numbers of workspace that a kernel needs."""
    row = {"inverse_dynamics": NEWTON_ROW, "bias": NEWTON_ROW, "mass_matrix": COMPOSITE_ROW, "poses": COMPOSITE_ROW}
    return row[name] * (links + 1) if name in row else int(_articulated_size.py_func(links, motions, followers))


@njit("int64(intp, intp[::1], intp[::1], intp, intp)", nogil=True, cache=True, error_model="numpy")
def run_batch(address: int, args: Any, strides: Any, first: int, last: int) -> int:
    """Call a kernel for the states first … last − 1; pointers move by `strides` bytes a state.

    The number (from 0) of the first state that failed is returned, or −1.
    """
    here = args.ctypes.data
    for i in range(args.size):
        args[i] += first * strides[i]
    for state in range(first, last):
        if call(address, here) != 0:
            return state
        for i in range(args.size):
            args[i] += strides[i]
    return -1
