"""Native glue between the order of arguments of compiled functions and that of the solvers."""

from __future__ import annotations

from ..native.call import call, doubles, words
from ..native.kernel import kernel


@kernel
def with_inputs(args: int) -> int:
    """Calls f(t, x, u) → ẋ: args = t, x, ẋ, address, pointers of the compiled function (t, x, u, ẋ, …)."""
    a = words(args, 5)
    inner = words(a[4], 4)
    inner[0], inner[1], inner[3] = a[0], a[1], a[2]
    return call(a[3], a[4])


@kernel
def at_rest(args: int) -> int:
    """ẋ = 0 of one number: args = t, x, ẋ."""
    doubles(words(args, 3)[2], 1)[0] = 0.0
    return 0


@kernel
def with_accelerations(args: int) -> int:
    """Calls f(t, x, u, a) → y with the accelerations of ẋ: args = t, x, y, address and arguments of ẋ, address and pointers of the compiled
    function (t, x, u, a, y, …), room for ẋ, and where a begins in it."""
    a = words(args, 9)
    outer = words(a[4], 3)
    outer[0], outer[1], outer[2] = a[0], a[1], a[7]
    status = call(a[3], a[4])
    if status != 0:
        return status
    inner = words(a[6], 5)
    inner[0], inner[1], inner[3], inner[4] = a[0], a[1], a[7] + 8 * a[8], a[2]
    return call(a[5], a[6])
