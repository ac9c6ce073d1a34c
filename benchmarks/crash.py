"""Crashes of trains: one run, many runs, cost over cars, the S-beam, and the same train written for SciPy.  Processor times, minima of repeated runs.

python -m benchmarks.crash
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from scipy.integrate import solve_ivp  # noqa: E402

import jourdain as jd  # noqa: E402

lib = jd.library
LE = lib.crush_device([1e6, 1.5e6, 2e6], [0.1, 0.3, 0.6], 1e8, traction=1e6, name="LE")
HE = lib.crush_device([1.5e6, 2e6, 2.5e6], [0.2, 0.6, 1.2], 1e8, name="HE")


def least(f: Callable[[], Any], repeats: int = 15) -> float:
    """The smallest processor time of a call, after one that compiles."""
    f()
    found = []
    for _ in range(repeats):
        begun = time.process_time()
        f()
        found.append(time.process_time() - begun)
    return min(found)


def systems() -> list[jd.System]:
    """The three scenarios of the design of a train's devices, the first by half."""
    train = lib.train(["40 t", "45 t", "50 t"], couplers=LE, front=HE)
    return [m.compile() for m in (lib.barrier(train, "27.5 km/h"), lib.truck(train, "90 km/h"), lib.buffer_stop(train, "30 km/h"))]


def designs(task: tuple[int, int]) -> float:
    """Many designs in three scenarios each, with their measures; the processor time that it took."""
    begun = time.process_time()
    seed, count = task
    rng = np.random.default_rng(seed)
    made = systems()
    for _ in range(count):
        le, he = np.sort(rng.uniform(0.3e6, 4e6, 3)), np.sort(rng.uniform(0.3e6, 4.5e6, 3))
        values = {f"coupler.level{i + 1}": x for i, x in enumerate(le)} | {f"front.level{i + 1}": x for i, x in enumerate(he)}
        for s in made:
            s.set_parameters(**values)
            lib.crash_measures(s.simulate(t=0.8))
    return time.process_time() - begun


def scipy_train(rtol: float) -> np.ndarray:
    """The half train for solve_ivp, as one would write it: crush so far as a list that each call renews; its speeds and places at 0.8 s."""
    mass = np.array([40e3, 45e3, 50e3])

    def virgin(d: float, levels: tuple[float, ...], ends: tuple[float, ...]) -> float:
        f, before, start = 0.0, 0.0, 0.0
        for level, end in zip(levels, ends, strict=True):
            f += min(max(1e8 * (d - start), 0.0), level - before)
            before, start = level, end
        return f

    crushed = [0.0, 0.0, 0.0]

    def rhs(t: float, x: np.ndarray) -> np.ndarray:
        q = x[:3]
        force = np.zeros(4)
        for i, (d, device) in enumerate(((q[0] - q[1], LE), (q[1] - q[2], LE), (q[2], HE))):
            D = max(d, crushed[i])
            force[i + 1] = max(virgin(D, device.levels, device.ends) - 1e8 * (D - d), -device.traction)
        return np.concatenate((x[3:], (force[:3] - force[1:]) / mass))

    x, t = np.concatenate((np.zeros(3), np.full(3, 27.5 / 3.6))), 0.0

    def turn(i: int) -> Callable[[float, np.ndarray], float]:
        def guard(t: float, x: np.ndarray) -> float:
            return float(x[3 + i] - x[4 + i]) if i < 2 else float(x[5])

        guard.terminal, guard.direction = True, -1  # type: ignore[attr-defined]
        return guard

    while t < 0.8:
        sol = solve_ivp(rhs, (t, min(t + 1e-6, 0.8)), x, rtol=rtol, atol=1e-10)  # away from the turn that ended the last piece
        t, x = float(sol.t[-1]), sol.y[:, -1]
        if t >= 0.8:
            break
        sol = solve_ivp(rhs, (t, 0.8), x, rtol=rtol, atol=1e-10, events=[turn(i) for i in range(3)], max_step=5e-3)
        t, x = float(sol.t[-1]), sol.y[:, -1]
        for i, d in enumerate((x[0] - x[1], x[1] - x[2], x[2])):
            crushed[i] = max(crushed[i], float(d))
    return x


def main() -> None:
    """Prints one table."""
    s = systems()[0]
    run = least(lambda: s.simulate(t=0.8), 40)
    measured = least(lambda: lib.crash_measures(s.simulate(t=0.8)), 40)
    print(f"three cars, 0.8 s: {1e3 * run:.2f} ms, with its measures {1e3 * measured:.2f} ms (goal 5 ms)")
    begun = time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        used = list(pool.map(designs, [(1, 1050), (2, 1050)]))
    wall = time.perf_counter() - begun
    print(f"6 300 runs with measures in two processes: {max(used):.1f} s of processor time each, {wall:.1f} s of wall time (goal 30 s)")
    beam = lib.s_beam((0.0661, 0.05, 0.0788)).compile()
    rough = {"method": "dopri5", "rtol": 1e-6, "atol": 1e-8}
    print(f"S-beam, 12 modes, 50 ms: {least(lambda: beam.simulate(None, 0.05, **rough), 3):.3f} s (goal 0.5 s)")
    growth()
    beside_scipy(s)


def growth() -> None:
    """Cost of a step over cars, one device each; of 201 outputs, so that memory for every step's interpolant is no part of it."""
    before = 0.0
    for n in (4, 8, 16, 32, 64, 128):
        line = lib.barrier(lib.train([40e3] * n, couplers=LE, front=HE), "20 km/h").compile()
        steps = int(line.simulate(t=0.8, step=2e-4, method="rk4", outputs=201).statistics["steps"])
        per = least(lambda line=line: line.simulate(t=0.8, step=2e-4, method="rk4", outputs=201), 9) / steps  # type: ignore[misc]
        told = f", exponent {np.log2(per / before):.2f}" if before else ""
        print(f"{n} cars: {1e6 * per:.2f} µs a step of rk4, {1e9 * per / n:.0f} ns a car{told}")
        before = per


def beside_scipy(s: jd.System) -> None:
    """The same train by solve_ivp, at errors that are no larger here."""
    exact = s.simulate(None, 0.8, rtol=1e-12, atol=1e-13)
    last = np.array([exact[f"car{i}.{what}"][-1] for what in ("displacement", "displacement_rate") for i in (1, 2, 3)])
    for rtol in (1e-6, 1e-8):
        theirs = float(np.abs(scipy_train(rtol) - last).max())
        cost = least(lambda rtol=rtol: scipy_train(rtol), 2)  # type: ignore[misc]
        for own in 10.0 ** np.arange(-5.0, -12.0, -0.5):
            sol = s.simulate(None, 0.8, rtol=own, atol=1e-2 * own)
            ours = float(np.abs(np.array([sol[n][-1] for n in _states()]) - last).max())
            if ours <= theirs:
                break
        mine = least(lambda own=own: s.simulate(None, 0.8, rtol=own, atol=1e-2 * own), 20)  # type: ignore[misc]
        print(
            f"SciPy at rtol {rtol:g}: error {theirs:.1e}, {1e3 * cost:.0f} ms; here error {ours:.1e}, {1e3 * mine:.2f} ms: {cost / mine:.0f} ×"
        )


def _states() -> list[str]:
    return [f"car{i}.{what}" for what in ("displacement", "displacement_rate") for i in (1, 2, 3)]


if __name__ == "__main__":
    main()
