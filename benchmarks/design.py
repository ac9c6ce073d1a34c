"""Design: gradients and studies against their goals, and against CasADi with CVODES and Diffrax where these are installed.

    python -m benchmarks.run design [--quick]

Processor time, smallest of several rounds in turns, all in one run.  The half car has 16 parameters and runs for 3 s; errors are those of the gradient against a run at 1e-12.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .gradients import least

#: Goals by the name of a line.
GOALS = {
    "car with loops, adjoint / simulation": 5.0, "car, first gradient / first simulation": 3.0, "vehicle, 8 directions / simulation": 4.0, "CasADi + CVODES / ours": -30.0, "Diffrax / ours": -10.0,
    "evolution of 630 runs by two processes, s": 5.0, "evolution of 6 300 runs by two processes, s": 60.0, "exponent over steps": 1.05, "exponent over bodies": 1.1, "map of 41 x 41 stiffnesses, s": 0.1, "million steps in 64 MB, growth MB": 96.0,
}  # fmt: skip
COMFORT = "body.z_acc^2"
#: Largest step of the peers, s: at rest they would step over the bump, which our runs do not, whose steps end at its edges.
LONGEST = 0.02


def _half_car() -> tuple[Any, Any, list[str]]:
    import jourdain as jd
    from jourdain.library import half_car

    m = half_car()
    s = m.compile()
    wrt = [n for n in s.parameters if not n.startswith("gravity")]
    return s, {"comfort": jd.criteria.integral(COMFORT)}, wrt


def ours(rounds: int) -> dict[str, float]:
    """Simulation and adjoint gradient of the half car at 1e-6, and its error."""
    import jourdain as jd

    s, criteria, wrt = _half_car()
    run = jd.Analysis(s, "simulate", {}, t=3.0, method="dopri5")
    exact = jd.Analysis(s, "simulate", {}, t=3.0, method="dop853", rtol=1e-12, atol=1e-14, max_step=2e-3).gradient(
        criteria, wrt, method="adjoint"
    )
    g = run.gradient(criteria, wrt, method="adjoint")
    alone, whole = least([lambda: s.simulate({}, t=3.0, method="dopri5"), lambda: run.gradient(criteria, wrt, method="adjoint")], rounds)
    return {
        "simulation": alone,
        "gradient": whole,
        "error": _error(g.matrix[0], exact.matrix[0]),
        "exact": exact.matrix[0].tolist(),
        "names": wrt,
    }  # type: ignore[dict-item]


def at_error(mine: dict[str, Any], error: float, rounds: int) -> tuple[float, float]:
    """Seconds of our gradient at the loosest tolerance whose error is not larger than another's, and that error."""
    import jourdain as jd

    s, criteria, wrt = _half_car()
    for rtol in 10.0 ** np.arange(-3.0, -8.1, -1.0 / 3.0):
        run = jd.Analysis(s, "simulate", {}, t=3.0, method="dopri5", rtol=rtol, atol=1e-3 * rtol)
        own = _error(run.gradient(criteria, wrt, method="adjoint").matrix[0], np.array(mine["exact"]))
        if own <= error:
            break
    return least([lambda: run.gradient(criteria, wrt, method="adjoint")], rounds)[0], own


def _error(found: Any, exact: Any) -> float:
    return float(np.max(np.abs(np.asarray(found) - exact)) / np.max(np.abs(exact)))


def _equations(p: Any, x: Any, t: Any, f: Any) -> tuple[list[Any], Any]:
    """Rates of the half car and its integrand, in the functions ``f`` (sin, where) of a library."""
    z, th, z1, z2, dz, dth, dz1, dz2 = x
    a, b = p["front"], p["rear"]

    def road(t0: Any) -> Any:
        s = (t - t0) * p["speed"] / p["length"]
        return f.where((s > 0) & (s < 1) if f.name != "casadi" else f.both(s), p["height"] * f.sin(np.pi * s), 0.0 * s)

    F1 = p["spring1"] * (z - a * th - z1) + p["damper1"] * (dz - a * dth - dz1)
    F2 = p["spring2"] * (z + b * th - z2) + p["damper2"] * (dz + b * dth - dz2)
    az = -(F1 + F2) / p["body"]
    rates = [dz, dth, dz1, dz2, az, (a * F1 - b * F2) / p["inertia"]]
    t1 = p["start"]
    rates += [(F1 + p["tyre1"] * (road(t1) - z1)) / p["wheel1"], (F2 + p["tyre2"] * (road(t1 + (a + b) / p["speed"]) - z2)) / p["wheel2"]]
    return rates, az * az


def casadi(mine: dict[str, Any], values: dict[str, float], rounds: int) -> dict[str, float]:
    """The same by CasADi with CVODES: adjoint gradient."""
    import casadi as ca

    class Functions:
        name = "casadi"
        sin, where = staticmethod(ca.sin), staticmethod(ca.if_else)

        @staticmethod
        def both(s: Any) -> Any:
            return ca.logic_and(s > 0, s < 1)

    names = mine["names"]
    x, q, t = ca.SX.sym("x", 8), ca.SX.sym("p", len(names)), ca.SX.sym("t")
    rates, integrand = _equations({n: q[i] for i, n in enumerate(names)}, [x[i] for i in range(8)], t, Functions)
    dae = {"x": x, "p": q, "t": t, "ode": ca.vertcat(*rates), "quad": integrand}
    F = ca.integrator(
        "F",
        "cvodes",
        dae,
        0.0,
        3.0,
        {"abstol": 1e-9, "reltol": 1e-6, "quad_err_con": True, "max_num_steps": 10**6, "max_step_size": LONGEST},
    )
    P = ca.MX.sym("p", len(names))
    out = F(x0=np.zeros(8), p=P)["qf"]
    G = ca.Function("G", [P], [out, ca.gradient(out, P)])
    given = np.array([values[n] for n in names])
    alone, whole = least([lambda: F(x0=np.zeros(8), p=given), lambda: G(given)], rounds)
    return {"simulation": alone, "gradient": whole, "error": _error(np.array(G(given)[1]).ravel(), np.array(mine["exact"]))}


def diffrax(mine: dict[str, Any], values: dict[str, float], rounds: int) -> dict[str, float]:
    """The same by Diffrax (dopri5, double precision, checkpointed adjoint), its compilation apart."""
    import jax
    import jax.numpy as jnp
    from diffrax import ODETerm, PIDController, SaveAt, Tsit5, diffeqsolve

    jax.config.update("jax_enable_x64", True)

    class Functions:
        name = "jax"
        sin, where = staticmethod(jnp.sin), staticmethod(jnp.where)

    names = mine["names"]

    def comfort(p: Any) -> Any:
        def rate(t: Any, x: Any, _: Any) -> Any:
            rates, integrand = _equations({n: p[i] for i, n in enumerate(names)}, [x[i] for i in range(8)], t, Functions)
            return jnp.stack([*rates, integrand])

        control = PIDController(rtol=1e-6, atol=1e-9, dtmax=LONGEST)
        return diffeqsolve(
            ODETerm(rate), Tsit5(), 0.0, 3.0, 1e-3, jnp.zeros(9), stepsize_controller=control, saveat=SaveAt(t1=True), max_steps=16384
        ).ys[0, 8]

    value, slope = jax.jit(comfort), jax.jit(jax.value_and_grad(comfort))
    given = jnp.array([values[n] for n in names])
    begun = time.process_time()
    g = np.asarray(slope(given)[1])
    compiled = time.process_time() - begun
    alone, whole = least([lambda: value(given).block_until_ready(), lambda: slope(given)[1].block_until_ready()], rounds)
    return {"simulation": alone, "gradient": whole, "error": _error(g, np.array(mine["exact"])), "compilation": compiled}


def car(rounds: int) -> dict[str, float]:
    """The 3-D car with closed loops and Magic Formula tyres, by 16 of its parameters."""
    import jourdain as jd
    from jourdain.library import car as cars

    from .car import lane_change

    s = cars.car(lane_change, cruise=True).compile()
    x = s.assemble({}, velocities=cars.rolling(25.0))
    run = jd.Analysis(s, "simulate", x, t=5.0, method="dopri5")
    criteria, wrt = {"sway": jd.criteria.integral("chassis.y_rate^2")}, list(s.parameters)[:16]
    alone, whole = least([lambda: s.simulate(x, t=5.0, method="dopri5"), lambda: run.gradient(criteria, wrt, method="adjoint")], rounds)
    return {"simulation": alone, "gradient": whole, "ratio": whole / alone}


def directions(rounds: int) -> float:
    """Forward, 8 directions, over a simulation of the plane vehicle."""
    import jourdain as jd

    from .gradients import DESIGN, vehicle

    s = vehicle(2).compile()
    run = jd.Analysis(s, "simulate", {}, t=8.0)
    criteria = {"comfort": jd.criteria.integral("t^2*driver.acceleration.z^2")}
    alone, whole = least(
        [lambda: s.simulate({}, t=8.0), lambda: run.gradient(criteria, [*DESIGN, "extra0", "extra1"], method="forward")], rounds
    )
    return whole / alone


def exponents(rounds: int) -> tuple[float, float]:
    """Of the cost of an adjoint gradient over steps and over bodies."""
    import jourdain as jd
    from jourdain.library import plane_vehicle

    bump = {t: jd.Analysis(plane_vehicle(active=100.0).compile(), "simulate", {}, t=t, max_step=2e-3) for t in (2.0, 16.0)}
    criteria = {"comfort": jd.criteria.integral("t^2*driver.acceleration.z^2")}
    cost = least([lambda a=a: a.gradient(criteria, ["d_F", "c_F"], method="adjoint") for a in bump.values()], rounds)
    rows = {n: jd.Analysis(row(n).compile(), "simulate", {"x0": 1.0}, t=2.0, method="dopri5", max_step=5e-3) for n in (8, 64)}
    more = least(
        [lambda a=a: a.gradient({"e": jd.criteria.integral("x0.displacement^2")}, ["k", "c"], method="adjoint") for a in rows.values()],
        rounds,
    )
    return float(np.log(cost[1] / cost[0]) / np.log(8.0)), float(np.log(more[1] / more[0]) / np.log(8.0))


def row(n: int) -> Any:
    """Masses in a row, joined by springs and dampers."""
    import jourdain as jd

    m = jd.Model("row", gravity=(0, 0, 0))
    k, c = m.parameter("k", 100.0), m.parameter("c", 0.1)
    joints = [m.prismatic(f"x{i}", m.ground, m.body(f"b{i}", mass=1.0), axis="x") for i in range(n)]
    for i, j in enumerate(joints):
        near = [joints[q] for q in (i - 1, i + 1) if 0 <= q < n]
        m.force(j, sum((k * (o.position - j.position) for o in near), -k * j.position - c * j.velocity))
    return m


def long_run() -> dict[str, float]:
    """A gradient of a million steps of 100 states within 64 MB: seconds, growth of the process, and its time against the same steps all kept (a tenth of them)."""
    import resource

    import jourdain as jd

    s, h = row(50).compile(), 1e-3
    criteria = {"e": jd.criteria.integral("x0.displacement^2")}

    def plan(steps: int) -> Any:
        return jd.Analysis(s, "simulate", {"x0": 1.0}, t=steps * h, method="dopri5", max_step=h, max_steps=10**8)

    first = plan(5000)
    for memory in ("2 MB", "1 GB"):
        first.gradient(criteria, ["k", "c"], method="adjoint", memory=memory)
    found = {}
    for name, steps, memory in (("blocks", 10**6, "64 MB"), ("kept", 10**5, "10 GB")):
        a = plan(steps)
        a._own = first._own
        before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        a.gradient(criteria, ["k", "c"], method="adjoint", memory=memory)
        found |= {
            f"{name} s": time.process_time() - begun,
            f"{name} MB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        }
    return found


def stiffness_map(rounds: int) -> float:
    """Seconds for a map of 41 × 41 least principal stiffnesses."""
    from jourdain.library import Hexapod, hexapod_map

    return least([lambda: hexapod_map(Hexapod("I", 1.44))], rounds)[0]


def evolution(workers: Any = None) -> dict[str, float]:
    """Seconds of the published evolutions of trains: 18 designs × 35 generations, and 70 × 30 with three crashes a design."""
    from jourdain import library

    found = {}
    for name, problem, ask in (
        ("630 runs", library.crash_test_problem(), {"population": 18, "generations": 35, "crossover": (0.9, 60), "mutation": (0.2, 20)}),
        (
            "6 300 runs",
            library.train_devices_problem(),
            {"population": 70, "generations": 30, "crossover": (0.9, 20), "mutation": (1 / 6, 20)},
        ),
    ):
        problem.space.at(problem.space.scaled({v.name: v.value for v in problem.variables}))  # derived and compiled
        begun = time.perf_counter()
        problem.pareto("nsga2", seed=1, progress=False, workers=workers, **ask)
        found[name] = time.perf_counter() - begun
    return found


def first_gradient() -> dict[str, float]:
    """Seconds of processor time of the car with loops in programs of their own with an empty cache: derivation, compilation and the first simulation; the first
    gradient behind it; and all of a program that asks for the gradient alone."""
    found = {}
    for both in (True, False):
        with TemporaryDirectory() as cache:
            code = f"from benchmarks.design import _first; _first({both})"
            told = subprocess.run(
                [sys.executable, "-c", code], env=os.environ | {"JOURDAIN_CACHE": cache}, capture_output=True, text=True, check=True
            )
        *simulated, gradient = map(float, told.stdout.split())
        found |= {"simulation": simulated[0], "gradient": gradient} if both else {"gradient alone": gradient}
    return found


def _first(simulates: bool) -> None:
    import jourdain as jd
    from jourdain.library import car as cars

    from .car import lane_change

    begun = time.process_time()
    s = cars.car(lane_change, cruise=True).compile()
    x = s.assemble({}, velocities=cars.rolling(25.0))
    if simulates:
        s.simulate(x, t=5.0, method="dopri5")
        print(time.process_time() - begun)
        begun = time.process_time()
    run = jd.Analysis(s, "simulate", x, t=5.0, method="dopri5")
    run.gradient({"sway": jd.criteria.integral("chassis.y_rate^2")}, list(s.parameters)[:16], method="adjoint")
    print(time.process_time() - begun)


def independent(seconds: float = 3.0, runs: int = 500, rounds: int = 7) -> float:
    """What two cores of this machine give at most: a share of the runs in a program of its own alone, over the same beside a second such program."""
    code = f"from benchmarks.design import _share; _share({seconds}, {runs})"
    programs = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for _ in range(2)
    ]

    def asked(some: list[subprocess.Popen[str]]) -> float:
        for p in some:
            assert p.stdin is not None
            p.stdin.write("go\n")
            p.stdin.flush()
        return max(float(p.stdout.readline()) for p in some if p.stdout is not None)

    try:
        asked(programs)
        alone, both = zip(*((min(asked(programs[:1]), asked(programs[1:])), asked(programs)) for _ in range(rounds)), strict=True)
    finally:
        for p in programs:
            p.kill()
            p.wait()
    return min(alone) / min(both)


def _share(seconds: float, runs: int) -> None:
    from jourdain.analysis.workers import results

    task, jobs = _swings(seconds, runs)
    for _ in sys.stdin:
        begun = time.perf_counter()
        list(results(task, jobs, crew=None))
        print(time.perf_counter() - begun, flush=True)


def _swings(seconds: float, runs: int) -> tuple[Any, list[Any]]:
    """Runs of a pendulum with other masses and dampings."""
    import jourdain as jd
    from jourdain.analysis.design.search import Looks

    m = jd.Model("pendulum")
    hinge = m.revolute(
        "hinge", m.ground, m.body("rod", mass=m.parameter("mass", 1.0), com=(0, 0, -0.5), inertia=(0.02, 0.02, 0.02)), axis="y"
    )
    m.force(hinge, -m.parameter("d", 0.3) * hinge.velocity)
    swing = jd.Analysis(m.compile(), "simulate", {"hinge.angle": 1.0}, t=seconds)
    problem = jd.Problem(
        swing,
        {"mass": (0.5, 1.5), "d": (0.1, 1.0)},
        {"way": jd.criteria.integral("hinge.angle_rate^2"), "size": jd.criteria.rms("hinge.angle")},
    )
    jobs = [(x, False) for x in np.random.default_rng(0).uniform(size=(runs, 2))]
    return Looks(swing, problem.variables, problem.space.criteria), jobs


def shared(workers: Any, seconds: float = 3.0, runs: int = 1000) -> dict[str, float]:
    """Seconds of many short runs of a pendulum by the caller and by workers that are ready, in turns, and the efficiency of two of them."""
    from jourdain.analysis.workers import crew_for, results

    task, jobs = _swings(seconds, runs)
    best = {"alone": np.inf, "shared": np.inf}
    with crew_for(workers) as crew:
        for k in range(8):
            for name, who in (("alone", None), ("shared", crew)):
                begun = time.perf_counter()
                list(results(task, jobs, crew=who))
                if k:
                    best[name] = min(best[name], time.perf_counter() - begun)
    return best | {"efficiency": best["alone"] / best["shared"] / 2}


def run(quick: bool = False) -> dict[str, Any]:
    """All lines against their goals."""
    rounds = 3 if quick else 9
    found: dict[str, Any] = {"million steps": long_run()}
    lines = {"million steps in 64 MB, growth MB": found["million steps"]["blocks MB"], "million steps in 64 MB / all kept": found["million steps"]["blocks s"] / (10 * found["million steps"]["kept s"])}  # fmt: skip
    mine = found["half car"] = ours(rounds)
    lines |= {
        "half car, simulation ms": 1e3 * mine["simulation"],
        "half car, gradient ms": 1e3 * mine["gradient"],
        "half car, error": mine["error"],
    }
    values = _half_car()[0].parameters
    for name, peer, module in (("CasADi + CVODES", casadi, "casadi"), ("Diffrax", diffrax, "diffrax")):
        if find_spec(module) is None:
            print(f"{name} is not installed")
            continue
        other = found[name] = peer(mine, values, rounds)
        spent, error = at_error(mine, other["error"], rounds)
        lines |= {f"{name}, gradient ms": 1e3 * other["gradient"], f"{name}, error": other["error"]}
        lines |= {f"ours with error {error:.1e}, ms": 1e3 * spent, f"{name} / ours": other["gradient"] / spent}
    found["car"] = car(rounds)
    lines["car with loops, adjoint / simulation"] = found["car"]["ratio"]
    first = found["first gradient"] = first_gradient()
    lines["car, first gradient / first simulation"] = first["gradient"] / first["simulation"]
    lines["car, a gradient alone / first simulation"] = first["gradient alone"] / first["simulation"]
    lines["vehicle, 8 directions / simulation"] = directions(rounds)
    lines["exponent over steps"], lines["exponent over bodies"] = exponents(rounds)
    lines["map of 41 x 41 stiffnesses, s"] = stiffness_map(rounds)
    for seconds in (0.4, 3.0, 10.0):
        lines[f"500 runs of {seconds:g} s beside each other, bound"] = independent(seconds)
        for word in (2, "processes:2"):
            lines[f"1 000 runs of {seconds:g} s by {word}, efficiency"] = shared(word, seconds)["efficiency"]
    if find_spec("pymoo") is not None and not quick:
        lines |= {f"evolution of {n} by two processes, s": x for n, x in evolution("processes:2").items()}
    for name, x in lines.items():
        goal = GOALS.get(name)
        told = (
            ""
            if goal is None
            else f"  goal {'at least' if goal < 0 else 'at most'} {abs(goal):g}: {'met' if (x >= -goal if goal < 0 else x <= goal) else 'missed'}"
        )
        print(f"{name:<42} {x:10.4g}{told}")
    return found | {"lines": lines}


__all__ = ["run"]
