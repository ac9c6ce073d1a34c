"""A native loop that calls a compiled function on consecutive rows."""

from __future__ import annotations

from jourdain.native.call import call
from jourdain.native.kernel import jit


@jit
def loop(address, args, sizes, n):
    """Calls the function n times, advancing every array by one row each time."""
    total = 0
    for _ in range(n):
        total += call(address, args.ctypes.data)
        for k in range(len(sizes)):
            args[k] += 8 * sizes[k]
    return total
