"""Chains of N bodies by directors with energy–momentum steps against Exudyn's implicit solvers: time at equal error, growth with N.

python -m benchmarks.conserving [--quick]

The chain hangs on the ground by a ball and starts horizontally; the closed one hangs by both ends, in a zigzag. The error is the largest
of the positions of all bodies against a fine run. Exudyn integrates Euler parameters with the generalised-α method (ρ = 0.9), sparse solver
and modified Newton, on one thread, and writes nothing. Both tools divide steps that do not converge, so times are those of steps taken.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.mechanisms import time_at

LENGTH, MASS, GRAVITY = 0.2, 0.5, 9.81
INERTIA = (1e-4, 2e-3, 2e-3)
END = 0.4
STEPS = (20, 40, 80, 160)


def poses(n: int, closed: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Position of the centre and rotation of every body at the start."""
    made, point = [], np.zeros(3)
    for i in range(n):
        angle = (0.5 if i % 2 else -0.5) if closed else 0.0
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        made.append((point + 0.5 * LENGTH * R[:, 0], R))
        point = point + LENGTH * R[:, 0]
    return made


def ours(n: int, closed: bool) -> Any:
    """The chain by directors."""
    import jourdain as jd
    from jourdain.elements.carriers import Ground
    from jourdain.elements.pairs import Spherical
    from jourdain.elements.rigid import DirectorBody

    s = jd.AssembledSystem("chain")
    numbers = DirectorBody.numbers(MASS, INERTIA, gravity=(0.0, 0.0, -GRAVITY))
    body_type, first, between, end = DirectorBody(), Spherical(a=Ground()), Spherical(), Spherical(b=Ground())
    last: Any = None
    for i, (x, R) in enumerate(poses(n, closed)):
        q = DirectorBody.coordinates_of(x, R)
        body = s.coordinates(f"b{i}", 12, q)
        s.add(body_type, f"mass{i}", {"body": body}, numbers)
        start = x - 0.5 * LENGTH * R[:, 0]
        if last is None:
            s.add(first, f"j{i}", {"b": body}, first.place(start, b=q))
        else:
            s.add(between, f"j{i}", {"a": last[0], "b": body}, between.place(start, a=last[1], b=q))
        last = body, q
    if closed:
        x, R = poses(n, closed)[-1]
        s.add(end, "end", {"a": last[0]}, end.place(x + 0.5 * LENGTH * R[:, 0], a=last[1]))
    return s


def run_ours(system: Any, steps: int, reduction: str = "bodies") -> tuple[float, np.ndarray, dict[str, float]]:
    """CPU time of the march (s), positions of the bodies at the end, energy drift, steps taken and iterations."""
    from jourdain.elements.discrete.schemes import scheme
    from jourdain.solvers.stepping import frame as ap

    run, _ = system.new_run(scheme("energy-momentum"), reduction, 0.0, END, END / steps, 1, 1e-12, 20)
    run.begin()
    begun = time.process_time()
    rows, reason = run.march()
    spent = time.process_time() - begun
    if reason != ap.FINISHED:
        return np.nan, np.full(3, np.nan), {}
    _, q, _, _, book = rows.joined()
    energy, taken = book[:, ap.TOTAL], run.count.steps
    about = {"drift": float(np.abs(energy - energy[0]).max()), "steps": taken, "iterations": run.count.iterations / taken}
    return spent, q[-1].reshape(-1, 12)[:, :3], about


def run_exudyn(n: int, closed: bool, steps: int) -> tuple[float, np.ndarray, int]:
    """The same by Exudyn: CPU time, positions and steps taken; not a number when it fails."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    import exudyn as exu
    from exudyn import utilities as use

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(use.ObjectGround())
    inertia = use.RigidBodyInertia(mass=MASS, inertiaTensor=np.diag(INERTIA))
    bodies, last, at = [], ground, [0.0, 0.0, 0.0]
    for x, R in poses(n, closed):
        body = mbs.CreateRigidBody(inertia=inertia, referencePosition=list(x), referenceRotationMatrix=R, gravity=[0, 0, -GRAVITY])
        markers = [
            mbs.AddMarker(use.MarkerBodyPosition(bodyNumber=b, localPosition=p)) for b, p in ((last, at), (body, [-0.5 * LENGTH, 0, 0]))
        ]
        mbs.AddObject(use.SphericalJoint(markerNumbers=markers))
        last, at = body, [0.5 * LENGTH, 0.0, 0.0]
        bodies.append(body)
    if closed:
        x, R = poses(n, closed)[-1]
        end = list(x + 0.5 * LENGTH * R[:, 0])
        markers = [mbs.AddMarker(use.MarkerBodyPosition(bodyNumber=b, localPosition=p)) for b, p in ((last, at), (ground, end))]
        mbs.AddObject(use.SphericalJoint(markerNumbers=markers))
    mbs.Assemble()
    s = exu.SimulationSettings()
    s.solution.file.write, s.solution.solverInformationFileName = False, ""
    s.timeIntegration.numberOfSteps, s.timeIntegration.endTime, s.timeIntegration.verboseMode = steps, END, 0
    s.timeIntegration.newton.useModifiedNewton = True
    s.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    s.parallel.numberOfThreads = 1
    s.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    begun = time.process_time()
    try:
        mbs.SolveDynamic(s, solverType=exu.DynamicSolverType.GeneralizedAlpha, showHints=False)
    except Exception:
        return np.nan, np.full(3, np.nan), 1
    spent = time.process_time() - begun
    # the solver counts from one, so its index at the end is one more than the steps taken
    taken = mbs.sys["dynamicSolver"].it.currentStepIndex - 1
    return spent, np.array([mbs.GetObjectOutputBody(b, exu.OutputVariableType.Position, [0, 0, 0]) for b in bodies]), taken


def figures_of(n: int, spent: float, steps: int, x: np.ndarray, fine: np.ndarray) -> dict[str, float]:
    """Time of a body's step and of the whole run, steps taken, and the largest error of a position."""
    error = float(np.linalg.norm(x - fine, axis=-1).max())
    return {"us_per_body_step": 1e6 * spent / steps / n, "cpu": spent, "steps": steps, "error": error}


def at_equal_error(rows: list[dict[str, Any]]) -> dict[str, float] | None:
    """Times at the smallest error that both tools reach."""
    runs = {
        tool: [{"method": tool, **row[tool]} for row in rows if tool in row and row[tool]["error"] < np.inf]
        for tool in ("jourdain", "exudyn")
    }
    if not all(runs.values()):
        return None
    level = max(r[-1]["error"] for r in runs.values())
    found = {tool: time_at(r, level, "cpu") for tool, r in runs.items()}
    return {"error": level, **{tool: x[0] for tool, x in found.items() if x}}


def run(quick: bool = False) -> dict[str, Any]:
    """Tables for open and closed chains."""
    sizes = (10, 100) if quick else (10, 30, 100, 300, 1000, 5000)
    figures: dict[str, Any] = {}
    for closed in (False, True):
        for n in sizes:
            system = ours(n, closed)
            run_ours(system, STEPS[0])
            fine = run_ours(system, 1280 if n <= 300 else 640)[1]
            rows = []
            for steps in STEPS if n <= 1000 else STEPS[:2]:
                spent, x, about = run_ours(system, steps)
                row: dict[str, Any] = {"step": END / steps, "jourdain": {**about, **figures_of(n, spent, int(about["steps"]), x, fine)}}
                if n <= 1000:
                    spent, x, taken = run_exudyn(n, closed, steps)
                    row["exudyn"] = figures_of(n, spent, taken, x, fine)
                rows.append(row)
                print(f"{'closed' if closed else 'open'} chain of {n}, {steps} steps: {row}", flush=True)
            figures[f"{'closed' if closed else 'open'} {n}"] = {"rows": rows, "equal": at_equal_error(rows)}
    return figures


if __name__ == "__main__":
    run("--quick" in sys.argv)
