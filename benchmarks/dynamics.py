"""Tree dynamics against Pinocchio on public robots: batches, native loops, single calls, derive and compile times."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROBOTS = {"ur5": ("ur5_robot.urdf", "fixed"), "a1": ("a1.urdf", "free"), "talos": ("talos_reduced.urdf", "free")}
STATES = 10_000
TARGETS = {"inverse_dynamics": 15.0, "mass_matrix": 15.0, "forward_dynamics": 12.0, "inverse_dynamics_derivatives": 5.0}


def urdf_path(name: str) -> Path:
    """A robot file of the PyPI package example-robot-data."""
    import pinocchio

    for parent in Path(pinocchio.__file__).parents:
        found = sorted(parent.glob(f"cmeel.prefix/share/example-robot-data/robots/**/{name}")) or sorted(
            parent.glob(f"share/example-robot-data/robots/**/{name}")
        )
        if found:
            return found[0]
    raise FileNotFoundError(f"{name}: install the extra 'peers' (example-robot-data)")


def best_time(f: Callable[[], Any], repeat: int = 7) -> float:
    """Shortest of several runs, s."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def pinocchio_times(path: Path, base: str, n: int) -> dict[str, float]:
    """Seconds for each call of Pinocchio in a Python loop, and for a bare single call."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if base == "free" else pin.buildModelFromUrdf(str(path))
    data = model.createData()
    rng = np.random.default_rng(1)
    model.lowerPositionLimit[:] = np.where(np.isfinite(model.lowerPositionLimit), model.lowerPositionLimit, -1.0).clip(-1, 1)
    model.upperPositionLimit[:] = np.where(np.isfinite(model.upperPositionLimit), model.upperPositionLimit, 1.0).clip(-1, 1)
    q = [pin.randomConfiguration(model) for _ in range(n)]
    v, a = rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv))
    calls: dict[str, Callable[[int], Any]] = {
        "inverse_dynamics": lambda i: pin.rnea(model, data, q[i], v[i], a[i]),
        "mass_matrix": lambda i: pin.crba(model, data, q[i]),
        "forward_dynamics": lambda i: pin.aba(model, data, q[i], v[i], a[i]),
        "inverse_dynamics_derivatives": lambda i: pin.computeRNEADerivatives(model, data, q[i], v[i], a[i]),
    }

    def loop(f: Callable[[int], Any]) -> None:
        for i in range(n):
            f(i)

    return {name: best_time(lambda f=f: loop(f), 5) / n for name, f in calls.items()}


def native_loop_time(function: Any, arrays: list[np.ndarray], outs: list[np.ndarray], n: int) -> float:
    """Seconds a state of the scalar code called in a native loop (no Python inside)."""
    from benchmarks.native_loop import loop

    sizes = np.array([a.shape[-1] for a in arrays] + [o[0].size for o in outs], dtype=np.int64)
    args = function.arguments(*arrays, *outs)
    return best_time(lambda: loop(function.address, args.copy(), sizes, n)) / n


def measure(name: str, n: int = STATES) -> dict[str, Any]:
    """All figures of one robot."""
    from jourdain.io import read_urdf

    file, base = ROBOTS[name]
    path = urdf_path(file)
    peer = pinocchio_times(path, base, min(n, 2000))
    system = read_urdf(path, base=base, meshes=False).compile()
    rng = np.random.default_rng(0)
    q = np.ascontiguousarray(system.configuration.random(rng, n))
    v, a = rng.normal(size=(n, system.nv)), rng.normal(size=(n, system.nv))
    arguments = {"mass_matrix": (q,)}
    result: dict[str, Any] = {"robot": name, "nv": system.nv}
    os.environ["JOURDAIN_THREADS"] = "1"
    for function_name in TARGETS:
        f = system.function(function_name)
        arrays = list(arguments.get(function_name, (q, v, a)))
        outs = [np.empty((n, *shape)) for shape in f.outputs.values()]
        out = outs[0] if len(outs) == 1 else tuple(outs)
        f(*arrays, out=out)
        batch = best_time(lambda f=f, arrays=arrays, out=out: f(*arrays, out=out)) / n
        # what the memory allows: writing the results once, and the same batch cut so that results stay in the cache
        copy = [np.zeros_like(o) for o in outs]
        floor = best_time(lambda outs=outs, copy=copy: [np.copyto(a, b) for a, b in zip(outs, copy, strict=True)]) / n
        few = 256
        small = tuple(o[:few] for o in outs)
        small_arrays = [x[:few] for x in arrays]
        small_out = small[0] if len(small) == 1 else small
        cached = best_time(lambda f=f, a=small_arrays, o=small_out: f(*a, out=o), 30) / few
        one = [x[0].copy() for x in arrays]
        single_outs = [np.empty(shape) for shape in f.outputs.values()]
        single_out = single_outs[0] if len(single_outs) == 1 else tuple(single_outs)

        def singles(f: Any = f, one: list = one, single_out: Any = single_out) -> None:
            for _ in range(2000):
                f(*one, out=single_out)

        single = best_time(singles) / 2000
        loop = native_loop_time(f, arrays, outs, n)
        result[function_name] = {
            "operations": f.operations.flops, "pinocchio_us": peer[function_name] * 1e6, "batch_us": batch * 1e6,
            "write_once_us": floor * 1e6, "batch_in_cache_us": cached * 1e6, "in_cache_ratio": peer[function_name] / cached,
            "loop_us": loop * 1e6, "single_us": single * 1e6, "batch_ratio": peer[function_name] / batch,
            "loop_ratio": peer[function_name] / loop, "single_ratio": peer[function_name] / single,
        }  # fmt: skip
    del os.environ["JOURDAIN_THREADS"]
    return result


_COLD = """
import time
from jourdain.io import read_urdf
from jourdain.native import engine
engine.host()
model = read_urdf({path!r}, base={base!r}, meshes=False)
start = time.perf_counter()
system = model.compile()
for name in ("inverse_dynamics", "mass_and_bias", "forward_dynamics"):
    system.function(name)
print(time.perf_counter() - start)
"""


def compile_times(name: str) -> dict[str, float]:
    """Derive + compile three functions in a fresh process: from nothing, then from the cache."""
    import subprocess
    import sys

    file, base = ROBOTS[name]
    folder = tempfile.mkdtemp()
    environment = {**os.environ, "JOURDAIN_CACHE": folder}
    code = _COLD.format(path=str(urdf_path(file)), base=base)
    times = [
        float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]
    shutil.rmtree(folder)
    return {"cold_s": times[0], "cached_s": times[1]}


def run(quick: bool = False) -> dict[str, Any]:
    """All robots; prints tables and returns the figures."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    names = ["ur5"] if quick else list(ROBOTS)
    figures: dict[str, Any] = {"robots": [measure(n) for n in names]}
    table = Table(title="Tree dynamics: time a state, µs, SIMD on one thread (ratio to Pinocchio called in a Python loop)")
    for column in (
        "robot",
        "function",
        "+ and ×",
        "Pinocchio",
        "batch of 10 000",
        "batch of 256",
        "writing results",
        "native loop",
        "single call",
        "target",
    ):
        table.add_column(column, justify="right")
    for r in figures["robots"]:
        for function_name, target in TARGETS.items():
            d = r[function_name]
            table.add_row(
                r["robot"], function_name, str(d["operations"]), f"{d['pinocchio_us']:.2f}", f"{d['batch_us']:.3f} ({d['batch_ratio']:.0f}×)",
                f"{d['batch_in_cache_us']:.3f} ({d['in_cache_ratio']:.0f}×)", f"{d['write_once_us']:.3f}",
                f"{d['loop_us']:.3f} ({d['loop_ratio']:.1f}×)", f"{d['single_us']:.2f} ({d['single_ratio']:.1f}×)", f"≥ {target:.0f}×",
            )  # fmt: skip
    console.print(table)
    figures["compile"] = {n: compile_times(n) for n in names}
    for n, t in figures["compile"].items():
        console.print(
            f"{n}: derive and compile φ, M and c, accelerations: {t['cold_s']:.2f} s from nothing, {t['cached_s']:.3f} s from cache"
        )
    return figures


if __name__ == "__main__":
    run()
