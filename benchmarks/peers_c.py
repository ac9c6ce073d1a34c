"""Mechanisms written by hand in C with the Runge–Kutta method of order 8 and projection after each step, compiled by gcc for this machine."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.best_peers import BUILT, HERE, made
from jourdain.solvers.ode.methods.tableaus import DOP853

#: Ways to compile; the second computes sines side by side in vectors.
WAYS = {"-O3": ["-O3", "-march=native"], "-Ofast": ["-Ofast", "-march=native", "-DSIDE_BY_SIDE"]}


def _sum(name: str, weights: Any) -> str:
    terms = [f"{w!r} * k[{j}][i]" for j, w in enumerate(map(float, weights)) if w != 0.0]
    return f"#define {name}(i) ({' + '.join(terms)})"


def table() -> str:
    """The sums of all stages, of the step and of both estimates of its error."""
    rows = [_sum(f"SUM_{s}", row) for s, row in enumerate(DOP853.a, 1)]
    last = [_sum("SUM_B", DOP853.b), _sum("SUM_HIGH", DOP853.error), _sum("SUM_LOW", DOP853.error_low)]
    return "\n".join([f"#define STAGES {DOP853.stages}", *rows, *last, ""])


@dataclass
class ByHand:
    """A program in C with its start and what to read at the end; the way to compile is the method's second word."""

    name: str
    start: np.ndarray
    end: float
    columns: dict[str, int]
    form: str = "by hand"

    def library(self, way: str) -> Any:
        """The compiled program."""
        if not shutil.which("gcc"):
            raise ImportError("gcc is not installed")
        folder = BUILT / "by hand"
        folder.mkdir(parents=True, exist_ok=True)
        header, source = folder / "table.h", HERE / f"{self.name}.c"
        if not header.exists() or header.read_text() != table():
            header.write_text(table())
        target = folder / f"{self.name}{way}.so"
        command = ["gcc", *WAYS[way], "-fPIC", "-shared", f"-I{folder}", str(source), "-o", str(target), "-lm"]
        return ctypes.CDLL(str(made(target, [source, HERE / "dop853.h", header, Path(__file__)], command)))

    def prepare(self, method: str, setting: float) -> tuple[Callable[[], Any], Callable[[], dict[str, float]]]:
        """A whole run, and a reader of its end."""
        solve, x, counts = self.library(method.split()[-1]).solve, self.start.copy(), np.zeros(3, dtype=np.int64)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, counts)]
        numbers = [ctypes.c_double(v) for v in (self.end, setting, 1e-2 * setting)]

        def loop() -> None:
            x[:] = self.start
            if solve(pointers[0], *numbers, pointers[1]) != 0:
                raise RuntimeError(f"{self.name} by hand did not get to its end")

        return loop, lambda: {n: float(x[i]) for n, i in self.columns.items()}

    def evaluation(self, way: str, n: int = 20_000) -> Callable[[], Any]:
        """So many evaluations of the right-hand side."""
        f, pointer = self.library(way).evaluations, self.start.ctypes.data_as(ctypes.c_void_p)
        return lambda: f(pointer, ctypes.c_longlong(n))


def andrews() -> ByHand:
    """Andrews' squeezer from the start of the reference problem."""
    from benchmarks.problems import ANDREWS_ANGLES, PROBLEMS

    p = PROBLEMS["A03"]
    state = p.start(p.system)
    names = [f"{n}.angle" for n in ANDREWS_ANGLES]
    q = [state.q[p.system.coordinate_names.index(n)] for n in names]
    columns = {n: i for i, n in enumerate(ANDREWS_ANGLES)} | {f"d_{n}": 7 + i for i, n in enumerate(ANDREWS_ANGLES)}
    return ByHand("andrews", np.array([*q, *[0.0] * 7]), float(p.times[-1]), columns)


def slider_crank(crank: float, rod: float, speed: float, end: float, **_: Any) -> ByHand:
    """The slider-crank, outstretched, its crank turning; sizes and masses are those in the program."""
    start = np.array([0.0, 0.0, crank + rod, speed, -crank * speed / rod, 0.0])
    return ByHand("slider_crank", start, end, {"angle": 0, "rate": 3, "piston": 2, "speed": 5})
