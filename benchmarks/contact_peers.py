"""The stack and the dominoes of :mod:`.contact_machines` by Drake and by DART.

python benchmarks/contact_peers.py [stack|dominoes …], by a Python that has ``drake`` and ``dartpy`` (they are no extras of this project, and need not share its
environment).  Drake steps with its discrete plant and SAP or Lagged contact, boxes meet by pressure fields (hydroelastic, the modulus that sinks least and runs), since one
point for each pair lets boxes rock; DART with its own collision detector and Dantzig's solver.  Processor time of one thread, the least of three runs; a run begins from the same state
with everything built.  Errors as there.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Boxes = list[tuple[tuple[float, float, float], tuple[float, float, float]]]
FRICTION = 0.5


def stack_of(n: int = 10, side: float = 0.1) -> Boxes:
    """Sizes and places."""
    return [((side, side, side), (0.0, 0.0, side * (i + 0.5))) for i in range(n)]


def row_of(n: int = 20, spacing: float = 0.025) -> Boxes:
    """Dominoes."""
    size = (0.008, 0.024, 0.048)
    return [(size, (spacing * i, 0.0, 0.5 * size[2])) for i in range(n)]


class Drake:
    """Boxes on a half-space."""

    def __init__(self, boxes: Boxes, density: float, h: float, contact: str = "sap", modulus: float = 1e8) -> None:
        import pydrake.all as dr

        builder = dr.DiagramBuilder()
        config = dr.MultibodyPlantConfig(time_step=h, discrete_contact_approximation=contact, contact_model="hydroelastic")
        self.plant, _ = dr.AddMultibodyPlant(config, builder)
        self.boxes, self.bodies = boxes, []
        friction = dr.CoulombFriction(FRICTION, FRICTION)
        ground = dr.ProximityProperties()
        dr.AddRigidHydroelasticProperties(properties=ground)
        dr.AddContactMaterial(friction=friction, properties=ground)
        self.plant.RegisterCollisionGeometry(self.plant.world_body(), dr.RigidTransform(), dr.HalfSpace(), "ground", ground)
        for i, (size, _) in enumerate(boxes):
            inertia = dr.SpatialInertia.SolidBoxWithDensity(density, *size)
            body = self.plant.AddRigidBody(f"b{i}", inertia)
            soft = dr.ProximityProperties()
            dr.AddCompliantHydroelasticProperties(resolution_hint=max(size), hydroelastic_modulus=modulus, properties=soft)
            if contact == "sap":
                dr.AddContactMaterial(friction=friction, properties=soft)
                soft.AddProperty("material", "relaxation_time", h)
            else:
                dr.AddContactMaterial(friction=friction, dissipation=100.0, properties=soft)
            self.plant.RegisterCollisionGeometry(body, dr.RigidTransform(), dr.Box(*size), f"g{i}", soft)
            self.bodies.append(body)
        self.plant.Finalize()
        self.simulator = dr.Simulator(builder.Build())
        self.dr = dr

    def start(self, turn: float = 0.0, speed: float = 0.0) -> None:
        """Everything where it was, the first body with a speed along x and a rate of turning about y."""
        context = self.simulator.get_mutable_context()
        own = self.plant.GetMyMutableContextFromRoot(context)
        for i, (body, (_, place)) in enumerate(zip(self.bodies, self.boxes, strict=True)):
            self.plant.SetFreeBodyPose(own, body, self.dr.RigidTransform(np.array(place)))
            first = 1.0 if i == 0 else 0.0
            spatial = self.dr.SpatialVelocity(w=np.array([0.0, first * turn, 0.0]), v=np.array([first * speed, 0.0, 0.0]))
            self.plant.SetFreeBodySpatialVelocity(own, body, spatial)
        context.SetTime(0.0)
        self.simulator.Initialize()

    def go(self, span: float) -> None:
        """On to an instant."""
        self.simulator.AdvanceTo(span)

    def height(self) -> float:
        """Of the last body."""
        own = self.plant.GetMyContextFromRoot(self.simulator.get_context())
        return float(self.plant.EvalBodyPoseInWorld(own, self.bodies[-1]).translation()[2])


class Dart:
    """The same."""

    def __init__(self, boxes: Boxes, density: float, h: float) -> None:
        import dartpy as dart

        self.world, self.boxes, self.bodies, self.h = dart.simulation.World(), boxes, [], h
        self.world.setTimeStep(h)
        self.world.setGravity([0, 0, -9.81])
        solver = self.world.getConstraintSolver()
        solver.setCollisionDetector(dart.collision.DARTCollisionDetector())
        self._add(dart, "ground", (9.0, 9.0, 1.0), (0.0, 0.0, -0.5), 0.0)
        for i, (size, place) in enumerate(boxes):
            self.bodies.append(self._add(dart, f"b{i}", size, place, density))
        self.first = [b.getPositions().copy() for b in self.bodies]

    def _add(self, dart: Any, name: str, size: tuple[float, ...], place: tuple[float, ...], density: float) -> Any:
        skeleton, shape = dart.dynamics.Skeleton(name), dart.dynamics.BoxShape(list(size))
        kind = skeleton.createFreeJointAndBodyNodePair if density else skeleton.createWeldJointAndBodyNodePair
        joint, body = kind()
        node = body.createShapeNode(shape)
        node.createCollisionAspect()
        node.createDynamicsAspect()
        node.getDynamicsAspect().setFrictionCoeff(FRICTION)
        node.getDynamicsAspect().setRestitutionCoeff(0.0)
        if density:
            mass = density * math.prod(size)
            body.setInertia(dart.dynamics.Inertia(mass, [0, 0, 0], shape.computeInertia(mass)))
            skeleton.setPositions([0, 0, 0, *place])
        else:
            transform = dart.math.Isometry3()
            transform.set_translation(list(place))
            joint.setTransformFromParentBodyNode(transform)
        self.world.addSkeleton(skeleton)
        return skeleton

    def start(self, turn: float = 0.0, speed: float = 0.0) -> None:
        """As above."""
        self.world.reset()
        for i, (b, place) in enumerate(zip(self.bodies, self.first, strict=True)):
            b.setPositions(place)
            b.setVelocities([0, turn, 0, speed, 0, 0] if i == 0 else [0.0] * 6)

    def go(self, span: float) -> None:
        """On to an instant."""
        for _ in range(round((span - self.world.getTime()) / self.h)):
            self.world.step()

    def height(self) -> float:
        """Of the last body."""
        return float(self.bodies[-1].getPositions()[5])


PEERS: dict[str, Callable[[Boxes, float, float], Any]] = {
    "Drake, SAP": lambda *given: Drake(*given),
    "Drake, Lagged": lambda *given: Drake(*given, contact="lagged"),
    "DART": Dart,
}


def least(run: Callable[[], Any], repeats: int = 3) -> float:
    """The least processor time of some runs."""
    found = math.inf
    for _ in range(repeats):
        begun = time.process_time()
        run()
        found = min(found, time.process_time() - begun)
    return found


def told(what: str, name: str, row: dict[str, float]) -> None:
    """Prints a row."""
    print(f"{what:14} {name:24} " + "  ".join(f"{key} {x:.4g}" for key, x in row.items()), flush=True)


def stack() -> None:
    """How far the top sinks in a second."""
    boxes = stack_of()
    for name, make in PEERS.items():
        for h in (1e-2, 2e-3):
            peer = make(boxes, 1000.0, h)

            def run(peer: Any = peer) -> None:
                peer.start()
                peer.go(1.0)

            used = least(run)
            told("stack of 10", f"{name}, {1e3 * h:g} ms", {"ms": 1e3 * used, "sinks, m": abs(peer.height() - boxes[-1][1][2])})


def dominoes(span: float = 0.9, turn: float = 8.0) -> None:
    """When the last one falls (nan: it does not), against the same program at steps of 1/8 ms (Drake: 1 ms)."""
    boxes = row_of()
    speed = 0.5 * boxes[0][0][2] * turn

    def fallen(make: Any, h: float) -> float:
        peer, z = make(boxes, 1100.0, h), []
        peer.start(turn, speed)
        t = h * np.arange(1, round(span / h) + 1)
        for at in t:
            peer.go(float(at))
            z.append(peer.height())
        return float(np.interp(-0.02, -np.minimum.accumulate(np.array(z)), t)) if min(z) < 0.02 else math.nan

    for name, make in PEERS.items():
        if name == "Drake, SAP":
            continue  # takes twice the time of Lagged
        fine, steps = (fallen(make, 1e-3 / 8), (2e-3, 1e-3, 5e-4)) if name == "DART" else (fallen(make, 1e-3), (2e-3,))
        for h in steps:
            peer = make(boxes, 1100.0, h)

            def run(peer: Any = peer) -> None:
                peer.start(turn, speed)
                peer.go(span)

            used, at = least(run), fallen(make, h)
            told("20 dominoes", f"{name}, {1e3 * h:g} ms", {"ms": 1e3 * used, "falls, s": at, "error, s": abs(at - fine)})


if __name__ == "__main__":
    for word in sys.argv[1:] or ("stack", "dominoes"):
        {"stack": stack, "dominoes": dominoes}[word]()
