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
Vector = Sequence[float] | np.ndarray
JOINTS = {
    "x": exu.JointType.RevoluteX, "y": exu.JointType.RevoluteY, "z": exu.JointType.RevoluteZ, "slide": exu.JointType.PrismaticX,
    "lift": exu.JointType.PrismaticZ,
}  # fmt: skip
EXPLICIT = ("RK44", "RK67", "DOPRI5")


@dataclass
class ExudynModel:
    """An assembled system and what to read from its coordinates (q, v) at the end."""

    mbs: Any
    end: float
    read: Callable[[np.ndarray, np.ndarray], Columns]
    form: str
    container: Any
    linear_solver: str = "EXUdense"
    newton: float = 1e-8

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
        t.newton.relativeTolerance, t.newton.absoluteTolerance = self.newton, 1e-2 * self.newton
        t.explicit.computeEndOfStepAccelerations = False
        t.generalizedAlpha.spectralRadius = 1.0 if "ρ=1" in method else 0.9
        if setting < 1:
            t.automaticStepSize, t.relativeTolerance, t.absoluteTolerance = True, setting, setting
            t.numberOfSteps, t.minimumStepSize, t.initialStepSize = 1, 1e-12, 1e-4 * self.end
        else:
            t.automaticStepSize, t.numberOfSteps, t.minimumStepSize = False, int(setting), self.end / setting / 10
        return s

    def prepare(self, method: str, setting: float) -> tuple[Callable[[], Any], Callable[[], Columns]]:
        """The time loop alone, from the initial state to the end, and a reader of the final state."""
        settings = self.settings(method, setting)
        explicit = method.split()[0] in EXPLICIT

        def loop() -> None:
            solver: Any = exu.MainSolverExplicit() if explicit else exu.MainSolverImplicitSecondOrder()
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

    def body(self, mass: float, inertia: float, centre: Vector, velocity: Vector = (0, 0, 0)) -> int:
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

    def marker(self, body: int, point: Vector, rigid: bool = False) -> int:
        """A marker of a body at a point given in world coordinates."""
        kind = items.MarkerBodyRigid if rigid else items.MarkerBodyPosition
        found: int = self.mbs.AddMarker(kind(bodyNumber=body, localPosition=[*(np.array(point) - self.centres[body]), 0.0]))
        return found

    def pin(self, a: int, b: int, point: Vector) -> None:
        """A revolute joint."""
        self.mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[self.marker(a, point), self.marker(b, point)]))

    def finish(self, end: float, read: Callable[[np.ndarray, np.ndarray], Columns], linear_solver: str = "EXUdense") -> ExudynModel:
        """The assembled system; ``read`` gets coordinates and velocities with one row (x, y, angle) a body."""
        self.mbs.Assemble()
        return ExudynModel(self.mbs, end, lambda q, v: read(q.reshape(-1, 3), v.reshape(-1, 3)), "bodies", self.container, linear_solver)


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
    return p.finish(10.0, lambda q, v: _four_bar_columns(-q[0, 2], -v[0, 2]), "EXUdense" if n < 10 else "EigenSparse")


def _four_bar_columns(angle: float, rate: float) -> Columns:
    s, c = np.sin(angle), np.cos(angle)
    return {"B0_x": s, "B0_y": c, "B0_vx": rate * c, "B0_vy": -rate * s, "theta": angle, "theta_dot": rate}


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

    model = p.finish(0.03, read)
    model.newton = 1e-10  # the usual 1e-8 costs as much here and limits the error
    return model


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


@dataclass
class Link:
    """A link of a kinematic tree: axis, parent, joint in the parent, mass, centre of mass and principal inertias, start."""

    axis: str
    parent: int
    offset: Vector
    mass: float
    com: Vector
    inertia: Vector
    angle: float = 0.0
    rate: float = 0.0


class Tree:
    """Links in minimal coordinates; loops are closed by constraints between markers."""

    def __init__(self, links: Sequence[Link], gravity: float = 9.81, forces: Sequence[float] = (), down: str = "y") -> None:
        self.container, self.mbs = _system()
        n = len(links)
        node = self.mbs.AddNode(
            items.NodeGenericODE2(
                referenceCoordinates=[0.0] * n, initialCoordinates=[k.angle for k in links],
                initialCoordinates_t=[k.rate for k in links], numberOfODE2Coordinates=n,
            )
        )  # fmt: skip
        vectors: Any = exu.Vector3DList
        matrices: Any = exu.Matrix3DList
        self.tree = self.mbs.AddObject(
            items.ObjectKinematicTree(
                nodeNumber=node, gravity=[-gravity * (c == down) for c in "xyz"], jointTypes=[JOINTS[k.axis] for k in links],
                linkParents=[k.parent for k in links], jointTransformations=matrices([np.eye(3)] * n),
                jointOffsets=vectors([np.array(k.offset, dtype=float) for k in links]),
                linkInertiasCOM=matrices([np.diag(np.array(k.inertia, dtype=float)) for k in links]),
                linkCOMs=vectors([np.array(k.com, dtype=float) for k in links]), linkMasses=[k.mass for k in links],
                jointForceVector=list(forces),
            )
        )  # fmt: skip
        self.ground = self.mbs.AddObject(items.ObjectGround())

    def marker(self, link: int | None, point: Vector) -> int:
        """A marker at a point of a link, or of the ground for None."""
        place = [float(x) for x in point] + [0.0] * (3 - len(point))
        if link is None:
            made = items.MarkerBodyRigid(bodyNumber=self.ground, localPosition=place)
        else:
            made = items.MarkerKinematicTreeRigid(objectNumber=self.tree, linkNumber=link, localPosition=place)
        found: int = self.mbs.AddMarker(made)
        return found

    def pin(self, a: int, b: int) -> None:
        """Closes a planar loop between two markers."""
        self.mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=[a, b]))

    def finish(self, end: float, read: Callable[[np.ndarray, np.ndarray], Columns], linear_solver: str = "EXUdense") -> ExudynModel:
        """The assembled system."""
        self.mbs.Assemble()
        return ExudynModel(self.mbs, end, read, "tree", self.container, linear_solver)


def pendulum_tree() -> ExudynModel:
    """A01 as a kinematic tree of one link."""

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        s, c = np.sin(q[0]), np.cos(q[0])
        return {"x": s, "y": -c, "vx": v[0] * c, "vy": v[0] * s}

    return Tree([Link("z", -1, (0, 0, 0), 1.0, (0, -1, 0), (0, 0, 0), -np.pi / 2)]).finish(10.0, read)


def n_four_bar_tree(n: int) -> ExudynModel:
    """A02 as a tree of uprights and horizontal rods with N pins to close the loops."""
    i12 = 1 / 12
    links = [Link("z", -1, (i, 0, 0), 1.0, (0, 0.5, 0), (i12, 0, i12), rate=-1.0) for i in range(n + 1)]
    links += [Link("z", i, (0, 1, 0), 1.0, (0.5, 0, 0), (0, i12, i12), rate=1.0) for i in range(n)]
    tree = Tree(links)
    for i in range(n):
        tree.pin(tree.marker(n + 1 + i, (1, 0)), tree.marker(i + 1, (0, 1)))
    return tree.finish(10.0, lambda q, v: _four_bar_columns(-q[0], -v[0]), "EXUdense" if n < 10 else "EigenSparse")


def andrews_tree(start: dict[str, float]) -> ExudynModel:
    """A03 in its seven joint angles, closed by three pins at E."""
    d = ANDREWS
    A, B = (d["xa"], d["ya"], 0), (d["xb"], d["yb"], 0)
    places = {
        "beta": (-1, (0, 0, 0), (d["ra"], 0, 0)), "Theta": (0, (d["rr"], 0, 0), (-d["da"], 0, 0)), "gamma": (-1, B, (d["sb"], -d["sa"], 0)),
        "delta": (-1, A, (d["ta"], d["tb"], 0)), "Phi": (3, (d["zt"], 0, 0), (0, d["ea"] - d["e"], 0)),
        "epsilon": (-1, A, (-d["ub"], -d["ua"], 0)), "Omega": (5, (0, -d["u"], 0), (d["zf"] - d["fa"], 0, 0)),
    }  # fmt: skip
    links = [
        Link("z", parent, offset, d[f"m{k}"], com, (d[f"I{k}"],) * 3, start.get(name, 0.0))
        for (name, (parent, offset, com)), k in zip(places.items(), (1, 2, 3, 5, 4, 7, 6), strict=True)
    ]
    tree = Tree(links, 0.0, [0.033, 0, 0, 0, 0, 0, 0])
    E = tree.marker(1, (-d["d"], 0))
    for link, point in ((2, (0, -d["ss"])), (4, (0, -d["e"])), (6, (d["zf"], 0))):
        tree.pin(E, tree.marker(link, point))
    spring = [tree.marker(2, (d["sd"], -d["sc"])), tree.marker(None, (d["xc"], d["yc"]))]
    tree.mbs.AddObject(items.ObjectConnectorSpringDamper(markerNumbers=spring, stiffness=d["c0"], referenceLength=d["l0"]))
    names = list(places)

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        return dict(zip(names, q, strict=True)) | {f"d_{n}": x for n, x in zip(names, v, strict=True)}

    return tree.finish(0.03, read)


def slider_crank_tree(crank: float, rod: float, masses: Sequence[float], speed: float, end: float) -> ExudynModel:
    """Crank and rod as a tree, the piston sliding from the ground, closed by a pin."""
    m1, m2, m3 = masses
    tree = Tree([
        Link("z", -1, (0, 0, 0), m1, (crank / 2, 0, 0), (0, m1 * crank**2 / 12, m1 * crank**2 / 12), rate=speed),
        Link("z", 0, (crank, 0, 0), m2, (rod / 2, 0, 0), (0, m2 * rod**2 / 12, m2 * rod**2 / 12), rate=-speed * (1 + crank / rod)),
        Link("slide", -1, (0, 0, 0), m3, (0, 0, 0), (1.0, 1.0, 1.0), angle=crank + rod),
    ], 0.0)  # fmt: skip
    tree.pin(tree.marker(1, (rod, 0)), tree.marker(2, (0, 0)))
    return tree.finish(end, lambda q, v: {"angle": q[0], "rate": v[0], "piston": q[2], "speed": v[2]})


def governor_tree() -> ExudynModel:
    """A05 as a tree of shaft, slider and two rods with balls; the couplers are springs with dampers."""
    k, c, offset, bar, block, ball = 8e5, 4e4, 0.05, 0.3, 3.0, 5.0
    across, along, cube = bar * (1 + 1e-4) / 12, bar * 1e-4 / 6, block * 0.01 / 6
    mass = bar + ball
    com = (0.5 * bar + ball) / mass
    about = across + bar * (com - 0.5) ** 2 + ball * (1 - com) ** 2
    links = [
        Link("z", -1, (0, 0, 0), bar, (0, 0, 0.5), (across, across, along), rate=2 * np.pi),
        Link("lift", 0, (0, 0, 0), block, (0, 0, 0), (cube,) * 3, angle=0.5),
    ]
    # the left rod points along −x, so that its angle has the other sign
    links += [Link("y", 0, (s * offset, 0, 1), mass, (s * com, 0, 0), (along, about, about), s * np.pi / 6) for s in (1, -1)]
    tree = Tree(links, down="z")
    for link, s in ((2, 1), (3, -1)):
        markers = [tree.marker(1, (s * offset, 0, 0)), tree.marker(link, (s / 2, 0, 0))]
        tree.mbs.AddObject(items.ObjectConnectorSpringDamper(markerNumbers=markers, stiffness=k, damping=c, referenceLength=0.5))

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        x, z = 0.5 * np.cos(q[2]), 1 - 0.5 * np.sin(q[2]) - q[1]
        stretched = np.hypot(x, z)
        rate = (-0.5 * np.sin(q[2]) * v[2] * x + (-0.5 * np.cos(q[2]) * v[2] - v[1]) * z) / stretched
        force = k * (stretched - 0.5) + c * rate
        return {"s": q[1], "ds": v[1], "beta": q[2], "dbeta": v[2], "phi": q[0], "omega": v[0], "spring_force": force}

    return tree.finish(10.0, read)


def chain_tree(n: int, length: float, mass: float, angle: float, end: float) -> ExudynModel:
    """The chain as a kinematic tree."""
    i = mass * length**2 / 12
    links = [Link("z", k - 1, (0, -length if k else 0, 0), mass, (0, -length / 2, 0), (i, 0, i), 0.0 if k else angle) for k in range(n)]
    return Tree(links).finish(end, lambda q, v: chain_columns(np.cumsum(q), np.cumsum(v)))


# -- Bricard ----------------------------------------------------------------------------------------------------------

BRICARD_POINTS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
BRICARD_AXES = "yzxyzx"
P3 = ("P3_x", "P3_y", "P3_z", "P3_vx", "P3_vy", "P3_vz")


def _bar_inertia(step: np.ndarray) -> list[float]:
    return [0.01 / 6 if abs(x) > 0.5 else 1.01 / 12 for x in step]


def _free(axis: str) -> list[int]:
    """Constrained axes of a revolute joint about a coordinate axis."""
    return [1, 1, 1, *(int(c != axis) for c in "xyz")]


def bricard_bodies(node_type: str = "NodeRigidBodyEP") -> ExudynModel:
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
        pair = [
            (bodies[i - 1], centres[i - 1]) if i else (ground, np.zeros(3)),
            (bodies[i], centres[i]) if i < 5 else (ground, np.zeros(3)),
        ]
        markers = [mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=b, localPosition=list(point - c))) for b, c in pair]
        mbs.AddObject(items.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=_free(axis) if i < 5 else [1, 1, 1, 0, 1, 0]))
    mbs.Assemble()

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        at = {"localPosition": [0.0, -0.5, 0.0]}
        p = mbs.GetObjectOutputBody(bodies[1], exu.OutputVariableType.Position, **at)
        w = mbs.GetObjectOutputBody(bodies[1], exu.OutputVariableType.Velocity, **at)
        return dict(zip(P3, (*p, *w), strict=True))

    return ExudynModel(mbs, 10.0, read, "bodies", container)


def bricard_tree() -> ExudynModel:
    """A04 as a kinematic tree of five links closed by a joint with one equation fewer."""
    steps = np.diff(BRICARD_POINTS, axis=0)
    tree = Tree([
        Link(BRICARD_AXES[k], k - 1, steps[k - 1] if k else np.zeros(3), 1.0, steps[k] / 2, _bar_inertia(steps[k])) for k in range(5)
    ])  # fmt: skip
    markers = [tree.marker(4, steps[4]), tree.marker(None, BRICARD_POINTS[5])]
    tree.mbs.AddObject(items.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=[1, 1, 1, 0, 1, 0]))

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        # P3 = R1 (x̂ − R2 ŷ), R1 about y, R2 about z
        c1, s1, c2, s2 = np.cos(q[0]), np.sin(q[0]), np.cos(q[1]), np.sin(q[1])
        r = 1 + s2
        place = (c1 * r, -c2, -s1 * r)
        velocity = (-s1 * v[0] * r + c1 * c2 * v[1], s2 * v[1], -c1 * v[0] * r - s1 * c2 * v[1])
        return dict(zip(P3, (*place, *velocity), strict=True))

    return tree.finish(10.0, read)
