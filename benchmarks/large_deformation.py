"""Beams and cables of large deformation against Exudyn at equal errors, in one run on one thread.

python -m benchmarks.large_deformation [plane] [cable] [steps] [space]

Times are processor times of the time loop with its set-up (models built, code compiled before), the least of three; each program runs a grid of meshes, steps and
methods, and the fastest setting within the error counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jourdain as jd
from jourdain import elements as el
from jourdain.elements.element import Element, Servo, Symbols
from jourdain.elements.rigid import PlanarBody
from jourdain.symbolic.functions import cos, sin

sys.exudynFast = True  # type: ignore[attr-defined]  # the module without range checks
import exudyn as exu  # noqa: E402
from exudyn import itemInterface as items  # noqa: E402

W, END = 2 * np.pi / 15, 15.0
TIMES = np.array([2.0, 5.0, 7.4, 10.0, 12.0, 15.0])
#: Deflection of the tip of B8's beam at these times (converged spectral elements).
B8 = np.array([-0.10238063219, -0.46847618344, -0.56159730579, -0.36281451564, -0.15090069709, 0.00130362628])
TARGETS = (1e-3, 1e-5)


@dataclass
class Tried:
    """One setting: what it was, its error and its time (s)."""

    setting: str
    error: float
    seconds: float


def least_time(run: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Processor time (s) of the quickest of some runs, and what the last gave."""
    best, found = np.inf, None
    for _ in range(repeats):
        begun = time.process_time()
        found = run()
        best = min(best, time.process_time() - begun)
        if best > 5.0:
            break
    return best, found


def best(tried: Iterable[Tried], target: float) -> Tried | None:
    """The quickest within an error."""
    fit = [x for x in tried if x.error <= target]
    return min(fit, key=lambda x: x.seconds) if fit else None


def compare(title: str, ours: Sequence[Tried], peer: Sequence[Tried]) -> None:
    """A line for each error."""
    for target in TARGETS:
        a, b = best(ours, target), best(peer, target)
        told = [f"{x.seconds * 1e3:8.1f} ms (error {x.error:.0e}: {x.setting})" if x else "not reached" for x in (a, b)]
        ratio = f"{b.seconds / a.seconds:.1f} ×" if a and b else "—"
        print(f"{title}, {target:.0e}: Jourdain {told[0]}; Exudyn {told[1]}: {ratio}", flush=True)


# -- B8 in the plane ------------------------------------------------------------------------------------------------------


def psi(t: Any) -> Any:
    """How B8's hub turns until 15 s."""
    c = cos if isinstance(t, jd.Expr) else np.cos
    return 0.4 * (0.5 * t * t + (c(W * t) - 1.0) / W**2)


class Turned(Element):
    """The direction of a planar body, or the slope of a cable's node, follows B8's angle."""

    def __init__(self, size: int = 6) -> None:
        self.blocks = {"body": size}

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """One row for the angle, one torque."""
        b, end, middle = s.at1.body, psi(s.t1), psi(s.t)
        return [Servo("torque", b[3] * cos(end) - b[2] * sin(end), {("body", 2): -sin(middle), ("body", 3): cos(middle)})]


def deflections(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of the tip across the hub's direction at the times of the table."""
    k = [int(np.argmin(np.abs(t - instant))) for instant in TIMES]
    turned = psi(t[k])
    return np.asarray(-np.sin(turned) * x[k, 0] + np.cos(turned) * x[k, 1])


def plane_ours() -> list[Tried]:
    """Planar director beams of two to four nodes."""
    found = []
    grid = {
        (2, 9): (0.00625, 0.003125),
        (2, 17): (0.0125, 0.00625),
        (3, 13): (0.01, 0.00625),
        (3, 25): (0.0125, 0.00625),
        (3, 49): (0.0015625, 0.00078125),
    }
    for (order, nodes), steps in grid.items():
        for h in steps:
            s = jd.AssembledSystem("spin-up")
            hub = s.coordinates("hub", 6, PlanarBody.coordinates_of())
            s.add(PlanarBody(), "hub.body", {"body": hub}, PlanarBody.numbers(1.0, 1.0))
            s.add(el.PlanarRevolute(el.Ground(2), el.PlanarDirectors()), "pin", {"b": hub}, {"point_a": (0, 0), "point_b": (0, 0)})
            s.add(Turned(), "drive", {"body": hub})
            line = np.linspace((0, 0), (10, 0), nodes)
            s.planar_beam("beam", line, stiffness=(2.8e7, 1e7, 1.4e4), inertia=(1.2, 6e-4), order=order, start=hub)
            run = lambda s=s, h=h: s.simulate(END, h, reduction="bodies", tolerance=1e-10)
            run()
            seconds, sol = least_time(run)
            error = np.abs(deflections(sol.t, sol[f"beam.{nodes - 1}.position"]) - B8).max() / 0.5616
            found.append(Tried(f"{nodes} nodes, order {order}, h = {h:g}", float(error), seconds))
    return found + plane_cables()


def plane_cables() -> list[Tried]:
    """The same as a cable, without shear."""
    found = []
    for pieces, h in ((4, 0.01), (5, 0.0125), (5, 0.01), (6, 0.0125), (6, 0.01), (8, 0.00625)):
        s = jd.AssembledSystem("spin-up of a cable")
        line = s.cable("rope", np.linspace((0, 0), (10, 0), pieces + 1), axial=2.8e7, bending=1.4e4, mass_per_length=1.2, start="pinned")
        s.add(Turned(4), "drive", {"body": line.nodes[0]})
        run = lambda s=s, h=h: s.simulate(END, h, tolerance=1e-10)
        run()
        seconds, sol = least_time(run)
        error = np.abs(deflections(sol.t, sol[f"rope.{pieces}"]) - B8).max() / 0.5616
        found.append(Tried(f"cable, {pieces} pieces, h = {h:g}", float(error), seconds))
    return found


def settings(end: float, h: float, rho: float, solver: str, modified: bool = False) -> Any:
    """Exudyn's: nothing written, one thread."""
    s = exu.SimulationSettings()
    t = s.timeIntegration
    s.solution.file.write = False
    s.solution.solverInformationFileName = ""
    s.solution.sensors.writePeriod = h
    s.parallel.numberOfThreads = 1
    s.linearSolver.solverType = getattr(exu.LinearSolverType, solver)
    t.endTime, t.numberOfSteps, t.verboseMode = end, round(end / h), 0
    t.generalizedAlpha.spectralRadius = rho
    t.adaptiveStep = False
    if rho == 1.0:  # the trapezoidal rule needs constraints on velocities to be stable
        t.generalizedAlpha.useNewmark = t.generalizedAlpha.useIndex2Constraints = True
    t.newton.useModifiedNewton = modified
    t.newton.residualMode, t.newton.relativeTolerance = 1, 1e-7  # of increments: residuals end in rounding
    return s


def plane_exudyn(kind: str, n: int) -> tuple[Any, Any, Any]:
    """B8's beam by Exudyn's planar elements: system, sensor."""
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    L = 10.0 / n
    ground = mbs.AddNode(items.NodePointGround())
    origin = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    cable = kind == "cable"
    if cable:
        nodes = [mbs.AddNode(items.NodePoint2DSlope1(referenceCoordinates=[k * L, 0, 1, 0])) for k in range(n + 1)]
    else:
        nodes = [mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[k * L, 0, 0])) for k in range(n + 1)]
    for k in range(n):
        if cable:
            made = items.ObjectANCFCable2D(
                length=L, massPerLength=1.2, bendingStiffness=1.4e4, axialStiffness=2.8e7, nodeNumbers=nodes[k : k + 2]
            )
        else:
            made = items.ObjectBeamGeometricallyExact2D(
                nodeNumbers=nodes[k : k + 2], length=L, massPerLength=1.2, crossSectionInertia=6e-4, bendingStiffness=1.4e4,
                axialStiffness=2.8e7, shearStiffness=1e7,
            )  # fmt: skip
        mbs.AddObject(made)
    for c in (0, 1):
        place = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=c))
        mbs.AddObject(items.CoordinateConstraint(markerNumbers=[origin, place]))
    c, sn, rate = (lambda t: np.cos(psi(t))), (lambda t: np.sin(psi(t))), lambda t: 0.4 * (t - np.sin(W * t) / W)
    # the hub's direction, with its rates: two components of the slope, or the angle
    driven = {2: (lambda t: c(t) - 1.0, lambda t: -sn(t) * rate(t)), 3: (sn, lambda t: c(t) * rate(t))} if cable else {2: (psi, rate)}
    for place, (value, speed) in driven.items():
        marker = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=place))
        mbs.AddObject(
            items.CoordinateConstraint(
                markerNumbers=[origin, marker],
                offsetUserFunction=lambda m, t, i, o, f=value: float(f(t)),
                offsetUserFunction_t=lambda m, t, i, o, f=speed: float(f(t)),
            )
        )
    sensor = mbs.AddSensor(items.SensorNode(nodeNumber=nodes[-1], storeInternal=True, outputVariableType=exu.OutputVariableType.Position))
    mbs.Assemble()
    return container, mbs, sensor


def plane_peer() -> list[Tried]:
    """Planar exact beams and cables, trapezoidal rule and generalised-α, full and modified Newton, dense and sparse."""
    found = []
    grids: dict[tuple[str, int], Sequence[float]] = {
        ("exact", 16): (0.0125,), ("exact", 24): (0.0125, 0.00625), ("exact", 32): (0.0125, 0.00625), ("exact", 256): (0.00078125,),
        ("cable", 5): (0.0125, 0.01), ("cable", 6): (0.0125, 0.01, 0.00625), ("cable", 8): (0.01, 0.00625), ("cable", 16): (0.00625,),
    }  # fmt: skip
    for (kind, n), steps in grids.items():
        for h in steps:
            for rho, modified in ((0.9, False), (0.9, True)) if n < 100 else ((0.9, True),):
                solver = "EXUdense" if n <= 8 else "EigenSparse"
                _kept, mbs, sensor = plane_exudyn(kind, n)
                s = settings(END, h, rho, solver, modified)
                try:
                    seconds, _ = least_time(lambda mbs=mbs, s=s: mbs.SolveDynamic(s), 2)
                    data = np.array(mbs.GetSensorStoredData(sensor))
                except (ValueError, RuntimeError):
                    continue
                if data[-1, 0] < END - 1e-6:
                    continue
                error = np.abs(deflections(data[:, 0], data[:, 1:3]) - B8).max() / 0.5616
                found.append(Tried(f"{kind}, {n} elements, h = {h:g}, ρ = {rho:g}{', modified Newton' * modified}", float(error), seconds))
    return found


# -- a spin-up in space -----------------------------------------------------------------------------------------------------

#: EA, κGA, GJ, EI; mass and rotary inertia of a length; length of the beam, inertia and torque of the hub, duration.
SPACE = {
    "EA": 2.8e7,
    "GA": 1e7,
    "GJ": 1e4,
    "EI": 1.4e4,
    "mass": 1.2,
    "rotary": 6e-4,
    "length": 10.0,
    "hub": 5.0,
    "torque": 500.0,
    "end": 3.0,
}
LEAN = np.array([np.cos(np.pi / 6), 0.0, np.sin(np.pi / 6)])
INSTANTS = np.array([1.0, 2.0, 3.0])


def places(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Of the tip at some instants."""
    return x[[int(np.argmin(np.abs(t - instant))) for instant in INSTANTS]]


def drive(t: Any) -> Any:
    """The torque (N m), which rises and falls smoothly."""
    return SPACE["torque"] * (sin if isinstance(t, jd.Expr) else np.sin)(np.pi * t / SPACE["end"]) ** 2


def space_system(nodes: int, order: int) -> jd.AssembledSystem:
    """A hub on a vertical axis, turned by a torque, carries a beam that leans: centrifugal forces bend it down, the torque sideways."""
    c, m = SPACE, jd.Model("spin-up in space", gravity=(0, 0, 0))
    hub = m.body("hub", 10.0, inertia=(c["hub"],) * 3)
    m.force(m.revolute("mast", m.ground, hub, axis="z"), lambda x, v, t: drive(t), name="drive")
    s = m.compile(formulation="directors").assembled()
    stiffness = np.diag([c["EA"], c["GA"], c["GA"], c["GJ"], c["EI"], c["EI"]])
    inertia = np.diag([c["mass"], 0.0, c["rotary"], c["rotary"]])
    s.beam("beam", np.linspace((0, 0, 0), c["length"] * LEAN, nodes), stiffness=stiffness, inertia=inertia, order=order, start=s.handles[0])
    return s


def space_run(nodes: int, order: int, h: float, repeats: int = 2) -> tuple[float, np.ndarray]:
    """Time and places of the tip."""
    s = space_system(nodes, order)
    run = lambda: s.simulate(SPACE["end"], h, reduction="bodies", tolerance=1e-10)
    seconds, sol = least_time(run, repeats)
    return seconds, places(sol.t, sol[f"beam.{nodes - 1}.position"])


def space_exudyn(n: int, lie: bool = True) -> tuple[Any, Any, Any]:
    """The same by Exudyn's exact beams of two nodes."""
    c, container = SPACE, exu.SystemContainer()
    mbs = container.AddSystem()
    L = c["length"] / n
    section = exu.BeamSection()
    section.stiffnessMatrix = np.diag([c["EA"], c["GA"], c["GA"], c["GJ"], c["EI"], c["EI"]]).tolist()
    section.inertia = np.diag([2 * c["rotary"], c["rotary"], c["rotary"]]).tolist()
    section.massPerLength = c["mass"]
    kind = items.NodeRigidBodyRotVecLG if lie else items.NodeRigidBodyEP
    half = np.pi / 12
    turned = [0.0, -2 * half, 0.0] if lie else [np.cos(half), 0.0, -np.sin(half), 0.0]
    nodes = [mbs.AddNode(kind(referenceCoordinates=[*(k * L * LEAN), *turned])) for k in range(n + 1)]
    mbs.AddObject(items.ObjectRigidBody(mass=10.0, inertia=[c["hub"]] * 3 + [0, 0, 0], nodeNumber=nodes[0]))
    for k in range(n):
        mbs.AddObject(items.ObjectBeamGeometricallyExact(nodeNumbers=nodes[k : k + 2], length=L, sectionData=section))
    ground = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=mbs.AddObject(items.ObjectGround())))
    first = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[0]))
    upright = np.array([[LEAN[0], 0, LEAN[2]], [0, 1, 0], [-LEAN[2], 0, LEAN[0]]])
    mbs.AddObject(items.GenericJoint(markerNumbers=[ground, first], constrainedAxes=[1, 1, 1, 1, 1, 0], rotationMarker1=upright))
    torque = lambda mbs, t, load: [0.0, 0.0, float(drive(t))]
    mbs.AddLoad(items.LoadTorqueVector(markerNumber=first, loadVector=[0, 0, 0], loadVectorUserFunction=torque))
    sensor = mbs.AddSensor(items.SensorNode(nodeNumber=nodes[-1], storeInternal=True, outputVariableType=exu.OutputVariableType.Position))
    mbs.Assemble()
    return container, mbs, sensor


def space_peer(
    n: int, h: float, rho: float = 0.9, modified: bool = True, lie: bool = True, repeats: int = 1
) -> tuple[float, np.ndarray] | None:
    """Time and places of the tip, or nothing where it does not converge."""
    _kept, mbs, sensor = space_exudyn(n, lie)
    s = settings(SPACE["end"], h, rho, "EigenSparse", modified)
    try:
        seconds, _ = least_time(lambda: mbs.SolveDynamic(s), repeats)
        data = np.array(mbs.GetSensorStoredData(sensor))
    except (ValueError, RuntimeError, exu.SolverError):
        return None
    return (seconds, places(data[:, 0], data[:, 1:4])) if data[-1, 0] > SPACE["end"] - 1e-6 else None


def space() -> None:
    """Both programs against our finest mesh, steps extrapolated; a coarse grid of meshes and steps for each error."""
    rows = [space_run(49, 3, h, 1)[1] for h in (0.001, 0.0005)]
    exact = rows[1] + (rows[1] - rows[0]) / 3.0
    error = lambda x: float(np.abs(x - exact).max())
    ours = [
        Tried(f"{n} nodes, order {o}, h = {h:g}", error(found[1]), found[0])
        for n, o, h in ((7, 3, 0.01), (9, 2, 0.01), (9, 2, 0.005), (13, 3, 0.005), (33, 2, 0.0008), (49, 3, 0.0008))
        if (found := space_run(n, o, h))
    ]
    peer = []
    for n, h, modified, lie in (
        (8, 0.02, True, False), (8, 0.01, True, False), (16, 0.02, True, False), (16, 0.01, True, False), (16, 0.01, False, False), (16, 0.01, True, True), (32, 0.01, True, False),
        (24, 0.005, True, False), (24, 0.005, True, True), (192, 0.0008, True, True),
    ):  # fmt: skip
        if (found := space_peer(n, h, 0.9, modified, lie)) is not None:
            named = f"{n} elements, h = {h:g}, ρ = 0.9{', modified Newton' * modified}{', Lie group' * lie}"
            peer.append(Tried(named, error(found[1]), found[0]))
    for x in (*ours, *peer):
        print("  ", x)
    compare("spin-up in space", ours, peer)


# -- a cable ------------------------------------------------------------------------------------------------------------------

CABLE = {"EA": 1e4, "EI": 2.0, "mass": 0.5, "length": 1.0, "end": 1.0}
SEEN = np.array([0.4, 0.7, 1.0])


def cable_ours(pieces: int, h: float, repeats: int = 2) -> tuple[float, np.ndarray]:
    """A hanging cable that falls from the horizontal, held at one end."""
    c, s = CABLE, jd.AssembledSystem("cable")
    line = np.linspace((0, 0), (c["length"], 0), pieces + 1)
    s.cable("rope", line, axial=c["EA"], bending=c["EI"], mass_per_length=c["mass"], gravity=(0, -9.81), start="pinned")
    seconds, sol = least_time(lambda: s.simulate(c["end"], h, tolerance=1e-6), repeats)  # energy is kept to 2e-10 J and better all the same
    x = sol[f"rope.{pieces}"][:, :2]
    return seconds, x[[int(np.argmin(np.abs(sol.t - t))) for t in SEEN]]


def cable_peer(n: int, h: float, rho: float, modified: bool) -> tuple[float, np.ndarray] | None:
    """The same by ANCFCable2D."""
    c, container = CABLE, exu.SystemContainer()
    mbs = container.AddSystem()
    L = c["length"] / n
    nodes = [mbs.AddNode(items.NodePoint2DSlope1(referenceCoordinates=[k * L, 0, 1, 0])) for k in range(n + 1)]
    for k in range(n):
        made = items.ObjectANCFCable2D(
            length=L, massPerLength=c["mass"], bendingStiffness=c["EI"], axialStiffness=c["EA"], nodeNumbers=nodes[k : k + 2]
        )
        marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=mbs.AddObject(made)))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -9.81, 0]))
    origin = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))
    for k in (0, 1):
        place = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        mbs.AddObject(items.CoordinateConstraint(markerNumbers=[origin, place]))
    sensor = mbs.AddSensor(items.SensorNode(nodeNumber=nodes[-1], storeInternal=True, outputVariableType=exu.OutputVariableType.Position))
    mbs.Assemble()
    s = settings(c["end"], h, rho, "EXUdense" if n <= 12 else "EigenSparse", modified)
    try:
        seconds, _ = least_time(lambda: mbs.SolveDynamic(s), 5)
        data = np.array(mbs.GetSensorStoredData(sensor))
    except (ValueError, RuntimeError, exu.SolverError):
        return None
    if data[-1, 0] < c["end"] - 1e-9:
        return None
    return seconds, data[[int(np.argmin(np.abs(data[:, 0] - t))) for t in SEEN], 1:3]


def cable() -> None:
    """Both against our finest cable, steps extrapolated."""
    rows = [cable_ours(32, h, 1)[1] for h in (5e-4, 2.5e-4)]
    exact = rows[1] + (rows[1] - rows[0]) / 3.0
    error = lambda x: float(np.abs(x - exact).max())
    grid = (
        (3, 1 / 140), (3, 0.00625), (3, 0.005), (4, 0.005), (4, 0.0025), (6, 0.0025), (8, 0.0025), (8, 0.00125), (10, 4e-4), (12, 5e-4), (12, 4e-4), (12, 3.125e-4),
        (16, 5e-4), (16, 4e-4), (16, 3.125e-4), (24, 1.25e-4),
    )  # fmt: skip
    ours = [Tried(f"{n} pieces, h = {h:g}", error(found[1]), found[0]) for n, h in grid if (found := cable_ours(n, h, 8))]
    peer = []
    for n, h in grid:
        for rho, modified in (
            ((1.0, False), (0.9, True), (0.9, False)) if n < 10 else ((0.9, True),)
        ):  # full Newton takes four times as long there
            if (found := cable_peer(n, h, rho, modified)) is not None:
                peer.append(Tried(f"{n} elements, h = {h:g}, ρ = {rho:g}{', modified Newton' * modified}", error(found[1]), found[0]))
    for x in (*ours, *peer):
        print("  ", x)
    compare("cable", ours, peer)


# -- steps as large as may be ---------------------------------------------------------------------------------------------


def large_steps() -> None:
    """Exudyn's largest step with which the cable swings for five seconds, without damping; our energy at ten times that step."""
    CABLE["end"] = 5.0
    largest = None
    for h in (0.02, 0.01, 0.005, 0.0025, 0.00125):
        if cable_peer(8, h, 1.0, False) is not None:
            largest = h
            break
    for h in (0.0025, 0.005, 0.01, 0.02, 0.05) if largest is None else (largest, 10.0 * largest):
        s = jd.AssembledSystem("cable")
        line = np.linspace((0, 0), (1, 0), 9)
        s.cable("rope", line, axial=CABLE["EA"], bending=CABLE["EI"], mass_per_length=CABLE["mass"], gravity=(0, -9.81), start="pinned")
        sol = s.simulate(5.0, h)
        print(
            f"cable, h = {h:g} (Exudyn's largest {largest}): energy changes by {np.ptp(sol['energy.total']):.1e} of {sol['energy.kinetic'].max():.2f} J"
        )
    CABLE["end"] = 1.0


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["plane", "cable", "steps", "space"]
    if "plane" in chosen:
        ours, peer = plane_ours(), plane_peer()
        compare("B8, any elements", ours, peer)
        exact = [[x for x in tried if not x.setting.startswith("cable")] for tried in (ours, peer)]
        compare("B8, exact beams", *exact)
    for name, run in (("cable", cable), ("steps", large_steps), ("space", space)):
        if name in chosen:
            run()
