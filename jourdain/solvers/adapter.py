"""Native glue between the order of arguments of compiled functions and that of the solvers."""

from __future__ import annotations

from ..native.call import call, words
from ..native.kernel import kernel


@kernel
def with_inputs(args: int) -> int:
    """Calls f(t, x, u) → ẋ: args = t, x, ẋ, address, pointers of the compiled function (t, x, u, ẋ, …)."""
    a = words(args, 5)
    inner = words(a[4], 4)
    inner[0], inner[1], inner[3] = a[0], a[1], a[2]
    return call(a[3], a[4])
