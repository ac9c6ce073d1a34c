"""The mechanisms in Exudyn, each in the forms that suit it: free planar or spatial bodies with joints, and kinematic trees.

Nothing is written, shown or recorded while it integrates, it runs on one thread, and its module without range checks is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

sys.exudynFast = True  # type: ignore[attr-defined]  # must be set before the first import: the module without range checks
import exudyn as exu  # noqa: E402
from exudyn import itemInterface as items  # noqa: E402

from jourdain.library.mechanisms import ANDREWS  # noqa: E402

Columns = dict[str, float]
Points = Sequence[tuple[int, int, Sequence[float]]]
SIDES = {"x": exu.JointType.RevoluteX, "y": exu.JointType.RevoluteY, "z": exu.JointType.RevoluteZ}
EXPLICIT = ("RK44", "RK67", "DOPRI5", "DVERK6")
ADAPTIVE = ("DOPRI5", "DVERK6")


@dataclass
class ExudynModel:
    """An assembled system and what to read from its coordinates (q, v) at the end."""

    mbs: Any
    end: float
    read: Callable[[np.ndarray, np.ndarray], Columns]
    form: str
    container: Any
    linear_solver: str = "EXUdense"

    def settings(self, method: str, setting: float) -> Any:
        """Settings for fixed steps (``setting`` steps) or, for adaptive methods, a tolerance (``setting`` < 1)."""
        s = exu.SimulationSettings()
        t = s.timeIntegration
        s.solution.file.write, s.solution.sensors.active = False, False
        s.solution.solverInformationFileName = ""
        s.parallel.numberOfThreads = 1
        s.linearSolver.solverType = getattr(exu.LinearSolverType, self.linear_solver)
        t.endTime, t.verboseMode, t.stepInformation = self.end, 0, 0
        t.solverType = getattr(exu.DynamicSolverType, method.split()[0])
        t.explicit.computeEndOfStepAccelerations = False
        t.generalizedAlpha.spectralRadius = 1.0 if "ρ=1" in method else 0.9
        if setting < 1:
            t.automaticStepSize, t.relativeTolerance, t.absoluteTolerance = True, setting, setting
            t.numberOfSteps, t.minimumStepSize, t.initialStepSize = 1, 1e-12, 1e-4 * self.end
        else:
            t.automaticStepSize, t.numberOfSteps = False, int(setting)
        return s

    def prepare(self, method: str, setting: float) -> tuple[Callable[[], Any], Callable[[], Columns]]:
        """The time loop alone, from the initial state to the end, and a reader of the final state."""
        settings = self.settings(method, setting)
        explicit = method.split()[0] in EXPLICIT

        def loop() -> None:
            solver = exu.MainSolverExplicit() if explicit else exu.MainSolverImplicitSecondOrder()
            if method.startswith("TrapezoidalIndex2"):
                settings.timeIntegration.generalizedAlpha.useNewmark = True
                settings.timeIntegration.generalizedAlpha.useIndex2Constraints = True
            if not solver.SolveSystem(self.mbs, settings):
                raise RuntimeError(f"Exudyn {method} {setting:g}: no solution")

        def final() -> Columns:
            data = self.mbs.systemData
            return self.read(np.array(data.GetODE2Coordinates()), np.array(data.GetODE2Coordinates_t()))

        return loop, final


def _system() -> tuple[Any, Any]:
    container = exu.SystemContainer()
    return container, container.AddSystem()


# -- planar bodies with joints ----------------------------------------------------------------------------------------


class Planar:
    """Bodies in the plane, all with angle zero at the start, so that points are given where they then lie."""

    def __init__(self, gravity: float = 0.0) -> None:
        self.container, self.mbs = _system()
        self.gravity = gravity
        self.ground = self.mbs.AddObject(items.ObjectGround())
        self.centres: dict[int, np.ndarray] = {self.ground: np.zeros(2)}
        self.nodes: list[int] = []

    def body(self, mass: float, inertia: float, centre: Sequence[float], velocity: Sequence[float] = (0, 0, 0)) -> int:
        """A body by mass, inertia about its centre of mass, and the centre's place and velocity."""
        m = self.mbs
        node = m.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*centre, 0.0], initialVelocities=list(velocity)))
        body: int = m.AddObject(items.ObjectRigidBody2D(mass=mass, inertia=inertia, nodeNumber=node))
        if self.gravity:
            marker = m.AddMarker(items.MarkerBodyMass(bodyNumber=body))
            m.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -self.gravity, 0]))
        self.centres[body] = np.array(centre, dtype=float)
        self.nodes.append(node)
        return body

    def marker(self, body: int, point: Sequence[float], rigid: bool = False) -> int:
        """A marker of a body at a point given in world coordinates."""
        kind = items.MarkerBodyRigid if rigid else items.MarkerBodyPosition
        found: int = self.mbs.AddMarker(kind(bodyNumber=body, localPosition=[*(np.array(point) - self.centres[body]), 0.0]))
        return found

    def pin(self, a: int, b: int, point: Sequence[float]) -> None:
        """A revolute joint."""
        self.mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[self.marker(a, point), self.marker(b, point)]))

    def finish(self, end: float, read: Callable[[np.ndarray, np.ndarray], Columns], linear_solver: str = "EXUdense") -> ExudynModel:
        """The assembled system; ``read`` gets coordinates and velocities with one row (x, y, angle) a body."""
        self.mbs.Assemble()
        return ExudynModel(
            self.mbs, end, lambda q, v: read(q.reshape(-1, 3), v.reshape(-1, 3)), "bodies", self.container, linear_solver
        )


def pendulum() -> ExudynModel:
    """A01: a point mass at a fixed distance from the origin."""
    p = Planar(9.81)
    node = p.mbs.AddNode(items.NodePoint2D(referenceCoordinates=[-1, 0]))
    bob = p.mbs.AddObject(items.ObjectMassPoint2D(mass=1.0, nodeNumber=node))
    p.centres[bob] = np.array([-1.0, 0.0])
    markers = [p.marker(p.ground, (0, 0)), p.marker(bob, (-1, 0))]
    p.mbs.AddLoad(items.LoadForceVector(markerNumber=markers[1], loadVector=[0, -9.81, 0]))
    p.mbs.AddObject(items.ObjectConnectorDistance(markerNumbers=markers, distance=1.0))
    p.mbs.Assemble()

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        return {"x": q[0] - 1, "y": q[1], "vx": v[0], "vy": v[1]}

    return ExudynModel(p.mbs, 10.0, read, "bodies", p.container)


def n_four_bar(n: int) -> ExudynModel:
    """A02: upright and horizontal rods with pins."""
    p = Planar(9.81)
    inertia = 1 / 12
    uprights = [p.body(1.0, inertia, (i, 0.5), (0.5, 0.0, -1.0)) for i in range(n + 1)]
    across = [p.body(1.0, inertia, (i + 0.5, 1.0), (1.0, 0.0, 0.0)) for i in range(n)]
    for i, rod in enumerate(uprights):
        p.pin(p.ground, rod, (i, 0))
    for i, rod in enumerate(across):
        p.pin(uprights[i], rod, (i, 1))
        p.pin(rod, uprights[i + 1], (i + 1, 1))

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        angle, rate = -q[0, 2], -v[0, 2]
        ends = {"B0_x": np.sin(angle), "B0_y": np.cos(angle), "B0_vx": rate * np.cos(angle), "B0_vy": -rate * np.sin(angle)}
        return ends | {"theta": angle, "theta_dot": rate}

    return p.finish(10.0, read, "EXUdense" if n < 10 else "EigenSparse")


def andrews(start: dict[str, float]) -> ExudynModel:
    """A03 from the joint angles at the start."""
    d, p = ANDREWS, Planar()
    beta, theta, gamma, phi, delta, omega, epsilon = (
        start.get(n, 0.0) for n in ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
    )

    def turned(angle: float, x: float, y: float) -> np.ndarray:
        return np.array([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y])

    O, A, B = np.zeros(2), np.array([d["xa"], d["ya"]]), np.array([d["xb"], d["yb"]])
    crank_end = turned(beta, d["rr"], 0)
    F = A + turned(delta, d["zt"], 0)
    H = A + turned(epsilon, 0, -d["u"])
    E = B + turned(gamma, 0, -d["ss"])
    D = B + turned(gamma, d["sd"], -d["sc"])
    centres = [
        turned(beta, d["ra"], 0), crank_end + turned(beta + theta, -d["da"], 0), B + turned(gamma, d["sb"], -d["sa"]),
        F + turned(phi + delta, 0, d["ea"] - d["e"]), A + turned(delta, d["ta"], d["tb"]),
        H + turned(omega + epsilon, d["zf"] - d["fa"], 0), A + turned(epsilon, -d["ub"], -d["ua"]),
    ]  # fmt: skip
    K = [p.body(d[f"m{i + 1}"], d[f"I{i + 1}"], c) for i, c in enumerate(centres)]
    for a, b, point in (
        (p.ground, K[0], O), (K[0], K[1], crank_end), (p.ground, K[2], B), (p.ground, K[4], A), (K[4], K[3], F),
        (p.ground, K[6], A), (K[6], K[5], H), (K[1], K[2], E), (K[1], K[3], E), (K[1], K[5], E),
    ):  # fmt: skip
        p.pin(a, b, point)
    spring = [p.marker(K[2], D), p.marker(p.ground, (d["xc"], d["yc"]))]
    p.mbs.AddObject(items.ObjectConnectorSpringDamper(markerNumbers=spring, stiffness=d["c0"], referenceLength=d["l0"]))
    turn = p.mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=p.nodes[0], coordinate=2))
    p.mbs.AddLoad(items.LoadCoordinate(markerNumber=turn, load=0.033))

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        def joints(a: np.ndarray) -> np.ndarray:
            return np.array([a[0], a[1] - a[0], a[2], a[3] - a[4], a[4], a[5] - a[6], a[6]])

        names = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
        angles = joints(q[:, 2]) + np.array([beta, theta, gamma, phi, delta, omega, epsilon])
        rates = joints(v[:, 2])
        return dict(zip(names, angles, strict=True)) | {f"d_{n}": x for n, x in zip(names, rates, strict=True)}

    return p.finish(0.03, read)


def slider_crank(crank: float, rod: float, masses: Sequence[float], speed: float, end: float) -> ExudynModel:
    """Crank, rod and piston from the outstretched position; the piston is a point mass kept on the line."""
    p = Planar()
    whole = crank + rod
    shaft = p.body(masses[0], masses[0] * crank**2 / 12, (crank / 2, 0), (0, speed * crank / 2, speed))
    link = p.body(masses[1], masses[1] * rod**2 / 12, (crank + rod / 2, 0), (0, speed * crank / 2, -speed * crank / rod))
    node = p.mbs.AddNode(items.NodePoint2D(referenceCoordinates=[whole, 0]))
    piston = p.mbs.AddObject(items.ObjectMassPoint2D(mass=masses[2], nodeNumber=node))
    p.centres[piston] = np.array([whole, 0.0])
    p.pin(p.ground, shaft, (0, 0))
    p.pin(shaft, link, (crank, 0))
    p.pin(link, piston, (whole, 0))
    height = p.mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=1))
    zero = p.mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=p.mbs.AddNode(items.NodePointGround()), coordinate=0))
    p.mbs.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[zero, height]))
    p.mbs.Assemble()

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        return {"angle": q[2], "rate": v[2], "piston": whole + q[6], "speed": v[6]}

    return ExudynModel(p.mbs, end, read, "bodies", p.container)


def planar_chain(n: int, length: float, mass: float, angle: float, end: float) -> ExudynModel:
    """A chain of uniform rods with pins between them, straight at the start."""
    p = Planar(9.81)
    direction = length * np.array([np.sin(angle), -np.cos(angle)])
    rods = [p.body(mass, mass * length**2 / 12, (i + 0.5) * direction) for i in range(n)]
    for i, rod in enumerate(rods):
        p.pin(rods[i - 1] if i else p.ground, rod, i * direction)
    return p.finish(end, lambda q, v: chain_columns(angle + q[:, 2], v[:, 2]), "EXUdense" if n < 20 else "EigenSparse")


def chain_columns(angles: np.ndarray, rates: np.ndarray) -> Columns:
    """The absolute angles and rates of a chain's links, by name."""
    names = [f"angle{i}" for i in range(len(angles))], [f"rate{i}" for i in range(len(rates))]
    return dict(zip(names[0], angles, strict=True)) | dict(zip(names[1], rates, strict=True))


# -- kinematic trees (minimal coordinates) ----------------------------------------------------------------------------


def _tree(
    axes: str, offsets: Sequence[Sequence[float]], masses: Sequence[float], coms: Sequence[Sequence[float]],
    inertias: Sequence[Sequence[float]], start: Sequence[float],
) -> tuple[Any, Any, int]:  # fmt: skip
    container, mbs = _system()
    n = len(axes)
    node = mbs.AddNode(
        items.NodeGenericODE2(
            referenceCoordinates=[0.0] * n, initialCoordinates=list(start), initialCoordinates_t=[0.0] * n, numberOfODE2Coordinates=n
        )
    )
    vectors, matrices = exu.Vector3DList, exu.Matrix3DList
    tree = mbs.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node, gravity=[0, -9.81, 0], jointTypes=[SIDES[a] for a in axes], linkParents=list(range(-1, n - 1)),
            jointTransformations=matrices([np.eye(3)] * n), jointOffsets=vectors([list(map(float, o)) for o in offsets]),
            linkInertiasCOM=matrices([np.diag(i) for i in inertias]), linkCOMs=vectors([list(map(float, c)) for c in coms]),
            linkMasses=list(masses),
        )
    )  # fmt: skip
    return container, mbs, tree


def pendulum_tree() -> ExudynModel:
    """A01 as a kinematic tree of one link."""
    container, mbs, _ = _tree("z", [(0, 0, 0)], [1.0], [(0, -1, 0)], [(0, 0, 0)], [-np.pi / 2])
    mbs.Assemble()

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        s, c = np.sin(q[0]), np.cos(q[0])
        return {"x": s, "y": -c, "vx": v[0] * c, "vy": v[0] * s}

    return ExudynModel(mbs, 10.0, read, "tree", container)


def chain_tree(n: int, length: float, mass: float, angle: float, end: float) -> ExudynModel:
    """The chain as a kinematic tree."""
    across = mass * length**2 / 12
    container, mbs, _ = _tree(
        "z" * n, [(0, 0, 0)] + [(0, -length, 0)] * (n - 1), [mass] * n, [(0, -length / 2, 0)] * n, [(across, 0, across)] * n,
        [angle] + [0.0] * (n - 1),
    )  # fmt: skip
    mbs.Assemble()
    return ExudynModel(mbs, end, lambda q, v: chain_columns(np.cumsum(q), np.cumsum(v)), "tree", container)


# -- Bricard ----------------------------------------------------------------------------------------------------------

BRICARD_POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
BRICARD_AXES = "yzxyzx"


def _bar_inertia(step: np.ndarray) -> np.ndarray:
    return np.where(np.abs(step) > 0.5, 0.01 / 6, 1.01 / 12)


def _free(axis: str) -> list[int]:
    """Constrained axes of a revolute joint about a coordinate axis."""
    return [1, 1, 1, *(int(c != axis) for c in "xyz")]


def bricard_bodies(node_type: str = "NodeRigidBodyRxyz") -> ExudynModel:
    """A04 as five free bodies; the closing joint has one equation fewer, so that none is redundant."""
    container, mbs = _system()
    ground = mbs.AddObject(items.ObjectGround())
    steps = np.diff(BRICARD_POINTS, axis=0)
    bodies, centres = [], []
    for i, step in enumerate(steps):
        centre = BRICARD_POINTS[i] + step / 2
        rotation = [1.0, 0, 0, 0] if node_type == "NodeRigidBodyEP" else [0.0, 0, 0]
        zero = [0.0] * (3 + len(rotation))
        node = mbs.AddNode(
            getattr(items, node_type)(referenceCoordinates=[*centre, *rotation], initialCoordinates=zero, initialVelocities=zero)
        )
        body = mbs.AddObject(items.ObjectRigidBody(mass=1.0, inertia=[*_bar_inertia(step), 0, 0, 0], nodeNumber=node))
        marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -9.81, 0]))
        bodies.append(body)
        centres.append(centre)
    for i, (point, axis) in enumerate(zip(BRICARD_POINTS, BRICARD_AXES, strict=True)):
        pair = [(bodies[i - 1], centres[i - 1]) if i else (ground, np.zeros(3)), (bodies[i], centres[i]) if i < 5 else (ground, np.zeros(3))]
        markers = [mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=b, localPosition=list(point - c))) for b, c in pair]
        mbs.AddObject(items.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=_free(axis) if i < 5 else [1, 1, 1, 0, 1, 0]))
    mbs.Assemble()

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        at = {"localPosition": [0.0, -0.5, 0.0]}
        p = mbs.GetObjectOutputBody(bodies[1], exu.OutputVariableType.Position, **at)
        w = mbs.GetObjectOutputBody(bodies[1], exu.OutputVariableType.Velocity, **at)
        return {f"P3_{c}": x for c, x in zip("xyz", p, strict=True)} | {f"P3_v{c}": x for c, x in zip("xyz", w, strict=True)}

    return ExudynModel(mbs, 10.0, read, f"bodies, {node_type}", container)


def bricard_tree() -> ExudynModel:
    """A04 as a kinematic tree of five links closed by a joint with one equation fewer."""
    steps = np.diff(BRICARD_POINTS, axis=0)
    container, mbs, tree = _tree(
        BRICARD_AXES[:5], [(0, 0, 0), *steps[:4]], [1.0] * 5, [s / 2 for s in steps], [_bar_inertia(s) for s in steps], [0.0] * 5
    )
    ground = mbs.AddObject(items.ObjectGround())
    end = mbs.AddMarker(items.MarkerKinematicTreeRigid(objectNumber=tree, linkNumber=4, localPosition=list(steps[4])))
    anchor = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=list(BRICARD_POINTS[5])))
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[end, anchor], constrainedAxes=[1, 1, 1, 0, 1, 0]))
    mbs.Assemble()

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        # P3 = R1 (x̂ − R2 ŷ), R1 about y, R2 about z
        def point(q: np.ndarray) -> np.ndarray:
            c1, s1, c2, s2 = np.cos(q[0]), np.sin(q[0]), np.cos(q[1]), np.sin(q[1])
            x, y = 1 + s2, -c2
            return np.array([c1 * x, y, -s1 * x]), c1, s1, c2, s2, x  # type: ignore[return-value]

        p, c1, s1, c2, s2, x = point(q)
        w = [-s1 * v[0] * x + c1 * c2 * v[1], s2 * v[1], -c1 * v[0] * x - s1 * c2 * v[1]]
        return {f"P3_{c}": y for c, y in zip("xyz", p, strict=True)} | {f"P3_v{c}": y for c, y in zip("xyz", w, strict=True)}

    return ExudynModel(mbs, 10.0, read, "tree", container)
