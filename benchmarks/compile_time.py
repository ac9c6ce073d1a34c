"""How the time to compile grows with the size of a function: chunks keep it linear up to 100 000 operations."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

import numpy as np

TARGET_EXPONENT = 1.1
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


def random_graph(size: int, seed: int = 1) -> Any:
    """A symbolic function of about ``size`` operations with the mix of a dynamics code: sums, products, some sines."""
    from jourdain.symbolic import cos, sin, symbols
    from jourdain.symbolic.function import Argument, Result, SymbolicFunction

    rng = np.random.default_rng(seed)
    x = symbols([f"x{i}" for i in range(40)], "position")
    nodes = [sin(e) for e in x] + [cos(e) for e in x]
    recent = 200  # operands come from near, as in a recursion over the links of a tree
    while len(nodes) < 1.2 * size:  # some operations end in nothing that is an output
        a, b, c = (nodes[max(0, len(nodes) - recent) + int(k)] for k in rng.integers(0, min(recent, len(nodes)), 3))
        nodes.append(a * b)
        nodes.append(nodes[-1] + c if rng.random() < 0.5 else nodes[-1] - c)
    outputs = tuple(nodes[-recent:])
    return SymbolicFunction(f"graph{size}", (Argument("q", tuple(x)),), (Result("y", outputs, (len(outputs),)),))


def compile_seconds(size: int) -> tuple[int, float]:
    """Operations of a graph and the seconds from its equations to callable machine code, nothing cached."""
    from jourdain.native import compile_function

    f = random_graph(size)
    operations = f.operations().flops
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("JOURDAIN_CACHE")
        os.environ["JOURDAIN_CACHE"] = folder
        try:
            start = time.perf_counter()
            compile_function(f)(np.full(40, 0.3))
            return operations, time.perf_counter() - start
        finally:
            if before is None:
                del os.environ["JOURDAIN_CACHE"]
            else:
                os.environ["JOURDAIN_CACHE"] = before


def run(quick: bool = False) -> dict[str, Any]:
    """Sizes, seconds, microseconds an operation and the fitted exponent of time ~ size^exponent."""
    compile_seconds(100)  # LLVM's own start
    measured = [compile_seconds(size) for size in (SIZES[:3] if quick else SIZES)]
    operations, seconds = (np.array(column, dtype=float) for column in zip(*measured, strict=True))
    exponent = float(np.polyfit(np.log(operations), np.log(seconds), 1)[0])
    return {
        "operations": [int(n) for n in operations],
        "seconds": [round(float(s), 4) for s in seconds],
        "microseconds per operation": [round(float(1e6 * s / n), 1) for s, n in zip(seconds, operations, strict=True)],
        "exponent": round(exponent, 3),
        "target": TARGET_EXPONENT,
        "reached": exponent <= TARGET_EXPONENT,
    }


if __name__ == "__main__":
    for name, value in run().items():
        print(f"{name}: {value}")
