"""Chains of N bodies: how building, the time to a first result and one evaluation grow, straight-line against looped.

python -m benchmarks.chain [--quick]
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
#: Largest chains compiled as straight-line code; compiling takes about a second for 10 000 operations.
STRAIGHT = {"inverse_dynamics": 1000, "accelerations": 300}
FUNCTIONS = ("inverse_dynamics", "accelerations")
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def chain(n: int) -> Any:
    """n bodies hung one on another by hinges about x and y in turn, with length and mass as parameters."""
    from jourdain.model import Model

    m = Model("chain")
    length, mass = m.parameters(length=0.1, mass=0.2)
    before: Any = m.ground
    for i in range(n):
        body = m.body(f"b{i}", mass=mass, com=(0, 0, -length / 2), inertia=(1e-3, 2e-3, 1e-3))
        m.revolute(f"j{i}", before, body, axis="xy"[i % 2])
        before = body.at(0, 0, -length)
    return m


def call_time(address: int, args: np.ndarray, budget: float = 0.3) -> float:
    """Shortest of several calls by address, in runs long enough for the clock, s."""
    call, pointer = _PROTOTYPE(address), args.ctypes.data
    call(pointer)
    start = time.perf_counter()
    call(pointer)
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, int(2e-4 / once))
    best, end = np.inf, time.perf_counter() + budget
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(inner):
            call(pointer)
        best = min(best, (time.perf_counter() - start) / inner)
    return float(best)


def looped_figures(model: Any, name: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> dict[str, Any]:
    """Time to a first result from the model, and of one evaluation."""
    from jourdain.systems.tree.looped import LoopedTree

    start = time.perf_counter()
    tree = LoopedTree(model)
    value = tree.function(name)(q, v, u)
    first = time.perf_counter() - start
    native, out = tree.native(name), np.empty(tree.nv)
    args = native.args.copy()
    args[[0, 1, 2, 5]] = q.ctypes.data, v.ctypes.data, u.ctypes.data, out.ctypes.data
    return {"first": first, "evaluation": call_time(native.address, args), "value": value}


def straight_figures(model: Any, name: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> dict[str, Any]:
    """The same for straight-line code, with its number of operations; nothing is taken from the cache."""
    from jourdain.formalisms.tree.articulated_body import accelerations
    from jourdain.formalisms.tree.newton_euler import inverse_dynamics
    from jourdain.formalisms.tree.tree import Tree
    from jourdain.native import compile_function
    from jourdain.symbolic.expr import symbol
    from jourdain.symbolic.function import Argument, Result, SymbolicFunction

    start = time.perf_counter()
    tree, p = Tree(model), model.parameter_set
    forces = tuple(symbol(f"tau{i}", "input") for i in range(tree.nv))
    inverse = name == "inverse_dynamics"
    result = inverse_dynamics(tree) if inverse else accelerations(tree, forces)
    arguments = (("q", tree.q), ("v", tree.v), ("u", tree.a if inverse else forces), ("p", p.symbols))
    inputs = tuple(Argument(n, s) for n, s in arguments)
    symbolic = SymbolicFunction(f"chain_{name}", inputs, (Result("out", tuple(result), (tree.nv,)),))
    derived = time.perf_counter()
    f = compile_function(symbolic, p.values())
    value = f(q, v, u)
    end = time.perf_counter()
    out = np.empty(tree.nv)
    evaluation = call_time(f.address, f.arguments(q, v, u, out))
    figures = {"first": end - start, "compile": end - derived, "evaluation": evaluation}
    return {**figures, "operations": f.operations.flops, "value": value}


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def cold_start(n: int) -> float:
    """Seconds from a fresh process with empty caches to the first φ of a chain by the looped form."""
    code = (
        "import numpy as np; from benchmarks.chain import chain; from jourdain.systems.tree.looped import LoopedTree; "
        f"x = np.zeros({n}); LoopedTree(chain({n})).inverse_dynamics(x, x, x)"
    )
    with tempfile.TemporaryDirectory() as folder:
        places = {"JOURDAIN_CACHE": folder}
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **places})
        return time.perf_counter() - start


def measure(n: int, limits: dict[str, int], report: Callable[[str], None]) -> dict[str, Any]:
    """All figures of one chain."""
    report(f"chain of {n}")
    start = time.perf_counter()
    model = chain(n)
    row: dict[str, Any] = {"bodies": n, "build": time.perf_counter() - start}
    rng = np.random.default_rng(n)
    q, v, u = rng.normal(size=n), 0.1 * rng.normal(size=n), rng.normal(size=n)
    for name in FUNCTIONS:
        looped = looped_figures(model, name, q, v, u)
        row[name] = {"looped": {k: x for k, x in looped.items() if k != "value"}}
        if n <= limits[name]:
            straight = straight_figures(model, name, q, v, u)
            difference = np.abs(straight["value"] - looped["value"]).max() / np.abs(straight["value"]).max()
            row[name]["straight"] = {k: x for k, x in straight.items() if k != "value"}
            row[name]["difference"] = float(difference)
    return row


def run(quick: bool = False) -> dict[str, Any]:
    """The figures as a dictionary; ``quick`` leaves out what takes minutes."""
    from rich.console import Console

    from jourdain.systems.tree.looped import LoopedTree

    console = Console()
    warm = chain(3)
    for name in FUNCTIONS:
        LoopedTree(warm).function(name)
    limits = {name: min(n, 100) for name, n in STRAIGHT.items()} if quick else STRAIGHT
    kept = os.environ.get("JOURDAIN_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JOURDAIN_CACHE"] = folder
        try:
            rows = [measure(n, limits, lambda text: console.print(text, style="dim")) for n in SIZES]
        finally:
            os.environ.pop("JOURDAIN_CACHE")
            if kept is not None:
                os.environ["JOURDAIN_CACHE"] = kept
    large = [r for r in rows if r["bodies"] >= 100]
    sizes = [r["bodies"] for r in large]
    exponents = {"build": exponent(sizes, [r["build"] for r in large])}
    for name in FUNCTIONS:
        for figure in ("first", "evaluation"):
            exponents[f"{name}.{figure}"] = exponent(sizes, [r[name]["looped"][figure] for r in large])
    result = {"rows": rows, "exponents": exponents, "cold_start": cold_start(10 if quick else 1000)}
    console.print(table(result))
    console.print(f"looped form, fresh process and empty caches to the first φ: {result['cold_start']:.2f} s")
    return result


def table(result: dict[str, Any]) -> Any:
    """The figures as a rich table; exponents are fitted from 100 bodies on."""
    from rich.table import Table

    made = Table(title="Chain of N bodies: straight-line / looped")
    for column in ("N", "build, ms", "φ operations", "φ first, ms", "φ, µs", "a operations", "a first, ms", "a, µs"):
        made.add_column(column, justify="right")
    for row in result["rows"]:
        cells = [str(row["bodies"]), f"{1e3 * row['build']:.0f}"]
        for name in FUNCTIONS:
            straight, looped = row[name].get("straight"), row[name]["looped"]
            cells.append("" if straight is None else str(straight["operations"]))
            for figure, scale, digits in (("first", 1e3, 0), ("evaluation", 1e6, 2)):
                one = "–" if straight is None else f"{scale * straight[figure]:.{digits}f}"
                cells.append(f"{one} / {scale * looped[figure]:.{digits}f}")
        made.add_row(*cells)
    e = result["exponents"]
    made.add_section()
    made.add_row("exponent", f"{e['build']:.2f}", *(
        cell for n in FUNCTIONS for cell in ("", f"{e[n + '.first']:.2f}", f"{e[n + '.evaluation']:.2f}")
    ))  # fmt: skip
    return made


if __name__ == "__main__":
    run("--quick" in sys.argv)
