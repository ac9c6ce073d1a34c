"""Gradients: the adjoint and the forward method against a simulation, by few and by many variables, and over the length of a run.

    python -m benchmarks.run gradients [--quick]

Processor time, smallest of several rounds, all in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: Most times a simulation for an adjoint gradient with its run; most times that for ten times as many variables.
TARGET, MORE = 4.0, 1.15
DESIGN = ["d_F", "d_R", "c_F", "c_R", "h_3", "d_A"]


def least(f: Callable[[], Any], rounds: int) -> float:
    """Seconds of processor time, the smallest."""
    f()
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        f()
        found.append(time.process_time() - begun)
    return min(found)


def vehicle(many: int) -> Any:
    """The plane vehicle; ``many`` further springs on the body, each with parameters of its own, make many variables."""
    from jourdain.library import plane_vehicle

    m = plane_vehicle(active=100.0)
    seat = m.joints["seat"]
    for i in range(many):
        m.force(seat, -m.parameter(f"extra{i}", 1.0 + 0.1 * i, "N/m") * seat.position ** (1 + i % 3), name=f"extra{i}")
    return m


def run(quick: bool = False) -> dict[str, Any]:
    """The vehicle by 6 and 60 variables, the forward method, and runs of 2, 4 and 8 s."""
    from rich.console import Console
    from rich.table import Table

    import jourdain as jd

    rounds = 5 if quick else 15
    comfort = {"comfort": jd.criteria.integral("t^2*driver.acceleration.z^2")}
    found: dict[str, Any] = {}
    table = Table("run", "simulation ms", "gradient ms", "times")
    s = vehicle(54).compile()
    many = [*DESIGN, *(f"extra{i}" for i in range(54))]

    def line(name: str, seconds: float, wrt: list[str], method: str) -> float:
        bump = jd.Analysis(s, "simulate", {}, t=seconds)
        alone = least(lambda: s.simulate({}, t=seconds), rounds)
        whole = least(lambda: bump.gradient(comfort, wrt, method=method), rounds)
        found[name] = {"simulation": alone, "gradient": whole, "ratio": whole / alone}
        table.add_row(name, f"{1e3 * alone:.2f}", f"{1e3 * whole:.2f}", f"{whole / alone:.2f}")
        return whole

    few = line("adjoint, 6 variables, 8 s", 8.0, DESIGN, "adjoint")
    all_of_them = line("adjoint, 60 variables, 8 s", 8.0, many, "adjoint")
    line("forward, 6 variables, 8 s", 8.0, DESIGN, "forward")
    for seconds in (2.0, 4.0):
        line(f"adjoint, 6 variables, {seconds:g} s", seconds, DESIGN, "adjoint")
    Console().print(table)
    found["sixty over six"] = all_of_them / few
    print(f"60 variables cost {all_of_them / few:.2f} times 6 (target {MORE}); target of the gradient {TARGET} times a simulation")
    return found
