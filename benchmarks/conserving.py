"""Chains of N bodies by directors with energy–momentum steps against Exudyn's implicit solvers: time at equal error, growth with N.

python -m benchmarks.conserving [--quick]

The chain hangs on the ground by a ball and starts horizontally; the closed one hangs by both ends, in a zigzag. The error is that of the
position of the last body against a fine run. Exudyn integrates Euler parameters with the generalised-α method (ρ = 0.9), sparse solver and
modified Newton, on one thread, and writes nothing.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

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
    from jourdain.formalisms.elements.carriers import Ground
    from jourdain.formalisms.elements.pairs import Spherical
    from jourdain.formalisms.elements.rigid import DirectorBody

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
    """CPU time of the march (s), position in the middle of the chain, energy drift and iterations."""
    from jourdain.formalisms.elements.schemes import scheme
    from jourdain.solvers import assembled_plan as ap

    run, _ = system._run(scheme("energy-momentum"), reduction, 0.0, END, END / steps, 1, 1e-12, 20)
    run.begin()
    begun = time.process_time()
    rows, reason = run.march()
    spent = time.process_time() - begun
    if reason != ap.FINISHED:
        return np.nan, np.full(3, np.nan), {}
    _, q, _, _, book = rows.joined()
    energy, n = book[:, ap.TOTAL], len(system.handles)
    at = 12 * (n // 2)
    about = {"drift": float(np.abs(energy - energy[0]).max()), "iterations": run.count[ap.ITERATIONS] / run.count[ap.STEPS]}
    return spent, q[-1, at : at + 3], about


def run_exudyn(n: int, closed: bool, steps: int) -> tuple[float, np.ndarray]:
    """The same by Exudyn: CPU time and position; not a number when it fails."""
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
        return np.nan, np.full(3, np.nan)
    spent = time.process_time() - begun
    return spent, np.array(mbs.GetObjectOutputBody(bodies[n // 2], exu.OutputVariableType.Position, [0, 0, 0]))


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
            for steps in STEPS if n <= 300 else STEPS[:2]:
                spent, x, about = run_ours(system, steps)
                row = {
                    "step": END / steps,
                    "jourdain": {"us_per_body_step": 1e6 * spent / steps / n, "error": float(np.linalg.norm(x - fine)), **about},
                }
                if n <= 1000 and (n <= 300 or steps == STEPS[0]):
                    peer, x = run_exudyn(n, closed, steps)
                    row["exudyn"] = {"us_per_body_step": 1e6 * peer / steps / n, "error": float(np.linalg.norm(x - fine))}
                rows.append(row)
                print(f"{'closed' if closed else 'open'} chain of {n}, {steps} steps: {row}", flush=True)
            figures[f"{'closed' if closed else 'open'} {n}"] = rows
    return figures


if __name__ == "__main__":
    run("--quick" in sys.argv)
