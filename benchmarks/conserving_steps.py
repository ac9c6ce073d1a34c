"""How large a step Exudyn's implicit solvers survive, and what the energy–momentum scheme does at ten times that step.

python -m benchmarks.conserving_steps [--quick]

A step is stable when the run ends and its energy stays within a tenth of the largest kinetic energy of the motion.  Exudyn's steps are
equal; steps are tried from large to small with modified and with full Newton, and the first that is stable counts.  Ours may halve a step
that does not converge: steps taken and halvings are counted, with one setting for all and with the best of five.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import conserving
from benchmarks.conserving_small import chain_peer, directors, march, pair, pair_peer, top, top_peer

METHODS = ("GeneralizedAlpha ρ=0.9", "GeneralizedAlpha ρ=0.6", "GeneralizedAlpha ρ=1", "TrapezoidalIndex2")
#: Our settings: reduction and iterations allowed before a step is halved; the first is the usual one.
SETTINGS = (("bodies", 20), ("bodies", 60), ("none", 20), ("none", 60), ("joints", 20))
#: Change of energy, as a part of the largest kinetic energy, up to which a run counts as stable; ratio of the steps tried.
BOUND, RATIO = 0.1, 2**0.5
#: How many times the peer's largest stable step ours is asked to take, and the change of energy allowed to it.
TIMES, ALLOWED = 10, 1e-9


@dataclass
class Motion:
    """A long motion in both tools, with the largest and the smallest step tried (s)."""

    title: str
    end: float
    gravity: float
    ours: Callable[[], Any]
    peer: Callable[[float], Any]
    largest: float
    smallest: float


def motions() -> list[Motion]:
    """All motions."""
    return [
        Motion("heavy top, 10 s", 10.0, 9.81, lambda: directors(top()), top_peer, 0.2, 2e-4),
        Motion("chain of 10, 5 s", 5.0, conserving.GRAVITY, lambda: conserving.ours(10, False), lambda end: chain_peer(10, end), 0.5, 5e-4),
        Motion("stiff pair, 10 s", 10.0, 0.0, lambda: directors(pair()), pair_peer, 0.5, 2e-4),
    ]


def peer_energy(model: Any, gravity: float, method: str, step: float, full_newton: bool) -> tuple[bool, np.ndarray, float]:
    """Whether Exudyn's run with equal steps ends, its energy at every step, and its processor time."""
    from benchmarks.peers_exudyn import exu, items

    mbs, kinds = model.mbs, exu.OutputVariableType
    bodies = [k for k in range(mbs.systemData.NumberOfObjects()) if mbs.GetObject(k)["objectType"] == "RigidBody"]
    names = (kinds.Position, kinds.Velocity, kinds.AngularVelocityLocal)
    sensors = [[mbs.AddSensor(items.SensorBody(bodyNumber=b, storeInternal=True, outputVariableType=o)) for o in names] for b in bodies]
    springs = [k for k in range(mbs.systemData.NumberOfObjects()) if mbs.GetObject(k)["objectType"] == "ConnectorSpringDamper"]
    lengths = [mbs.AddSensor(items.SensorObject(objectNumber=k, storeInternal=True, outputVariableType=kinds.Distance)) for k in springs]
    mbs.Assemble()
    settings = model.settings(method, max(1.0, round(model.end / step)))
    settings.solution.sensors.active, settings.solution.sensors.writePeriod = True, step
    settings.timeIntegration.newton.useModifiedNewton = not full_newton
    coefficients = settings.timeIntegration.generalizedAlpha
    if method == "TrapezoidalIndex2":
        coefficients.useNewmark = coefficients.useIndex2Constraints = True
    else:
        coefficients.spectralRadius = float(method.split("ρ=")[1])
    begun = time.process_time()
    ended = bool(exu.MainSolverImplicitSecondOrder().SolveSystem(mbs, settings))  # type: ignore[call-arg,misc]
    spent = time.process_time() - begun
    energy: Any = 0.0
    for b, three in zip(bodies, sensors, strict=True):
        x, v, w = (mbs.GetSensorStoredData(s)[:, 1:] for s in three)
        mass, inertia = mbs.GetObject(b)["mass"], np.array(mbs.GetObject(b)["inertia"])[:3]
        energy = energy + 0.5 * mass * (v * v).sum(axis=1) + 0.5 * (w * w) @ inertia + mass * gravity * x[:, 2]
    for k, s in zip(springs, lengths, strict=True):
        about = mbs.GetObject(k)
        energy = energy + 0.5 * about["stiffness"] * (mbs.GetSensorStoredData(s)[:, 1] - about["referenceLength"]) ** 2
    return ended, energy, spent


def largest_stable(m: Motion, method: str, scale: float) -> dict[str, Any] | None:
    """The largest of the steps tried with which Exudyn's run ends with bounded energy."""
    step = m.largest
    while step >= m.smallest:
        for full in (False, True):
            ended, energy, spent = peer_energy(m.peer(m.end), m.gravity, method, step, full)
            change = float(np.abs(energy - energy[0]).max()) / scale
            if ended and change <= BOUND:
                return {"step": step, "energy": change, "newton": "full" if full else "modified", "cpu": spent}
        step /= RATIO
    return None


def large_steps(system: Any, end: float, step: float, scale: float) -> list[dict[str, Any]]:
    """Energy–momentum steps with every setting; ``kept`` says whether the run ended with its energy."""
    found = []
    for reduction, iterations in SETTINGS:
        q, figures = march(system, end, step, reduction, iterations)
        energy = figures["drift"] / scale
        about: dict[str, Any] = {"reduction": reduction, "newton": iterations, "step": step, "mean_step": end / figures["steps"]}
        found.append({**about, **figures, "energy": energy, "kept": q is not None and energy <= ALLOWED})
    return found


def compare(m: Motion) -> dict[str, Any]:
    """The largest stable step of every method, and our scheme at ten times that step."""
    system = m.ours()
    scale = march(system, m.end, 1e-3, "bodies")[1]["kinetic"]
    rows = []
    for method in METHODS:
        peer = largest_stable(m, method, scale)
        own = large_steps(system, m.end, TIMES * peer["step"], scale) if peer else []
        rows.append({"method": method, "smallest_tried": m.smallest, "exudyn": peer, "jourdain": own})
    return {"title": m.title, "kinetic": scale, "rows": rows}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Tables of the largest steps."""
    from rich.console import Console
    from rich.table import Table

    from benchmarks.peers_exudyn import exu

    made = Table(*HEADER, title=f"Largest stable step of Exudyn, and energy–momentum steps {TIMES} times as large")
    exu.config.printToConsole = False  # every step that is too large ends with an error message
    try:
        found = [compare(m) for m in motions()[: 1 if quick else None]]
    finally:
        exu.config.printToConsole = True
    for case in found:
        for row in case["rows"]:
            made.add_row(case["title"], *cells(row))
    Console().print(made)
    return found


HEADER = ("problem", "Exudyn", "largest, ms", "energy", "Jourdain, ms", "energy", "steps", "halvings", "mean / Exudyn's", "best of five")


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table as text, without the problem's name."""
    peer = row["exudyn"]
    if peer is None:
        return [row["method"], f"none ≥ {1e3 * row['smallest_tried']:.2g}", *["–"] * 7]
    usual = row["jourdain"][0]
    longest = max((r["mean_step"] for r in row["jourdain"] if r["kept"]), default=np.nan)
    energy = f"{usual['energy']:.0e}" if usual["kept"] else "not kept"
    ratios = [f"{mean / peer['step']:.1f}×" for mean in (usual["mean_step"], longest)]
    first = [row["method"], _milliseconds(peer["step"]), f"{peer['energy']:.0e}", _milliseconds(usual["step"]), energy]
    return [*first, str(usual["steps"]), str(usual["halvings"]), *ratios]


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.{2 if seconds < 1e-2 else 1 if seconds < 1e-1 else 0}f}"


if __name__ == "__main__":
    run("--quick" in sys.argv)
