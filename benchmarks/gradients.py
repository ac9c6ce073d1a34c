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


def least(functions: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Seconds of processor time of each, the smallest; they take turns, so that other work on the machine falls on all of them."""
    found: list[list[float]] = [[] for _ in functions]
    for k in range(rounds + 1):
        for f, times in zip(functions, found, strict=True):
            begun = time.process_time()
            f()
            if k:
                times.append(time.process_time() - begun)
    return [min(times) for times in found]


def vehicle(many: int) -> Any:
    """The plane vehicle; ``many`` further springs on the body, each with parameters of its own, make many variables."""
    from jourdain.library import plane_vehicle

    m = plane_vehicle(active=100.0)
    seat = m.joints["seat"]
    for i in range(many):
        m.force(seat, -m.parameter(f"extra{i}", 1.0 + 0.1 * i, "N/m") * seat.position ** (1 + i % 3), name=f"extra{i}")
    return m


def run(quick: bool = False) -> dict[str, Any]:
    """The vehicle by 6 and 60 variables, the forward method, and a shorter run."""
    from rich.console import Console
    from rich.table import Table

    import jourdain as jd

    rounds = 5 if quick else 15
    comfort = {"comfort": jd.criteria.integral("t^2*driver.acceleration.z^2")}
    found: dict[str, Any] = {}
    table = Table("run", "simulation ms", "gradient ms", "times")
    plain, large = vehicle(0).compile(), vehicle(54).compile()
    many = [*DESIGN, *(f"extra{i}" for i in range(54))]

    def lines(s: Any, seconds: float, wanted: dict[str, tuple[list[str], str]]) -> None:
        bump = jd.Analysis(s, "simulate", {}, t=seconds)
        runs = [lambda w=w, m=m: bump.gradient(comfort, w, method=m) for w, m in wanted.values()]
        alone, *whole = least([lambda: s.simulate({}, t=seconds), *runs], rounds)
        for name, spent in zip(wanted, whole, strict=True):
            found[name] = {"simulation": alone, "gradient": spent, "ratio": spent / alone}
            table.add_row(name, f"{1e3 * alone:.2f}", f"{1e3 * spent:.2f}", f"{spent / alone:.2f}")

    lines(plain, 8.0, {"vehicle, adjoint, 6 variables": (DESIGN, "adjoint"), "vehicle, forward, 6 variables": (DESIGN, "forward")})
    lines(large, 8.0, {"54 more laws, adjoint, 6 variables": (DESIGN, "adjoint"), "54 more laws, adjoint, 60 variables": (many, "adjoint")})
    lines(plain, 2.0, {"vehicle, 2 s instead of 8, adjoint": (DESIGN, "adjoint")})
    Console().print(table)
    few, all_of_them = (found[f"54 more laws, adjoint, {n} variables"]["gradient"] for n in (6, 60))
    found["sixty over six"] = all_of_them / few
    print(f"60 variables cost {all_of_them / few:.2f} times 6 (target {MORE}); target of the gradient {TARGET} times a simulation")
    return found
