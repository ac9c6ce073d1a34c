"""Solid parts of a model as nonlinear elements: meshes and materials of structures, carried by the model's rigid bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.interpolation import Interpolation, hexahedron, tetrahedron
from ...elements.solid import Solid
from ...errors import InputError
from ...model.bodies import Frame
from ...model.flexible import FlexibleBody

if TYPE_CHECKING:
    from ...model.joints import Joint
    from ...model.model import Model
    from ...structures.solids import SolidElements
    from .program import Handle
    from .system import AssembledSystem

Numbers = Callable[[Any], np.ndarray]
INTERPOLATIONS: dict[int, Callable[[], Interpolation]] = {
    4: tetrahedron, 8: hexahedron, 10: lambda: tetrahedron(10), 20: lambda: hexahedron(20),
}  # fmt: skip


@dataclass(frozen=True)
class SolidPart:
    """A flexible body whose structure is of solid elements, and the frames of rigid bodies that hold its interfaces."""

    body: FlexibleBody
    held: Sequence[tuple[Frame, Frame]]  #: a frame of a rigid body, and that of the structure's interface
    coupling: str = "null space"

    @property
    def name(self) -> str:
        """The name of the body."""
        return self.body.name

    @property
    def elements(self) -> SolidElements:
        """The elements of the structure; raises what is wrong with it."""
        from ...structures.solids import SolidElements

        what, part = f"flexible body '{self.name}'", self.body.part.part
        groups = part.elements
        if len(groups) != 1 or not isinstance(groups[0], SolidElements) or groups[0].gradients.shape[3] != 3:
            kinds = ", ".join(type(g).__name__ for g in groups) or "matrices alone"
            raise InputError(
                f"{what}: formulation 'directors' makes nonlinear elements of solids in space (jd.structures.block, solid), but this structure has {kinds}; "
                "use recursive, cartesian or semi-recursive, or rigid=True"
            )
        if np.any(self.body.part.damping):
            raise InputError(f"{what}: damping of modes has no counterpart in nonlinear elements; leave it out, or use another formulation")
        return groups[0]

    def material(self) -> dict[str, float]:
        """Lamé's constants and density; the density is that of the whole mass over the volume."""
        group, part = self.elements, self.body.part.part
        law, first, shear = group.law, group.law[0, 1], group.law[3, 3]
        isotropic = np.zeros((6, 6))
        isotropic[:3, :3] = first + 2.0 * shear * np.eye(3)
        isotropic[3:, 3:] = shear * np.eye(3)
        if np.abs(law - isotropic).max() > 1e-9 * np.abs(law).max():
            raise InputError(f"flexible body '{self.name}': its law is not isotropic; formulation 'directors' knows Lamé's constants")
        density = part.mass / group.volumes.sum()
        scalar = np.zeros(part.M.shape[0] // 3)
        shares = self.solid.interpolation.masses(part.nodes[group.nodes]).sum(axis=2) * density
        np.add.at(scalar, group.nodes, shares)
        if np.abs(np.asarray(part.M.sum(axis=0)).ravel() - np.repeat(scalar, 3)).max() > 1e-6 * scalar.max():
            raise InputError(
                f"flexible body '{self.name}': its structure has masses beside those of its elements; make them bodies of the model, fixed to the same body"
            )
        return {"lame": float(first), "shear": float(shear), "density": float(density)}

    @property
    def solid(self) -> Solid:
        """The type of element: enhanced where the linear one has incompatible modes."""
        interpolation = INTERPOLATIONS[self.elements.nodes.shape[1]]()
        return Solid(interpolation, enhanced=interpolation.bubbles is not None)

    def nodes_of(self, frame: Frame) -> np.ndarray:
        """Nodes that an interface holds."""
        part = self.body.part.part
        found = part.interfaces.get(str(frame.node))
        if found is None or found.kind != "rigid":
            raise InputError(
                f"flexible body '{self.name}': its point '{frame.node}' is no rigid interface of nodes; name one with structure.interface(name, nodes)"
            )
        return found.nodes

    # -- in the engine -----------------------------------------------------------------------------------------------------

    def add(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers) -> None:
        """Adds nodes and elements, undeformed, where the first of the bodies that hold the part puts it."""
        places, velocities = self._placed(handles, numbers, system.q0, system.v0)
        self._meets(places, handles, numbers, system.q0, system.v0)
        attach, fixed = [], []
        for holder, own in self.held:
            nodes = self.nodes_of(own)
            if holder.body.is_ground:
                fixed += nodes.tolist()
            else:
                attach.append((handles[holder.body.name], nodes))
        gravity = numbers(self.body.model.gravity)
        system.mesh(
            self.solid, self.name, self.body.part.part.nodes, self.elements.nodes, at=places, velocities=velocities, fixed=fixed, attach=attach,
            gravity=gravity, coupling=self.coupling, **self.material(),
        )  # fmt: skip

    def move(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray) -> None:
        """Puts the nodes into a state, undeformed."""
        places, velocities = self._placed(handles, numbers, q, v)
        self._meets(places, handles, numbers, q, v)
        for h in system.handles:
            owner, _, number = h.name.rpartition(".")
            if owner == self.name and number.isdecimal():
                q[h.offset : h.offset + 3], v[h.offset : h.offset + 3] = places[int(number)], 0.0 if h.fixed else velocities[int(number)]

    def _placed(
        self, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray, which: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Places and velocities of the nodes as of a rigid body with one of those that hold the part."""
        holder, own = self.held[which]
        x, R, rate, omega = _pose(holder, handles, numbers, q, v)
        frame, place = numbers(own.rotation.entries).reshape(3, 3), numbers(own.position)
        places = x + (self.body.part.part.nodes - place) @ frame @ R.T
        return places, rate + np.cross(omega, places - x)

    def _meets(self, places: np.ndarray, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray) -> None:
        """Refuses bodies that stand elsewhere than the interfaces they hold."""
        for k, (holder, own) in enumerate(self.held[1:], 1):
            nodes = self.nodes_of(own)
            gap = float(np.abs(self._placed(handles, numbers, q, v, k)[0] - places)[nodes].max())
            if gap > 1e-6 * max(1.0, float(np.abs(places).max())):
                raise InputError(
                    f"flexible body '{self.name}': its undeformed interface '{own.node}' is {gap:.3g} m away from '{holder.body.name}', which holds it; "
                    "start where the part fits"
                )


def _pose(
    holder: Frame, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Place, rotation, velocity and angular velocity of a frame of a rigid body (or of the ground)."""
    place, R = numbers(holder.position), numbers(holder.rotation.entries).reshape(3, 3)
    if holder.body.is_ground:
        return place, R, np.zeros(3), np.zeros(3)
    at = handles[holder.body.name].offset
    x, rate = q[at : at + 12].reshape(4, 3), v[at : at + 12].reshape(4, 3)
    omega = 0.5 * np.cross(x[1:], rate[1:]).sum(axis=0)
    return x[0] + place @ x[1:], x[1:].T @ R, rate[0] + place @ rate[1:], omega


def separated(model: Model, coupling: str) -> tuple[Model, list[SolidPart]]:
    """The model of the rigid bodies alone, and the parts they carry; raises what a part of large deformation cannot have."""
    flexible = [b for b in model.bodies.values() if isinstance(b, FlexibleBody)]
    rigid, parts = copy(model), []
    own: set[str] = set()
    for body in flexible:
        held = []
        for joint in model.joints.values():
            sides = [f for f in (joint.parent, joint.child) if f.body is body]
            if not sides:
                continue
            held.append(_held(body, joint))
            own.add(joint.name)
        if not held:
            raise InputError(
                f"flexible body '{body.name}': nothing holds it; in formulation 'directors' it is fixed to rigid bodies (attach={{'root': hub}})"
            )
        _check_unused(model, body, own)
        parts.append(SolidPart(body, held, coupling))
    gone = {b.name for b in flexible}
    modes = {n for b in flexible for c in b.modes for n in (*c.names, *c.velocity_names)}
    rigid.bodies = {n: b for n, b in model.bodies.items() if n not in gone}
    rigid.joints = {n: j for n, j in model.joints.items() if n not in own}
    rigid.loads = {n: x for n, x in model.loads.items() if n not in {f"{b}.elasticity" for b in gone}}
    rigid.initial = {n: x for n, x in model.initial.items() if n not in modes}
    for part in parts:
        part.material()
    return rigid, parts


def _held(body: FlexibleBody, joint: Joint) -> tuple[Frame, Frame]:
    """The rigid body's frame and the structure's, of a joint that holds it."""
    other, own = (joint.parent, joint.child) if joint.child.body is body else (joint.child, joint.parent)
    if joint.kind != "fixed" or isinstance(other.body, FlexibleBody):
        what = f"of kind '{joint.kind}'" if joint.kind != "fixed" else "with another flexible body"
        raise InputError(
            f"flexible body '{body.name}': its joint '{joint.name}' is {what}; in formulation 'directors' it is fixed to rigid bodies, which have the joints"
        )
    return other, own


def _check_unused(model: Model, body: FlexibleBody, own: set[str]) -> None:
    """Refuses loads, sensors and closures on nodes of the body."""
    for name, load in model.loads.items():
        if name != f"{body.name}.elasticity" and any(isinstance(x, Frame) and x.body is body for x in load.signature):
            raise InputError(
                f"flexible body '{body.name}': load '{name}' acts on it; in formulation 'directors' let it act on a rigid body that it is fixed to"
            )
    things = {**model.sensors, **model.constraints}
    for name, thing in things.items():
        if any(isinstance(x, Frame) and x.body is body for x in vars(thing).values()):
            raise InputError(
                f"flexible body '{body.name}': '{name}' refers to it; in formulation 'directors' read the channels of its nodes ('{body.name}.0' …)"
            )


__all__ = ["SolidPart", "separated"]
