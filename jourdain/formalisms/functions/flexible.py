"""What loads a flexible body: the motion of its floating frame and the wrenches at its nodes, for the recovery of stresses."""

from __future__ import annotations

from ...model.bodies import Body, Frame
from ...model.elastic.flexible import Elasticity, FlexibleBody
from ...symbolic.expr import ONE, ZERO, Expr, sub
from ...symbolic.function import SymbolicFunction
from ...symbolic.vectors import NULL, Matrix, Vector
from ..equations import Equations
from ..modal_inertia import modal_inertia
from ..tree.links import Wrench
from .registry import assemble, builder, matrix_result, vector_result


class _NodeLoads(Equations):
    """The equations with the loads at the nodes of one flexible body kept apart (world axes)."""

    def __init__(self, eq: Equations, body: FlexibleBody) -> None:
        super().__init__(eq.model)
        self.body, self.at_nodes = body, dict[str, Wrench]()

    def add_wrench(self, frame: Frame, force: Vector, torque: Vector, base: int, wrenches: dict[int, Wrench]) -> None:
        super().add_wrench(frame, force, torque, base, wrenches)
        if frame.body is self.body and frame.node is not None:
            k = self.kinematics
            f, n = (v if base < 0 else k.turned(base, v) for v in (force, torque))
            arm = k.position(frame) - k.position(self.body.frames[frame.node])
            before = self.at_nodes.get(frame.node, (NULL, NULL))
            self.at_nodes[frame.node] = (before[0] + f, before[1] + n + arm.cross(f))


def attachments(eq: Equations, body: FlexibleBody) -> list[tuple[str, str, Frame, float]]:
    """Joints and closures that hold on to a body's nodes: name, node, the frame at which their reaction is told, and its sign on the body."""
    found = []
    pairs = [(j.name, j.parent, j.child) for j in eq.model.joints.values()]
    pairs += [(c.name, c.a, c.b) for c in eq.closures if c.name not in eq.model.joints]
    for name, first, second in pairs:
        for frame, sign in ((first, -1.0), (second, 1.0)):
            if frame.body is body and frame.node is not None:
                found.append((name, frame.node, second, sign))
    return found


@builder
def flexible_loads_function(eq: Equations, body: str) -> SymbolicFunction:
    """Of a flexible body: the rotation R of its frame; its acceleration less gravity, angular acceleration and velocity (body axes); the loads
    at its nodes (force and moment, body axes, in the order of its nodes); and the arms (world axes) from nodes to where reactions are told."""
    item = eq.model.bodies[body]
    assert isinstance(item, FlexibleBody)
    own = _NodeLoads(eq, item)
    _ = own.wrenches
    k = eq.kinematics
    R = k.rotation(item)
    inside: Matrix = R.T
    motion: list[Expr] = []
    for v in (k.acceleration(item) - eq.model.gravity, k.angular_acceleration(item), k.angular_velocity(item)):
        motion += list(inside @ v)
    loads = []
    for node in item.used_nodes:
        f, n = own.at_nodes.get(node, (NULL, NULL))
        loads.append([*(inside @ f), *(inside @ n)])
    arms = [list(k.position(at) - k.position(item.frames[node])) for _, node, at, _ in attachments(eq, item)]
    results = [
        matrix_result("R", [list(row) for row in R.rows], 3), vector_result("motion", motion), matrix_result("loads", loads, 6),
        matrix_result("arms", arms, 3),
    ]  # fmt: skip
    return assemble(eq, "flexible_loads", "t x u a", results, optional="")


@builder
def modal_balance_function(eq: Equations, body: str) -> SymbolicFunction:
    """Of a flexible body: the forces that its modes ask for by inertia, elasticity and damping (with gravity), and how its nodes move with a
    unit rate of each mode in its floating frame: (6, modes) for each node, velocity and angular velocity, body axes."""
    item = eq.model.bodies[body]
    assert isinstance(item, FlexibleBody)
    k, modal = eq.kinematics, modal_inertia(item)
    inside: Matrix = k.rotation(item).T
    omega, omega_dot = inside @ k.angular_velocity(item), inside @ k.angular_acceleration(item)
    asked = modal.forces(omega, omega_dot, inside @ (k.acceleration(item) - eq.model.gravity), [c.a[0] for c in item.modes])
    elastic = next(load for load in eq.model.loads.values() if isinstance(load, Elasticity) and load.body is item)
    rows = [sub(x, f) for x, f in zip(asked, elastic.laws, strict=True)]
    moved: list[list[Expr]] = []
    for node in item.used_nodes:
        bent = item.deformation(node)
        moved += [[v[a] for v in columns] for columns in (bent.by, bent.turns) for a in range(3)]
    results = [vector_result("asked", rows), matrix_result("nodes", moved, len(item.modes))]
    return assemble(eq, "modal_balance", "t x u a", results, optional="")


@builder
def velocity_transformation_function(eq: Equations) -> SymbolicFunction:
    """S of ẋ = S q̇ (world axes; velocity of the origin, angular velocity and rates of the modes of each body), the same of the two frames of
    each joint of the tree, the places of these frames, and those of the bodies' origins."""
    k, tree = eq.kinematics, eq.tree
    unit = {id(c): i for i, c in enumerate(c for c in tree.coordinates for _ in c.v)}

    def motion(frame: Frame | Body) -> list[list[Expr]]:
        columns = [[*v, *w] for v, w in zip(*k.jacobian(frame), strict=True)]
        return [[column[i] for column in columns] for i in range(6)]

    S: list[list[Expr]] = []
    for body in eq.model.bodies.values():
        S += motion(body)
        for c in body.modes if isinstance(body, FlexibleBody) else ():
            S.append([ONE if i == unit[id(c)] else ZERO for i in range(tree.nv)])
    frames = [f for branch in eq.model.topology.branches for f in (branch.joint.parent, branch.joint.child)]
    moved = [row for f in frames for row in ([[ZERO] * tree.nv] * 6 if f.body.is_ground else motion(f))]
    places = [list(k.position(f)) for f in frames]
    origins = [list(k.position(body)) for body in eq.model.bodies.values()]
    results = [
        matrix_result("S", S, tree.nv), matrix_result("frames", moved, tree.nv), matrix_result("places", places, 3),
        matrix_result("origins", origins, 3),
    ]  # fmt: skip
    return assemble(eq, "velocity_transformation", "q", results)


__all__ = ["attachments"]
