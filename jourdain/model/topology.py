"""Which joints make the tree and which close loops; orphans reported; the tree as text."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import ModelError
from .bodies import Body
from .constraints import Closure
from .joints import Drive, Joint

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class Branch:
    """A joint of the tree as it is walked outwards from the ground; ``reverse`` when declared the other way round."""

    joint: Joint
    body: Body
    reverse: bool


@dataclass(frozen=True)
class Topology:
    """Spanning tree (each body after its parent) and the joints that close loops."""

    branches: tuple[Branch, ...]
    cuts: tuple[Joint, ...]

    @cached_property
    def _parents(self) -> dict[str, Body]:
        return {b.body.name: (b.joint.child if b.reverse else b.joint.parent).body for b in self.branches}

    def _chain(self, body: Body) -> list[Body]:
        """From the ground to a body."""
        chain = [body]
        while chain[-1].name in self._parents:
            chain.append(self._parents[chain[-1].name])
        return chain[::-1]

    def common(self, a: Body, b: Body) -> Body:
        """The youngest body on the way to both."""
        return [x for x, y in zip(self._chain(a), self._chain(b), strict=False) if x is y][-1]


def spanning_tree(model: Model) -> Topology:
    """Joins bodies one joint after the other; a joint between bodies already connected closes a loop.

    Joints pinned with ``cut=False`` come first, then those that carry loads or are driven (their coordinates are wanted),
    then sliding ones, hinges and ball joints, each in order of declaration; ``cut=True`` always closes a loop.
    """
    component = {body.name: body.name for body in model.all_bodies}

    def root(name: str) -> str:
        while component[name] != name:
            component[name] = component[component[name]]
            name = component[name]
        return name

    chosen: list[Joint] = []
    cuts: list[Joint] = []
    loaded = {joint.name for load in model.loads.values() for joint in load.joints}
    order = sorted((j for j in model.joints.values() if not j.cut), key=lambda j: _preference(j, loaded))
    for joint in order:
        a, b = root(joint.parent.body.name), root(joint.child.body.name)
        if a != b:
            component[b] = a
            chosen.append(joint)
        elif joint.cut is False:
            raise ModelError(f"joint '{joint.name}' is pinned to the tree (cut=False) but closes a loop with other pinned joints")
        else:
            cuts.append(joint)
    cuts += [j for j in model.joints.values() if j.cut]
    branches = _walk(model, chosen)
    declared = {name: i for i, name in enumerate(model.joints)}
    return Topology(tuple(branches), tuple(sorted(cuts, key=lambda j: declared[j.name])))


_NONE = Drive()


def _preference(joint: Joint, loaded: set[str]) -> int:
    """Rank by which joints are taken into the tree, lowest first."""
    if joint.cut is False:
        return 0
    if joint.name in loaded or joint.drive != _NONE or any(m.coordinate.motion is not None for m in joint.motions):
        return 1
    return {"revolute": 3, "universal": 4, "spherical": 5, "free": 6}.get(joint.kind, 2)


def _walk(model: Model, chosen: list[Joint]) -> list[Branch]:
    """Branches from the ground outwards, parents first, otherwise in order of declaration."""
    declared = {name: i for i, name in enumerate(model.joints)}
    reached = {model.ground.name}
    remaining = sorted(chosen, key=lambda j: declared[j.name])
    touching: dict[str, list[Joint]] = {}
    for joint in remaining:
        touching.setdefault(joint.parent.body.name, []).append(joint)
        touching.setdefault(joint.child.body.name, []).append(joint)
    branches: list[Branch] = []
    ready: list[tuple[int, str]] = []

    def open_from(name: str) -> None:
        for joint in touching.get(name, ()):
            heapq.heappush(ready, (declared[joint.name], joint.name))

    open_from(model.ground.name)
    used: set[str] = set()
    while ready:
        _, name = heapq.heappop(ready)
        if name in used:
            continue
        joint = model.joints[name]
        forward = joint.parent.body.name in reached
        body = joint.child.body if forward else joint.parent.body
        if body.name in reached:
            continue
        used.add(name)
        reached.add(body.name)
        branches.append(Branch(joint, body, not forward))
        open_from(body.name)
    orphans = [b.name for b in model.bodies.values() if b.name not in reached]
    if orphans:
        listed = ", ".join(f"'{n}'" for n in orphans[:6])
        for name in model.switches:
            if name in model.joints and {model.joints[name].parent.body.name, model.joints[name].child.body.name} & {*orphans}:
                raise ModelError(
                    f"joint '{name}' may let go, and then {listed} would hang on nothing: add the joint in which it moves then, such as m.free(...) or "
                    "m.planar(...)"
                )
        raise ModelError(f"not connected to the ground by any chain of joints: {listed}; add a joint (m.free(...) lets a body fly)")
    return branches


def tree_text(model: Model) -> str:
    """The tree of bodies and joints as text."""
    topology = spanning_tree(model)
    children: dict[str, list[Branch]] = {}
    for branch in topology.branches:
        parent = branch.joint.child.body if branch.reverse else branch.joint.parent.body
        children.setdefault(parent.name, []).append(branch)
    lines = [f"{model.name}", model.ground.name]

    def items(name: str, indent: str) -> list[tuple[Branch, str, bool]]:
        branches = children.get(name, [])
        return [(branch, indent, branch is branches[-1]) for branch in reversed(branches)]

    stack = items(model.ground.name, "")  # no recursion: chains may be long
    while stack:
        branch, indent, last = stack.pop()
        coordinates = ", ".join(n.removeprefix(branch.joint.name + ".") for c in branch.joint.coordinates for n in c.names)
        detail = f"{branch.joint.name}: {branch.joint.kind}" + (f" ({coordinates})" if coordinates else "")
        lines.append(f"{indent}{'└─' if last else '├─'} {branch.body.title}  [{detail}]")
        stack += items(branch.body.name, indent + ("   " if last else "│  "))
    for joint in topology.cuts:
        lines.append(f"loop closed by {joint.name}: {joint.kind} {joint.parent.path} ↔ {joint.child.path}")
    for c in model.constraints.values():
        held = f"{c.kind} {c.a.path} ↔ {c.b.path}" if isinstance(c, Closure) else "rolling" if c.nonholonomic else "equation"
        lines.append(f"{'loop closed by' if isinstance(c, Closure) else 'constraint'} {c.name}: {held}")
    return "\n".join(lines)
