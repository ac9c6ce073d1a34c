"""Small systems by directors against Exudyn's implicit solvers: time at equal error, and how large a step each survives.

python -m benchmarks.conserving_small [--quick]

Heavy top and Bricard's linkage with energy–momentum steps.  Exudyn integrates Euler parameters with generalised-α (ρ = 0.9 and 1) and the
index-2 trapezoidal rule on one thread, and writes nothing.  The largest stable steps are found in :mod:`benchmarks.conserving_steps`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks import conserving
from benchmarks.mechanisms import time_at

METHODS = ("GeneralizedAlpha", "GeneralizedAlpha ρ=1", "TrapezoidalIndex2")
REDUCTIONS = ("bodies", "joints")
LEVELS = (1e-2, 1e-3, 1e-4, 1e-5)
#: Mass, principal inertias about the centre of mass, its place, rotation, velocity and angular velocity (world).
Body = tuple[float, Sequence[float], np.ndarray, np.ndarray, np.ndarray, np.ndarray]
STILL = np.zeros(3)


@dataclass
class Problem:
    """A system in both tools; ``read`` gives the point whose error is measured from our coordinates."""

    title: str
    end: float
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    read: Callable[[np.ndarray], np.ndarray]
    reference: Callable[[], np.ndarray]
    #: Numbers of steps for the comparison at equal error.
    steps: Sequence[int]


# -- the systems ------------------------------------------------------------------------------------------------------


@cache
def top() -> tuple[Any, Any]:
    """The library's heavy top, leaning by 60°, with 200 rad/s about its axis."""
    from benchmarks.problems import PROBLEMS
    from jourdain import library

    system = library.heavy_top().compile()
    return system, PROBLEMS["B2"].start(system)


@cache
def bricard() -> tuple[Any, Any]:
    """The library's Bricard linkage in its starting position."""
    from jourdain import library

    system = library.bricard().compile()
    return system, system.assemble()


PAIR_RATE, PAIR_STIFFNESS, PAIR_INERTIA = 10.0, 1e6, (0.01, 0.02, 0.025)
PAIR_CENTRES, PAIR_POINTS = ((-0.3, 0.0, 0.0), (0.3, 0.0, 0.0)), ((-0.1, 0.05, 0.0), (0.1, -0.05, 0.02))


def pair_motion(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Velocity and angular velocity of a body of the pair: both turn about the origin, the second one tumbles besides."""
    omega = np.array([0.0, 0.0, PAIR_RATE])
    return np.cross(omega, PAIR_CENTRES[k]), omega + k * np.array([3.0, 5.0, 0.0])


def pair() -> tuple[Any, Any]:
    """Two free bodies without gravity and a stiff spring between points off their centres."""
    import jourdain as jd

    m = jd.Model("stiff pair", gravity=(0, 0, 0))
    bodies: list[Any] = []
    places: dict[str, float] = {}
    rates: dict[str, float] = {}
    for k in range(2):
        bodies.append(m.body(f"body{k}", mass=1.0, inertia=PAIR_INERTIA))
        m.free(f"float{k}", m.ground, bodies[k])
        v, w = pair_motion(k)
        places |= {f"float{k}.{c}": PAIR_CENTRES[k][i] for i, c in enumerate("xyz")}
        rates |= {f"float{k}.{c}": v[i] for i, c in enumerate("xyz")}
        rates |= {f"float{k}.orientation.omega_{c}": w[i] for i, c in enumerate("xyz")}
    first, second = (b.at(*np.subtract(p, c)) for b, p, c in zip(bodies, PAIR_POINTS, PAIR_CENTRES, strict=True))
    m.spring("spring", first, second, stiffness=PAIR_STIFFNESS, length=_distance())
    system = m.compile()
    return system, system.state(places, rates)


def _distance() -> float:
    return float(np.linalg.norm(np.subtract(*PAIR_POINTS)))


def directors(made: tuple[Any, Any]) -> Any:
    """The assembled system of a model at a state."""
    system, state = made
    return system.model.compile(formulation="directors").assembled(state)


# -- the same in Exudyn -----------------------------------------------------------------------------------------------


def free_bodies(end: float, bodies: Sequence[Body], balls: Sequence[tuple[int | None, int, Any]], gravity: float) -> Any:
    """Bodies by Euler parameters with balls (body or None for the ground, body, point at the start); not yet assembled."""
    from scipy.spatial.transform import Rotation

    from benchmarks.peers_exudyn import ExudynModel, _system, items

    container, mbs = _system()
    made = []
    ground = mbs.AddObject(items.ObjectGround())
    for mass, inertia, x, R, v, w in bodies:
        e0, e1, e2, e3 = np.roll(Rotation.from_matrix(R).as_quat(), 1)
        turn = np.array([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]]) @ R.T @ w / 2
        node = mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*x, e0, e1, e2, e3], initialVelocities=[*v, *turn]))
        made.append(mbs.AddObject(items.ObjectRigidBody(mass=mass, inertia=[*inertia, 0, 0, 0], nodeNumber=node)))
        marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=made[-1]))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, 0, -gravity]))

    def marker_at(k: int | None, point: Any) -> int:
        local = point if k is None else bodies[k][3].T @ (np.asarray(point) - bodies[k][2])
        found: int = mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground if k is None else made[k], localPosition=list(local)))
        return found

    for a, b, point in balls:
        mbs.AddObject(items.ObjectJointSpherical(markerNumbers=[marker_at(a, point), marker_at(b, point)]))
    model = ExudynModel(mbs, end, lambda q, v: {}, "bodies", container)
    return model, marker_at


def top_peer(end: float) -> Any:
    """The heavy top; the point read is on its axis, at a distance of 1 m."""
    lean = np.pi / 3
    R = np.array([[1, 0, 0], [0, np.cos(lean), -np.sin(lean)], [0, np.sin(lean), np.cos(lean)]])
    w, x = R @ [1.0, 2.0 * np.sin(lean), 200.0], R @ [0.0, 0.0, 0.1]
    model, _ = free_bodies(end, [(1.0, (0.005, 0.005, 0.002), x, R, np.cross(w, x), w)], [(None, 0, STILL)], 9.81)
    model.mbs.Assemble()
    model.read = lambda q, v: dict(zip("xyz", 10 * (x + q[:3]), strict=True))
    return model


def chain_peer(n: int, end: float) -> Any:
    """The open chain of :mod:`benchmarks.conserving`."""
    placed = conserving.poses(n, False)
    bodies = [(conserving.MASS, conserving.INERTIA, x, R, STILL, STILL) for x, R in placed]
    balls = [(i - 1 if i else None, i, (i * conserving.LENGTH, 0.0, 0.0)) for i in range(n)]
    model, _ = free_bodies(end, bodies, balls, conserving.GRAVITY)
    model.mbs.Assemble()
    return model


def pair_peer(end: float) -> Any:
    """The pair with the stiff spring."""
    from benchmarks.peers_exudyn import items

    bodies = [(1.0, PAIR_INERTIA, np.array(PAIR_CENTRES[k]), np.eye(3), *pair_motion(k)) for k in range(2)]
    model, marker_at = free_bodies(end, bodies, [], 0.0)
    ends = [marker_at(k, PAIR_POINTS[k]) for k in range(2)]
    model.mbs.AddObject(items.ObjectConnectorSpringDamper(markerNumbers=ends, stiffness=PAIR_STIFFNESS, referenceLength=_distance()))
    model.mbs.Assemble()
    return model


def bricard_peer() -> Any:
    """Bricard's linkage by bodies; the point read is P3."""
    from benchmarks.peers_exudyn import bricard_bodies

    model = bricard_bodies()
    read = model.read
    model.read = lambda q, v: {n: x for n, x in read(q, v).items() if not n.startswith("P3_v")}
    return model


def problems() -> list[Problem]:
    """The systems compared at equal error."""

    def axis() -> np.ndarray:
        return np.array(_fine(*top(), 2.0).frame("top").rotation[-1][:, 2])

    def p3() -> np.ndarray:
        return np.array(_fine(*bricard(), 10.0).frame("rod2.end").position[-1])

    turns, swings = (500, 1000, 2000, 4000, 8000, 16000), (62, 125, 250, 500, 1000, 2000)
    # P3 is the end of the second bar, 1 m along its director −y
    return [
        Problem("heavy top, 2 s", 2.0, lambda: directors(top()), lambda: top_peer(2.0), lambda q: q[9:12], axis, turns),
        Problem("Bricard, 10 s", 10.0, lambda: directors(bricard()), bricard_peer, lambda q: q[12:15] - q[18:21], p3, swings),
    ]


def _fine(system: Any, start: Any, end: float) -> Any:
    return system.simulate(start, end, method="dop853", rtol=1e-12, atol=1e-13)


# -- running ----------------------------------------------------------------------------------------------------------


def march(system: Any, end: float, step: float, reduction: str, iterations: int = 20) -> tuple[np.ndarray | None, dict[str, float]]:
    """Energy–momentum steps: final coordinates (None when it fails) and figures of the run."""
    from jourdain.elements.discrete.schemes import scheme
    from jourdain.solvers.stepping import frame as ap

    run, _ = system.new_run(scheme("energy-momentum"), reduction, 0.0, end, step, 1, 1e-12, iterations)
    run.begin()
    begun = time.process_time()
    rows, reason = run.march()
    spent = time.process_time() - begun
    _, q, _, _, book = rows.joined()
    energy, count = book[:, ap.TOTAL], run.count
    figures = {
        "cpu": spent, "drift": float(np.abs(energy - energy[0]).max()), "kinetic": float(book[:, 0].max()), "steps": int(count.steps),
        "halvings": int(count.halvings), "iterations": float(count.iterations / max(1, count.steps)),
    }  # fmt: skip
    return (q[-1] if reason == ap.FINISHED else None), figures


def equal_error(p: Problem, repeats: int = 3) -> dict[str, Any]:
    """Runs of both tools at several steps, their errors, and times interpolated to common errors."""
    expected, system = p.reference(), p.ours()
    runs: list[dict[str, Any]] = []
    for reduction in REDUCTIONS:
        march(system, p.end, p.end / p.steps[0], reduction)
        for n in p.steps:
            found = [march(system, p.end, p.end / n, reduction) for _ in range(repeats)]
            q, figures = found[0]
            if q is not None:
                figures |= {"error": float(np.linalg.norm(p.read(q) - expected)), "cpu": min(f["cpu"] for _, f in found)}
                runs.append({"tool": "Jourdain", "method": reduction, "n": n, **figures})
    model = p.peer()
    for method in METHODS:
        for n in p.steps:
            loop, final = model.prepare(method, n)
            try:
                spent = min(_timed(loop) for _ in range(repeats))
            except RuntimeError:
                continue
            error = float(np.linalg.norm(np.array(list(final().values())) - expected))
            runs.append({"tool": "Exudyn", "method": method, "n": n, "error": error, "cpu": spent})
    rows = {}
    for level in LEVELS:
        best = {tool: time_at([r for r in runs if r["tool"] == tool], level, "cpu") for tool in ("Jourdain", "Exudyn")}
        rows[f"{level:g}"] = {t: {"seconds": b[0], "method": b[1]} for t, b in best.items() if b}
    return {"title": p.title, "runs": runs, "levels": rows}


def _timed(loop: Callable[[], Any]) -> float:
    begun = time.process_time()
    loop()
    return time.process_time() - begun


def run(quick: bool = False) -> dict[str, Any]:
    """Both comparisons; prints tables and returns the figures."""
    from rich.console import Console
    from rich.table import Table

    from benchmarks import conserving_steps

    made = Table("problem", "error", "Jourdain, ms", "Exudyn, ms", "ratio", title="Time for the same error (processor time)")
    cases = [equal_error(p, 1 if quick else 3) for p in problems()]
    for case in cases:
        for level, row in case["levels"].items():
            cells = [f"{1e3 * row[t]['seconds']:.2f} {row[t]['method']}" if t in row else "–" for t in ("Jourdain", "Exudyn")]
            ratio = f"{row['Exudyn']['seconds'] / row['Jourdain']['seconds']:.1f}×" if len(row) == 2 else "–"
            made.add_row(case["title"], level, *cells, ratio)
    Console().print(made)
    return {"equal_error": cases, "largest_steps": conserving_steps.run(quick)}


if __name__ == "__main__":
    run("--quick" in sys.argv)
