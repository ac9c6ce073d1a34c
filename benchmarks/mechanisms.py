"""Mechanisms and chains against Exudyn and MuJoCo: the time each needs for the same error (work–precision curves).

    python -m benchmarks.run mechanisms [--quick]

Every tool runs its integrators at several steps or tolerances.  The error is taken at the end of the motion: the largest
deviation of positions and velocities from the reference, each relative to its largest value during the motion.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

Columns = dict[str, float]
Reference = dict[str, tuple[float, float]]
Prepare = Callable[[str, float], tuple[Callable[[], Any], Callable[[], Columns]]]

LEVELS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
RTOLS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
OURS = ("dopri5", "dop853", "adams")
#: Our methods where a case asks for others.
OWN_METHODS = {"A05": ("radau", "rosenbrock")}
#: Load average above which wall times mislead: then processor time is compared (every tool has one thread).
BUSY = 0.8
#: Runs shorter than this (s) are repeated within a turn for so long: the first of them also measures how soon caches are filled again.
TURN = 1e-3
#: Ratios asked for, by case and peer; the mechanisms not named have 10 against Exudyn.
TARGETS = {("chain10", "MuJoCo"): 12.0, ("chain100", "MuJoCo"): 5.0}
DEFAULT_TARGET = {"Exudyn": 10.0, "C by hand": 1.0}
SLIDER_CRANK: dict[str, Any] = {"crank": 0.05, "rod": 0.15, "masses": (0.5, 0.4, 0.3), "speed": 100.0, "end": 0.3}
CHAIN = {"length": 0.1, "mass": 0.1, "angle": 0.8, "end": 2.0}


@dataclass
class Run:
    """One integration: how long it took (best wall and processor time, s; also of those alone that came first in a turn) and how wrong its end is."""

    tool: str
    method: str
    setting: float
    loop: Callable[[], Any]
    final: Callable[[], Columns]
    error: float = np.inf
    wall: float = np.inf
    cpu: float = np.inf
    first_wall: float = np.inf
    first_cpu: float = np.inf
    spent: float = 0.0
    repeats: int = 0
    evaluations: int | None = None

    def once(self) -> tuple[float, float]:
        """Runs the time loop, keeps the shortest times and returns these (wall, processor)."""
        cpu, wall = time.process_time(), time.perf_counter()
        result = self.loop()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.wall, self.cpu = min(self.wall, wall), min(self.cpu, cpu)
        self.spent += wall
        statistics = getattr(result, "statistics", None)
        self.evaluations = statistics["rhs"] if statistics else None
        return wall, cpu

    def turn(self) -> None:
        """Runs the time loop, a short one several times."""
        begun = self.spent
        wall, cpu = self.once()
        self.first_wall, self.first_cpu = min(self.first_wall, wall), min(self.first_cpu, cpu)
        while self.spent - begun < TURN:
            self.once()
        self.repeats += 1

    def record(self) -> dict[str, Any]:
        """What is stored."""
        names = ("tool", "method", "setting", "error", "wall", "cpu", "first_wall", "first_cpu", "repeats", "evaluations")
        return {n: getattr(self, n) for n in names}


@dataclass
class Case:
    """A problem with its reference at the end (value and scale of each column) and the runs to make."""

    name: str
    title: str
    reference: Callable[[], Reference]
    runs: list[Run] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, tool: str, model: Any, plan: Iterable[tuple[str, Sequence[float]]]) -> None:
        """Runs of one model by several methods, each at several settings."""
        for method, settings in plan:
            self.runs += [Run(tool, f"{method}, {model.form}", s, *model.prepare(method, s)) for s in settings]

    def measure(self, budget: float) -> None:
        """Every run once for its error, then in turn: twice unless it is very long, and until each had its share of the time (s)."""
        expected = self.reference()
        good = []
        for run in self.runs:
            try:
                run.turn()
                run.error = error(run.final(), expected)
            except RuntimeError as failure:
                self.failures.append(str(failure).splitlines()[0])
                continue
            run.spent = 0.0  # the first call of a method may have loaded code
            good.append(run)
        self.runs = [r for r in good if np.isfinite(r.error)]
        waiting = self.runs
        while waiting := [r for r in waiting if r.repeats < 40 and (r.spent + r.cpu < budget or (r.repeats < 2 and r.cpu < 1.0))]:
            for run in waiting:
                run.turn()


def error(final: Columns, reference: Reference) -> float:
    """Largest deviation over the columns, each relative to its scale."""
    return float(max(abs(x - reference[n][0]) / reference[n][1] for n, x in final.items()))


# -- Jourdain ---------------------------------------------------------------------------------------------------------


@dataclass
class Ours:
    """A compiled system with its start and what to read at the end."""

    system: Any
    start: Any
    end: float
    measure: Callable[[Any], dict[str, np.ndarray]]
    form: str = "joint angles"

    def prepare(self, method: str, setting: float) -> tuple[Callable[[], Any], Callable[[], Columns]]:
        """A whole call of ``simulate`` with output at the end, and a reader of the last solution."""
        last: list[Any] = []
        times = np.array([0.0, self.end])

        def loop() -> Any:
            last[:] = [self.system.simulate(self.start, self.end, method=method, rtol=setting, atol=1e-2 * setting, times=times)]
            return last[0]

        return loop, lambda: {n: float(x[-1]) for n, x in self.measure(last[0]).items()}


def stored(name: str) -> Ours:
    """A problem of the validation suite."""
    from benchmarks.problems import PROBLEMS

    p = PROBLEMS[name]
    return Ours(p.system, p.system.state(p.start(p.system)), float(p.times[-1]), lambda sol: dict(p.measure(sol)))


def stored_reference(name: str) -> Reference:
    """The last row of a stored solution, with the largest values of its columns."""
    from benchmarks.problems import PROBLEMS, reference

    return {n: (float(x[-1]), float(np.abs(x).max())) for n, x in reference(PROBLEMS[name].data).items()}


def our_slider_crank() -> Ours:
    """The slider-crank of the library, outstretched, its crank turning."""
    from jourdain import library

    d = SLIDER_CRANK
    system = library.slider_crank(d["crank"], d["rod"], d["masses"]).compile()
    start = system.assemble({"crank.angle": 0.0}, guess={"piston": d["crank"] + d["rod"]}, velocities={"crank": d["speed"]})
    names = {"angle": "crank.angle", "rate": "crank.angle_rate", "piston": "piston.displacement", "speed": "piston.displacement_rate"}
    return Ours(system, start, d["end"], lambda sol: {n: sol[c] for n, c in names.items()})


@cache
def our_chain(n: int) -> Ours:
    """A chain of uniform rods in the plane, straight at the start."""
    from jourdain.model import Model

    m = Model(f"chain of {n}", gravity=(0, -9.81, 0))
    length, mass = m.parameters(length=CHAIN["length"], mass=CHAIN["mass"])
    across = mass * length**2 / 12
    before: Any = m.ground
    for i in range(n):
        rod = m.body(f"rod{i}", mass=mass, com=(0, -length / 2, 0), inertia=(across, 0, across))
        m.revolute(f"j{i}", before, rod, axis="z")
        before = rod.at(0, -length, 0)
    system = m.compile()

    def read(sol: Any) -> dict[str, np.ndarray]:
        angles = np.cumsum([sol[c] for c in system.coordinate_names], axis=0)
        rates = np.cumsum([sol[c] for c in system.velocity_names], axis=0)
        return {f"angle{i}": x for i, x in enumerate(angles)} | {f"rate{i}": x for i, x in enumerate(rates)}

    return Ours(system, system.state({"j0": CHAIN["angle"]}), CHAIN["end"], read)


# -- references that are not stored -----------------------------------------------------------------------------------


def slider_crank_reference() -> Reference:
    """Without gravity the energy ½J(φ)φ̇² is kept, so t(φ) = ∫ √(J/2E) dφ: quadrature and one root."""
    from scipy.integrate import quad
    from scipy.optimize import brentq

    d = SLIDER_CRANK
    r, l, (m1, m2, m3), speed, end = d["crank"], d["rod"], d["masses"], d["speed"], d["end"]

    def slide(phi: Any) -> tuple[Any, Any]:
        """Piston's place and its derivative by φ."""
        root = np.sqrt(l**2 - (r * np.sin(phi)) ** 2)
        return r * np.cos(phi) + root, -r * np.sin(phi) - r**2 * np.sin(phi) * np.cos(phi) / root

    def inertia(phi: Any) -> Any:
        x = slide(phi)[1]
        turn = r * np.cos(phi) / np.sqrt(l**2 - (r * np.sin(phi)) ** 2)
        centre = ((x - r * np.sin(phi)) / 2) ** 2 + (r * np.cos(phi) / 2) ** 2
        return m1 * r**2 / 3 + m2 * centre + m2 * l**2 / 12 * turn**2 + m3 * x**2

    rest = inertia(0.0) * speed**2
    circle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    turn = 2 * np.pi * float(np.mean(np.sqrt(inertia(circle) / rest)))  # of a periodic function: converged to rounding
    whole = int(end // turn)
    left = end - whole * turn
    part = brentq(
        lambda phi: quad(lambda s: np.sqrt(inertia(s) / rest), 0, phi, epsabs=1e-15, epsrel=1e-14, limit=200)[0] - left,
        0, 2 * np.pi, xtol=1e-15, rtol=1e-15,
    )  # fmt: skip
    rates = np.sqrt(rest / inertia(circle))
    place, slope = slide(part)
    rate = float(np.sqrt(rest / inertia(part)))
    angle = 2 * np.pi * whole + part
    fastest = float(np.abs(slide(circle)[1] * rates).max())
    return {"angle": (angle, angle), "rate": (rate, float(rates.max())), "piston": (place, r + l), "speed": (slope * rate, fastest)}


@cache
def chain_reference(n: int) -> Reference:
    """Our tightest run; the tools' own convergence towards it is the check (see ``agreement``)."""
    ours = our_chain(n)
    times = np.linspace(0, ours.end, 201)
    sol = ours.system.simulate(ours.start, ours.end, method="dop853", rtol=1e-13, atol=1e-14, times=times)
    columns = ours.measure(sol)
    scale = {k: max(float(np.abs(x).max()) for n, x in columns.items() if n.startswith(k)) for k in ("angle", "rate")}
    return {n: (float(x[-1]), scale["rate" if n.startswith("rate") else "angle"]) for n, x in columns.items()}


# -- the cases --------------------------------------------------------------------------------------------------------


def steps(*numbers: int) -> tuple[float, ...]:
    """Numbers of equal steps."""
    return tuple(float(n) for n in numbers)


def exudyn_plans(name: str) -> list[tuple[Any, list[tuple[str, Sequence[float]]]]]:
    """Exudyn's models and settings for a case.

    Left out after trial: generalised-α without damping (ρ = 1), which diverges or is hardly better; the index-2 trapezoidal rule on
    A02, which does not pass the singular positions; and forms that were slower at the same error (A02 with 40 loops and A03 as
    trees, A05 as bodies with joints or by explicit methods, the chains as bodies with fine steps).
    """
    from benchmarks import peers_exudyn as x
    from benchmarks.problems import ANDREWS_START

    alpha, trapezoidal = "GeneralizedAlpha", "TrapezoidalIndex2"
    tolerances = (1e-4, 1e-6, 1e-8, 1e-10)
    many, some = steps(250, 500, 1000, 2000, 4000, 8000, 16000, 32000), steps(125, 250, 500, 1000, 2000, 4000, 8000)
    explicit = [("RK44", steps(250, 500, 1000, 2000, 4000)), ("RK67", steps(30, 60, 125, 250, 500, 1000, 2000)), ("DOPRI5", tolerances)]
    if name == "A01":
        return [(x.pendulum(), [(alpha, many), (trapezoidal, many)]), (x.pendulum_tree(), [*explicit, (trapezoidal, many)])]
    if name == "A02-2":
        return [(x.n_four_bar(2), [(alpha, many)]), (x.n_four_bar_tree(2), [(alpha, some)])]
    if name == "A02-40":
        return [(x.n_four_bar(40), [(alpha, steps(500, 1000, 2000, 4000))])]
    if name == "A03":
        return [(x.andrews(ANDREWS_START), [(alpha, many), (trapezoidal, many)])]
    if name == "A04":
        return [(x.bricard_bodies(), [(trapezoidal, steps(500, 1000, 2000))]), (x.bricard_tree(), [(alpha, many), (trapezoidal, some)])]
    if name == "A05":
        return [(x.governor_tree(), [(alpha, some), (trapezoidal, some)])]
    if name == "slider-crank":
        return [
            (x.slider_crank(**SLIDER_CRANK), [(alpha, many), (trapezoidal, many)]),
            (x.slider_crank_tree(**SLIDER_CRANK), [(alpha, some), (trapezoidal, some)]),
        ]
    if name == "chain10":
        tree = x.chain_tree(10, **CHAIN)
        return [(tree, [("RK44", some), ("RK67", steps(125, 250, 500, 1000, 2000)), ("DOPRI5", tolerances)]),
                (x.planar_chain(10, **CHAIN), [(trapezoidal, steps(500, 1000, 2000, 4000))])]  # fmt: skip
    return [(x.chain_tree(100, **CHAIN), [("RK67", steps(1000))]), (x.planar_chain(100, **CHAIN), [(trapezoidal, steps(1000, 2000, 4000))])]


def mujoco_plans(name: str) -> list[tuple[Any, list[tuple[str, Sequence[float]]]]]:
    """MuJoCo's models and settings for a case (trees only)."""
    if name not in ("A01", "chain10", "chain100"):
        return []
    from benchmarks import peers_mujoco as x

    if name == "A01":
        return [(x.pendulum(), [("RK4", steps(60, 125, 250, 500, 1000, 2000, 4000, 8000)), ("implicit", steps(1000, 4000, 16000))])]
    n = int(name.removeprefix("chain"))
    fine = steps(250, 500, 1000, 2000, 4000, 8000, 16000) if n == 10 else steps(500, 1000, 2000, 4000, 8000)
    return [(x.chain(n, **CHAIN), [("RK4", fine), ("implicit", steps(2000, 8000) if n == 10 else steps(2000))])]


def hand_written_plans(name: str) -> list[tuple[Any, list[tuple[str, Sequence[float]]]]]:
    """Programs in C written for the one mechanism."""
    if name not in ("A03", "slider-crank"):
        return []
    from benchmarks import peers_c as x

    model = x.andrews() if name == "A03" else x.slider_crank(**SLIDER_CRANK)
    return [(model, [(f"DOP853 {way}", RTOLS) for way in x.WAYS])]


TITLES = {
    "A01": "simple pendulum, 10 s", "A02-2": "2 four-bars, 10 s", "A02-40": "40 four-bars, 10 s", "A03": "Andrews' squeezer, 0.03 s",
    "A04": "Bricard, 10 s", "A05": "stiff governor, 10 s", "slider-crank": "slider-crank, 0.3 s", "chain10": "chain of 10 links, 2 s",
    "chain100": "chain of 100 links, 2 s",
}  # fmt: skip
PEERS: dict[str, Callable[[str], list[tuple[Any, list[tuple[str, Sequence[float]]]]]]] = {
    "Exudyn": exudyn_plans, "MuJoCo": mujoco_plans, "C by hand": hand_written_plans,
}  # fmt: skip


def ours(name: str) -> Ours:
    """Our model of a case."""
    if name == "slider-crank":
        return our_slider_crank()
    return our_chain(int(name.removeprefix("chain"))) if name.startswith("chain") else stored(name)


def case(name: str) -> Case:
    """A case with the runs of every tool that is installed."""
    if name == "slider-crank":
        made = Case(name, TITLES[name], slider_crank_reference)
    elif name.startswith("chain"):
        made = Case(name, TITLES[name], lambda: chain_reference(int(name.removeprefix("chain"))))
    else:
        made = Case(name, TITLES[name], lambda: stored_reference(name))
    rtols = (1e-3, 1e-4, 1e-6, 1e-8) if name == "A02-40" else RTOLS
    made.add("Jourdain", ours(name), [(m, rtols) for m in OWN_METHODS.get(name, OURS)])
    for tool, plans in PEERS.items():
        try:
            for model, plan in plans(name):
                made.add(tool, model, plan)
        except ImportError as missing:
            made.failures.append(f"{tool} left out: {missing}")
    return made


# -- equal error ------------------------------------------------------------------------------------------------------


def curve(runs: Sequence[dict[str, Any]], clock: str) -> list[tuple[float, float]]:
    """(error, time) of one method, in the order of its runs (coarse to fine); a run counts no better than the next finer one.

    So an error that is small by accident (a zero crossing of the error) is not rewarded.
    """
    errors = [r["error"] for r in runs]
    guarded = [max(e, f) for e, f in zip(errors, [*errors[1:], 0.0], strict=True)]
    return [(e, r[clock]) for e, r in zip(guarded, runs, strict=True)]


def time_at(runs: Sequence[dict[str, Any]], level: float, clock: str = "wall") -> tuple[float, str] | None:
    """The shortest time of a tool for an error and the method that has it; interpolated on logarithmic scales."""
    best: tuple[float, str] | None = None
    for method in dict.fromkeys(r["method"] for r in runs):
        points = curve([r for r in runs if r["method"] == method], clock)
        reached = [i for i, (e, _) in enumerate(points) if e <= level]
        if not reached:
            continue
        i = reached[0]
        seconds = points[i][1]
        if i > 0:
            (e0, t0), (e1, t1) = points[i - 1], points[i]
            share = np.log(e0 / level) / np.log(e0 / max(e1, 1e-300))
            seconds = float(np.exp(np.log(t0) + share * np.log(t1 / t0)))
        if best is None or seconds < best[0]:
            best = (seconds, method)
    return best


def compare(record: dict[str, Any], clock: str) -> dict[str, Any]:
    """Times at common errors and ratios to each peer."""
    tools = {t: [r for r in record["runs"] if r["tool"] == t] for t in ("Jourdain", *PEERS)}
    rows: dict[str, Any] = {}
    for level in LEVELS:
        found = {t: time_at(runs, level, clock) for t, runs in tools.items()}
        row: dict[str, dict[str, Any]] = {t: {"seconds": x[0], "method": x[1]} for t, x in found.items() if x}
        seconds = {t: x[0] for t, x in found.items() if x}
        for peer in set(row) & set(PEERS) if "Jourdain" in row else ():
            row[peer]["ratio"] = seconds[peer] / seconds["Jourdain"]
        rows[f"{level:g}"] = row
    summary = {}
    for peer in PEERS:
        ratios = {level: row[peer]["ratio"] for level, row in rows.items() if "ratio" in row.get(peer, {})}
        if ratios:
            target = TARGETS.get((record["name"], peer), DEFAULT_TARGET.get(peer))
            middle = min(ratios, key=lambda x: abs(np.log(float(x) / 1e-5)))
            summary[peer] = {"smallest": min(ratios.values()), "level": middle, "ratio": ratios[middle], "target": target}
    return {"levels": rows, "summary": summary}


def overhead(system: Any, start: Any, clock: str) -> float:
    """Seconds of a call of ``simulate`` that hardly integrates: what a call costs whatever the motion."""
    times = np.array([0.0, 1e-9])
    now = time.perf_counter if clock == "wall" else time.process_time

    def call() -> float:
        begin = now()
        system.simulate(start, 1e-9, method="dop853", times=times, rtol=1e-3)
        return now() - begin

    return min(call() for _ in range(30))


_COMPILE = """
import json, sys, time
import numpy as np
import jourdain
from benchmarks import mechanisms
mechanisms.ours("A01").prepare("dop853", 1e-6)[0]()
times = {}
for name in sys.argv[1:]:
    begin = time.perf_counter()
    o = mechanisms.ours(name)
    o.system.simulate(o.start, 1e-9 * o.end, method="dop853")
    times[name] = time.perf_counter() - begin
print(json.dumps(times))
"""


def compile_times(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Model, equations, machine code, assembly and a first step in a fresh process: from nothing, then from the cache (s)."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JOURDAIN_CACHE": folder}
        cold, cached = (
            json.loads(
                subprocess.run([sys.executable, "-c", _COMPILE, *names], env=environment, capture_output=True, text=True, check=True).stdout
            )
            for _ in range(2)
        )
    return {n: {"cold_s": cold[n], "cached_s": cached[n]} for n in names}


def measure(name: str, budget: float, clock: str) -> dict[str, Any]:
    """All figures of one case."""
    made = case(name)
    made.measure(budget)
    record: dict[str, Any] = {"name": name, "title": made.title, "runs": [r.record() for r in made.runs], "failures": made.failures}
    mine = ours(name)
    record |= compare(record, clock) | {"overhead_s": overhead(mine.system, mine.start, clock)}
    finest = {t: min((r.error for r in made.runs if r.tool == t), default=None) for t in ("Jourdain", *PEERS)}
    return record | {"agreement": {t: e for t, e in finest.items() if e is not None}}


def run(quick: bool = False) -> dict[str, Any]:
    """All cases; prints the table and returns the figures."""
    from rich.console import Console

    console = Console()
    names = ["A01", "A03", "chain10"] if quick else list(TITLES)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    clock = "wall" if load <= BUSY else "cpu"
    cases = []
    for name in names:
        console.print(f"{name}: {TITLES[name]}", style="dim")
        cases.append(measure(name, 0.1 if quick else 0.6, clock))
    others = [n for n in names if n != "A01"]
    figures = {"cases": cases, "load": load, "clock": clock, "compile": compile_times(others) if not quick else {}}
    console.print(table(figures))
    if load > BUSY:
        text = f"load average {load:.1f} at the start: other programs ran, so processor time is compared and the figures are preliminary"
        console.print(text, style="yellow")
    return figures


def table(figures: dict[str, Any]) -> Any:
    """Times at equal error as a rich table."""
    from rich.table import Table

    made = Table(title="Time for the same error, ms (ratio to Jourdain)")
    for column in ("problem", "error", "Jourdain", *PEERS):
        made.add_column(column, justify="right" if column != "problem" else "left")
    for record in figures["cases"]:
        for i, (level, row) in enumerate(record["levels"].items()):
            cells = [cell(row.get(tool)) for tool in ("Jourdain", *PEERS)]
            made.add_row(record["title"] if i == 0 else "", level, *cells, end_section=i == len(LEVELS) - 1)
    return made


def cell(entry: dict[str, Any] | None) -> str:
    """Milliseconds, method and ratio."""
    if entry is None:
        return "–"
    ratio = f" ({entry['ratio']:.1f}×)" if "ratio" in entry else ""
    return f"{1e3 * entry['seconds']:.2f}{ratio} {entry['method'].split(',')[0]}"


if __name__ == "__main__":
    run("--quick" in sys.argv)
