"""The main job from end to end: a slider-crank engine described, derived, compiled, assembled, simulated and drawn.

python -m jourdain.demo [FOLDER]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .model import Model
from .model.shapes import box, cylinder
from .symbolic import table

if TYPE_CHECKING:
    from rich.console import Console

    from .results.solution import Solution
    from .systems.state import State
    from .systems.system import System

#: Gas force on the piston in N (it pushes towards the crank) by its distance from the crank's axis in m.
GAS = ([0.08, 0.10, 0.12, 0.14, 0.155, 0.165, 0.17], [0.0, 60.0, 150.0, 330.0, 700.0, 1300.0, 1800.0])


def engine() -> Model:
    """A single-cylinder engine: crank with flywheel, connecting rod and piston; the guide closes the loop."""
    m = Model("engine", gravity=(0, 0, -9.81))
    r, l = m.parameters(r=0.04, l=0.13)
    flywheel = cylinder(radius=0.09, length=0.02, density=7800, axis="y").at(0, 0.03, 0)
    web = box(r, 0.02, 0.02, density=7800, anchor="start")
    crank = m.body("crank", shape=[flywheel, web], colour="#4269d0")
    rod = m.body("rod", shape=box(l, 0.012, 0.02, density=7800, anchor="start"), colour="#efb118")
    piston = m.body("piston", shape=cylinder(radius=0.035, length=0.05, density=2700, axis="x"), colour="#ff725c")
    m.revolute("main", m.ground, crank, axis="y")
    m.revolute("pin", crank.at(r, 0, 0), rod, axis="y")
    m.revolute("wrist", rod.at(l, 0, 0), piston, axis="y")
    guide = m.prismatic("guide", m.ground, piston, axis="x")
    gas = table(*GAS, name="gas")
    m.force(guide, lambda x, v, t: -gas(x), name="gas")
    return m


def run(folder: str | Path = "out") -> Solution:
    """Shows every step on the terminal and writes ``demo.png`` and ``demo.html`` into a folder."""
    from rich.console import Console

    console = Console(highlight=False)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    model = engine()
    heading(console, "The model: a tree of joints and what closes its loop")
    console.print(str(model), markup=False)
    heading(console, "Its equations, derived from the model")
    show_equations(console, model)
    heading(console, "Compiled to machine code, without a compiler on this machine")
    system = show_compilation(console, model)
    heading(console, "The loop closed, 4 s simulated")
    sol = show_simulation(console, system)
    heading(console, "Pictures")
    draw(console, sol, target)
    return sol


def heading(console: Console, text: str) -> None:
    """A line that separates the steps."""
    console.print()
    console.rule(f"[bold]{text}", align="left")


def timed(action: Any) -> tuple[Any, float]:
    """What an action returns and the time it took in s."""
    start = time.perf_counter()
    found = action()
    return found, time.perf_counter() - start


def show_equations(console: Console, model: Model) -> None:
    """The equations in closed form; the inertias of solids are expressions of r and l, too."""
    from .formalisms.explicit import explicit_equations

    text, seconds = timed(lambda: explicit_equations(model).text())
    console.print(text, markup=False, soft_wrap=True)
    console.print(f"[dim]derived and written out in {1e3 * seconds:.0f} ms")


def show_compilation(console: Console, model: Model) -> System:
    """Operation counts and times of the compiled functions."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    system: System = model.compile()
    rows = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("function", "+ and ×", "÷", "sin, cos, …", "ready in", "one call from Python"):
        rows.add_column(title, justify="left" if title == "function" else "right")
    for name in ("inverse_dynamics", "mass_matrix", "descriptor"):
        f, seconds = timed(lambda name=name: system.function(name))
        n = f.operations
        times = f"{1e3 * seconds:.0f} ms", f"{1e6 * call_time(f):.2f} µs"
        rows.add_row(name, *map(str, (n.flops, n.divs, n.functions)), *times)
    console.print(rows)
    return system


def call_time(f: Any, calls: int = 2000) -> float:
    """Time of one call with one state, in s: the best of five series."""
    import numpy as np

    arguments = [np.full(n, 0.1) for n in f.inputs.values()]
    f(*arguments)
    series = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            f(*arguments)
        series.append((time.perf_counter() - start) / calls)
    return min(series)


def show_simulation(console: Console, system: System) -> Solution:
    """Assembles the loop, simulates, and reports accuracy and speed."""
    start: State = system.assemble({"main.angle": 0.3}, velocities={"main.angle_rate": 60.0})
    console.print(str(start.report), markup=False)  # type: ignore[attr-defined]
    console.print("[dim]the integrator is compiled at its first use on a machine, which takes a few seconds")
    sol, first = timed(lambda: system.simulate(start, t=4.0, rtol=1e-10, progress=True))
    sol, again = timed(lambda: system.simulate(start, t=4.0, rtol=1e-10))
    console.print(str(sol), markup=False, soft_wrap=True)
    steps, calls = sol.statistics["steps"], sol.statistics["rhs"]
    wall = sol.statistics["wall_time"]
    console.print(
        f"{steps} steps in {1e3 * wall:.1f} ms: {1e6 * wall / steps:.2f} µs a step, "
        f"{1e6 * wall / calls:.2f} µs an evaluation; "
        f"the first run took {first:.2f} s with loading, the next {again:.3f} s"
    )
    report_energy(console, system, sol)
    return sol  # type: ignore[no-any-return]


def report_energy(console: Console, system: System, sol: Solution) -> None:
    """Energy balance: the gas acts as a spring, so its potential with kinetic and potential energy stays constant."""
    import numpy as np
    from scipy.interpolate import CubicSpline

    f = system.function("constraints")
    q = np.column_stack([sol[name] for name in system.coordinate_names])
    worst = np.abs(f(sol.t[:, None], q)[0]).max()
    console.print(f"loop closed to {worst:.1e} m during the whole run")
    spring = CubicSpline(*GAS, bc_type="natural").antiderivative()
    total = sol["energy.total"] + spring(sol["guide.displacement"])
    drift = np.abs(total - total[0]).max()
    exchanged = np.ptp(sol["energy.kinetic"])
    console.print(f"energy drift with the work of the gas: {drift:.1e} J of {exchanged:.0f} J exchanged")


def draw(console: Console, sol: Solution, folder: Path) -> None:
    """The plot, and the page with the moving engine."""
    try:
        short = sol.between(0.0, 0.5)
        short.plot(
            "main.angle_rate", "guide.displacement", "main.reaction.x", "main.reaction.z",
            unit={"main.angle_rate": "rpm"},
            title="slider-crank engine: speed, piston and main bearing force", file=folder / "demo.png",
        )  # fmt: skip
        console.print(f"wrote {folder / 'demo.png'}", markup=False)
    except ModuleNotFoundError as missing:
        console.print(f"no plot: the package {missing.name} is not installed (pip install 'jourdain\\[plot]')")
    sol.between(0.0, 0.5).save_page(folder / "demo.html", plots=("main.angle_rate", "guide.displacement"))
    console.print(f"wrote {folder / 'demo.html'}: open it in a browser", markup=False)


if __name__ == "__main__":
    run(*sys.argv[1:2])
