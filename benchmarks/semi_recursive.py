"""The published comparison of the semi-recursive formulation in kind (García de Jalón et al. 2003, tables 1 and 2).

* time of one evaluation of the accelerations of the five-link suspension and of the car, by every way with loops and every reference
  point, next to the recursive formulation;
* removed rods against cut ball joints over a step of the road (published: cut balls +26.5 % in an interpreter);
* zero-skipping of the human body's 42-body tree (published: up to 13 % of the whole time);
* size from which articulated bodies need fewer operations than the factored mass matrix (published: n > 7).

    python -m benchmarks.run semi_recursive [--quick]
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from .car import processor_time

#: Largest µs for one evaluation.
TARGETS = {"five-link, rods removed": 1.5, "car, no tyres": 8.0, "car, Magic Formula": 8.0}
#: Published µs for one evaluation (Fortran, 2003).
PUBLISHED = {"five-link, rods removed": 101.3, "car, no tyres": 625.0, "car, Magic Formula": 625.0}


def models() -> dict[str, Any]:
    """Models by title, with the velocities they are evaluated at."""
    from jourdain.library import car as cars
    from jourdain.library import suspensions as s

    return {
        "five-link, rods removed": (lambda: s.five_link_suspension("removed"), {}),
        "five-link, cut balls": (lambda: s.five_link_suspension("bodies"), {}),
        "car, no tyres": (lambda: cars.car(tyres=None), cars.rolling(25.0)),
        "car, Magic Formula": (cars.car, cars.rolling(25.0)),
    }


def evaluations(quick: bool) -> dict[str, dict[str, Any]]:
    """µs and operations of one evaluation by way.

    "elimination" takes closed positions and velocities and eliminates by full pivoting at every call; "partition" is the whole function of
    the independent coordinates, loops closed by Newton from the last position; "straight line" takes closed positions and velocities with
    a partition chosen beforehand.
    """
    from jourdain.formalisms.coordinates.semi_recursive import REFERENCES
    from jourdain.solvers.ode.timing import seconds_per_call
    from jourdain.systems.formulations import formulate
    from jourdain.systems.tree.projected import NativeSystem
    from jourdain.systems.tree.reduced import ReducedSystem

    found: dict[str, dict[str, Any]] = {}
    for title, (make, rates) in models().items():
        system = make().compile()
        state = system.assemble({}, velocities=rates)
        timed = lambda rhs, x, t=state.t: 1e6 * seconds_per_call(rhs, t, x, rounds=5 if quick else 25)
        reduced = ReducedSystem(system, state)
        rows: dict[str, Any] = {
            "recursive, elimination": (
                timed(NativeSystem(system, start=state).rhs, state.x),
                system.function("descriptor").operations.flops,
            ),
            "recursive, partition": (timed(reduced.rhs, reduced.x0), system.function("reduced_terms").operations.flops),
        }
        for point in REFERENCES[:1] if quick else REFERENCES:
            for loops in ("partition", "range-space", "null-space"):
                if loops == "range-space" and system.nv > 40:
                    continue  # the Schur complement of 42 multipliers in one straight line takes long to compile
                f = formulate(system, "semi-recursive", reduction=loops, point=point)
                rows[f"{point}, {loops}"] = (timed(*f.evaluation(state)), f.operations.flops)
            straight = formulate(system, "semi-recursive", point=point).straight_line(state)
            args = straight.arguments(np.array([state.t]), state.x, np.append(system.input_values(), 0.0), np.zeros(system.nv))
            rows[f"{point}, straight line"] = (1e6 * _call_time(straight.address, args), straight.operations.flops)
        found[title] = rows
    return found


def _call_time(address: int, args: Any) -> float:
    from .chain import call_time

    return float(min(call_time(address, args) for _ in range(5)))


def echelon(repeat: int) -> dict[str, Any]:
    """Seconds of processor time for 2 s over a step of 5 cm by Adams' method, semi-recursive with independent coordinates."""
    import jourdain as jd
    from jourdain.library import suspensions as s

    found: dict[str, Any] = {}
    for rods in ("removed", "bodies"):
        model = s.five_link_suspension(rods, road=lambda t: jd.step(t, 0.2, 0.21, 0.0, 0.05))
        f = model.compile(formulation="semi-recursive", point="body")
        start = f.reference.assemble({})
        best, sol = processor_time(partial(f.simulate, start, 2.0, method="adams", rtol=1e-5, atol=1e-7), repeat)
        found[rods] = {"seconds": best, "evaluations": sol.statistics["rhs"], "real_time": 2.0 / best}
    per_call = {k: v["seconds"] / v["evaluations"] for k, v in found.items()}
    found["ratio"], found["ratio_per_evaluation"] = (
        found["bodies"]["seconds"] / found["removed"]["seconds"],
        per_call["bodies"] / per_call["removed"],
    )
    return found


def sparsity() -> dict[str, Any]:
    """The 42-body human tree solved from the leaves to the root (no fill-in) and from the root to the leaves (full)."""
    from jourdain.formalisms.coordinates.semi_recursive import SemiRecursive
    from jourdain.formalisms.functions.registry import assemble, vector_result
    from jourdain.formalisms.tree.mass_factor import SparseFactor
    from jourdain.library.human import human
    from jourdain.native.function import compile_function

    s = SemiRecursive(human(), "body")
    M, Q = s.mass_matrix, s.forces
    solutions = {
        "leaves to root": SparseFactor(M).solve(Q),
        "root to leaves": SparseFactor([row[::-1] for row in M[::-1]]).solve(Q[::-1])[::-1],
    }
    n, found = (
        len(M),
        {"coordinates": len(M), "non_zeros": sum(e.data != 0.0 if e.is_number else True for row in M for e in row) / len(M) ** 2},
    )
    rng = np.random.default_rng(0)
    state = [np.zeros(1), np.concatenate([rng.uniform(-0.3, 0.3, len(s.q)), rng.normal(size=n)])]
    values = {}
    for title, a in solutions.items():
        symbolic = assemble(s, "solved", "t x", [vector_result("a", a)])
        f = compile_function(symbolic, s.model.parameter_set.values())
        values[title] = f(*state)
        found[title] = {"operations": f.operations.flops, "microseconds": 1e6 * _call_time(f.address, f.arguments(*state, np.zeros(n)))}
    found["difference"] = float(np.abs(values["leaves to root"] - values["root to leaves"]).max() / np.abs(values["leaves to root"]).max())
    found["gain"] = 1.0 - found["leaves to root"]["microseconds"] / found["root to leaves"]["microseconds"]
    return found


def crossing(longest: int) -> dict[str, Any]:
    """Operations of forward dynamics of spatial chains: articulated bodies, factored mass matrix, semi-recursive; where they cross."""
    from jourdain.formalisms.coordinates.semi_recursive import SemiRecursive
    from jourdain.formalisms.tree.articulated_body import accelerations
    from jourdain.formalisms.tree.mass_factor import SparseFactor, accelerations_by_factor
    from jourdain.formalisms.tree.tree import Tree
    from jourdain.symbolic.expr import PARAMETER
    from jourdain.symbolic.graph import count, topological

    rows = []
    for n in range(2, longest + 1):
        model = chain(n)
        tree = Tree(model)
        none = [0.0 * v for v in tree.v]
        ways = {"articulated": accelerations(tree, none), "factored": accelerations_by_factor(tree, none)}
        for point in ("origin", "body"):
            s = SemiRecursive(model, point)
            ways[f"semi-recursive, {point}"] = SparseFactor(s.mass_matrix).solve(s.forces)
        rows.append({"n": n} | {k: count(e for e in topological(a) if e.deps & ~PARAMETER).flops for k, a in ways.items()})
    names = [k for k in rows[0] if k not in ("n", "articulated")]
    last = {k: max((r["n"] for r in rows if r["articulated"] >= r[k]), default=1) for k in names}
    return {"rows": rows, "from": {k: n + 1 if n < longest else None for k, n in last.items()}}


def chain(n: int) -> Any:
    """A chain of n bodies with full inertia on revolute joints about changing skew axes."""
    import jourdain as jd

    m = jd.Model(f"chain of {n}")
    before: Any = m.ground
    for i in range(n):
        inertia = [[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.025]]
        body = m.body(f"b{i}", mass=1.0 + 0.1 * i, com=(0.1, 0.02, -0.03), inertia=inertia)
        frame = before if before is m.ground else before.at(0.3, 0.05, 0.1, rotation=[("x", 0.4 + 0.1 * i), ("z", 0.3)])
        m.revolute(f"j{i}", frame, body, axis="z")
        before = body
    return m


def run(quick: bool = False) -> dict[str, Any]:
    """All figures."""
    from rich.console import Console
    from rich.table import Table

    repeat = 3 if quick else 15
    result = {"evaluations": evaluations(quick), "echelon": echelon(repeat), "human": sparsity(), "crossing": crossing(8 if quick else 20)}
    console = Console()
    for title, rows in result["evaluations"].items():
        goal = f", target ≤ {TARGETS[title]:g} µs, published {PUBLISHED[title]:g} µs" if title in TARGETS else ""
        table = Table(title=f"{title}{goal}")
        for column in ("way", "µs", "+ and × of the terms"):
            table.add_column(column, justify="left" if column == "way" else "right")
        for way, (time, flops) in rows.items():
            table.add_row(way, f"{time:.2f}", str(flops))
        console.print(table)
    e, h, c = result["echelon"], result["human"], result["crossing"]
    console.print(
        f"step of the road: cut balls take {e['ratio']:.2f} times the time of removed rods, {e['ratio_per_evaluation']:.2f} for one evaluation "
        f"(published 1.27); {e['removed']['real_time']:.0f} times real time (published 16.7)"
    )
    console.print(
        f"human body, {h['coordinates']} coordinates, {100 * h['non_zeros']:.0f} % of the mass matrix filled: "
        f"{h['leaves to root']['operations']} against {h['root to leaves']['operations']} operations, "
        f"{h['leaves to root']['microseconds']:.2f} against {h['root to leaves']['microseconds']:.2f} µs: {100 * h['gain']:.0f} % less"
    )
    sizes = ", ".join(f"{k}: {n if n else 'beyond ' + str(c['rows'][-1]['n'])}" for k, n in c["from"].items())
    console.print(f"chain of n bodies from which articulated bodies need fewer operations (published: n > 7): {sizes}")
    return result


if __name__ == "__main__":
    run("--quick" in sys.argv)
