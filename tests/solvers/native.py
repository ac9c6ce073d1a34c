"""Right-hand sides and other native functions for the tests."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np

from jourdain.native.call import doubles, words
from jourdain.native.kernel import kernel
from jourdain.solvers.native_function import NativeFunction

_made = 0


def native(body: str, p: Any = None, sizes: tuple[int, int] = (8, 8), status: str = "0") -> NativeFunction:
    """Compile `body`, which reads t, x and p and writes f (in place of x for projections: write to x)."""
    global _made
    _made += 1
    lines = [
        "def function(address):",
        "    args = words(address, 4)",
        "    t = doubles(args[0], 1)[0]",
        f"    x = doubles(args[1], {sizes[0]})",
        f"    f = doubles(args[2], {sizes[1]})",
        "    p = doubles(args[3], 16)",
        *("    " + line for line in body.strip().splitlines()),
        f"    return {status}",
    ]
    name = f"<native {_made}>"
    source = "\n".join(lines)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict[str, Any] = {"words": words, "doubles": doubles, "np": np}
    exec(compile(source, name, "exec"), scope)
    compiled = kernel(scope["function"])
    parameters = np.zeros(16) if p is None else p
    args = np.array([0, 0, 0, parameters.ctypes.data], dtype=np.uintp)
    return NativeFunction(compiled.address, args, (compiled, parameters))
