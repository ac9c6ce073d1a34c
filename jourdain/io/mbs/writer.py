"""Writing a model as a ROBOTRAN file (``.mbs``)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ...errors import ModelError
from ...model import Body, Frame, Joint, Model, Motion
from ...model.constraints import Closure, Equation
from ...model.topology import Branch
from ...model.units import quantity
from ...symbolic.graph import evaluate
from ..model_files.placement import Inertial, Pose, about, clean
from .data import Cut, Drawing, JointData

#: How far a joint axis may be off a coordinate axis and still be taken for it.
ALIGNED = 1e-12


@dataclass
class _Item:
    """An elementary joint as the file has it."""

    name: str
    kind: str
    nature: str = "independent"
    q0: float = 0.0
    v0: float = 0.0
    a0: float = 0.0
    actuated: bool = False


@dataclass
class _Node:
    """A body as the file has it; ``pose`` is the file's frame of the body seen from the model's."""

    body: Body
    pose: Pose
    parent: str = ""
    anchor: str = "origin"
    items: list[_Item] = field(default_factory=list)
    points: dict[str, np.ndarray] = field(default_factory=dict)


def write_mbs(model: Model, path: str | os.PathLike[str]) -> list[str]:
    """Writes a model as a ROBOTRAN file with the present values of its parameters.

    Bodies are turned into ROBOTRAN's aligned frames; a joint axis that is then not a coordinate axis gets locked
    joints before it (manual, section 2.4.3), and a fixed joint is a locked T1. Closures at balls, rods and bodies and
    initial values are written, and links, sensors, force points, user models, drawings, views and lights that came from a ROBOTRAN file
    (``model.imported``); not the layout of the editor's diagram. What the format cannot say is returned in words; quaternions, mimic joints, screws and loops closed
    by other joints are errors.
    """
    writer = _Writer(model)
    from ...results.whole_file import write_whole

    write_whole(path, writer.text())
    return writer.lost


class _Writer:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.lost: list[str] = []
        self.records: dict[str, JointData] = {r.name: r for r in model.imported.get("joints", [])}
        self.nodes: dict[str, _Node] = {"ground": _Node(model.ground, Pose.identity())}
        topology = model.topology
        children: dict[str, list[Branch]] = {}
        for branch in topology.branches:
            near = branch.joint.child if branch.reverse else branch.joint.parent
            children.setdefault(near.body.name, []).append(branch)
        self.children = children
        self.carry: dict[str, tuple[str, str, list[_Item]]] = {}
        for branch in topology.branches:
            self._branch(branch)
        for node in self.nodes.values():
            for name, frame in node.body.frames.items():
                node.points[name] = (node.pose.inverse @ self._pose(frame)).p
        self.cuts = [self._cut(f"joint '{j.name}'", j.name, j.kind, j.parent, j.child) for j in topology.cuts]
        known = {cut.name for cut in model.imported.get("cuts", [])}
        for c in model.constraints.values():
            if isinstance(c, Closure) and c.name not in known:
                length = None if c.kind != "rod" else float(self._numbers([c.data])[0])
                self.cuts.append(self._cut(f"closure '{c.name}'", c.name, c.kind, c.a, c.b, length, c.ignore))
        self._say_lost()
        self.drawings: dict[str, list[Drawing]] = {}
        for drawing in model.imported.get("drawings", []):
            self.drawings.setdefault(drawing.body, []).append(drawing)
        undrawn = [b.name for b in model.all_bodies if b.shapes]
        if undrawn:
            self.lost.append(f"the shapes of the bodies {', '.join(undrawn)}")

    # ---- numbers --------------------------------------------------------------------------------------------

    def _numbers(self, expressions: Any) -> np.ndarray:
        return np.array([float(x) for x in self.model.parameter_set.evaluate(list(expressions))])

    def _pose(self, frame: Frame) -> Pose:
        return Pose(clean(self._numbers(frame.rotation.entries).reshape(3, 3)), self._numbers(frame.position))

    def _inertial(self, body: Body) -> Inertial:
        m, sx, sy, sz, xx, yy, zz, xy, xz, yz = self._numbers([body.mass, *body.moment, *body.inertia.entries])
        c = np.array([sx, sy, sz]) / m if m else np.zeros(3)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        central = I - m * (c @ c * np.eye(3) - np.outer(c, c))
        central[np.abs(central) < 1e-14 * np.abs(I).max()] = 0.0  # what the shift leaves of a zero
        return Inertial(float(m), c, central)

    # ---- tree -----------------------------------------------------------------------------------------------

    def _branch(self, branch: Branch) -> None:
        joint = branch.joint
        near, far = (joint.child, joint.parent) if branch.reverse else (joint.parent, joint.child)
        before = self.nodes[near.body.name]
        start = before.pose.inverse @ self._pose(near)
        node = _Node(branch.body, Pose.identity())
        if near.body.name in self.carry:
            node.parent, node.anchor, earlier = self.carry[near.body.name]
            node.items = list(earlier)
        else:
            node.parent = near.body.name
            node.anchor = self._anchor(before, near, start.p, joint)
        items, Q = self._items(joint, branch.reverse, start.R)
        node.items += items
        # the file's frame X and the model's joint frame differ by Q: X·Q = (body's frame)·far
        node.pose = self._pose(far) @ Pose(Q.T, np.zeros(3))
        self.nodes[branch.body.name] = node
        if self._is_fictitious(branch.body, node):
            self.carry[branch.body.name] = (node.parent, node.anchor, node.items)
        self._drive(joint)

    def _is_fictitious(self, body: Body, node: _Node) -> bool:
        """Whether a body only separates two joints in a row."""
        following = self.children.get(body.name, [])
        if body.mass != 0.0 or not body.inertia.is_zero or body.frames or body.shapes or len(following) != 1:
            return False
        branch = following[0]
        near = branch.joint.child if branch.reverse else branch.joint.parent
        return bool(np.abs((node.pose.inverse @ self._pose(near)).p).max() == 0.0 and branch.joint.motions)

    def _anchor(self, node: _Node, near: Frame, position: np.ndarray, joint: Joint) -> str:
        if near.name is not None and near.name in near.body.frames:
            return near.name
        if not np.any(position):
            return "origin"
        return self._new_point(node, f"{joint.name}_anchor", position)

    def _new_point(self, node: _Node, name: str, position: np.ndarray) -> str:
        for known, p in node.points.items():
            if np.array_equal(p, position):
                return known
        while name in node.points or name in node.body.frames or name == "origin":
            name += "_"
        node.points[name] = position
        return name

    def _items(self, joint: Joint, reverse: bool, Q: np.ndarray) -> tuple[list[_Item], np.ndarray]:
        """Elementary joints of the file, and the rotation left between the file's frame and the joint's."""
        what = f"joint '{joint.name}'"
        items: list[_Item] = []
        if not joint.motions:
            return [_Item(joint.name, "T1", "driven")], Q
        self._check(joint, what)
        for motion in reversed(joint.motions) if reverse else joint.motions:
            axis = self._numbers(motion.axis)
            direction = Q @ (-axis if reverse else axis)
            name = joint.name if len(joint.motions) == 1 else motion.coordinate.names[0].replace(".", "_")
            k = _coordinate_axis(direction)
            if k is None:
                skew, S = _skew(name, direction)
                items += skew
                Q = S.T @ Q
                k = 2
            items.append(self._item(name, motion, f"{motion.kind}{k + 1}"))
        return items, clean(Q)

    def _check(self, joint: Joint, what: str) -> None:
        if any(m.kind == "S" for m in joint.motions):
            raise ModelError(f"{what}: ROBOTRAN has no quaternions; declare it with orientation='xyz'")
        coordinates = {id(m.coordinate) for m in joint.motions}
        shared = any(c in coordinates for j in self.model.joints.values() if j is not joint for c in map(id, j.coordinates))
        lines = self._numbers([e for m in joint.motions for e in (m.ratio, m.offset)]).reshape(-1, 2)
        if shared or len(coordinates) < len(joint.motions) or np.any(lines != (1.0, 0.0)):
            raise ModelError(f"{what}: ROBOTRAN has no coupled joints (mimic, screw, offset); use a user constraint there")

    def _item(self, name: str, motion: Motion, kind: str) -> _Item:
        coordinate = motion.coordinate
        record = self.records.get(name)
        if coordinate.nature != "free" and coordinate.motion is not None:
            symbols = self.model.parameter_set.symbols
            values = dict(zip(symbols, self.model.parameter_set.values(), strict=True))
            start = float(evaluate(coordinate.motion, {**values, self.model.time: 0.0}))
            if coordinate.nature == "driven":
                self.lost.append(f"the motion of joint '{name}' (its value at t = 0 is written)")
            v0, a0 = (record.v0, record.a0) if record is not None else (0.0, 0.0)
            return _Item(name, kind, "driven", start, v0, a0, record is not None and record.actuated)
        q0, v0 = self._initial(coordinate.names[0]), self._initial(coordinate.velocity_names[0])
        if record is not None:
            return _Item(name, kind, record.nature, q0, v0, record.a0, record.actuated)
        return _Item(name, kind, "independent", q0, v0)

    def _initial(self, name: str) -> float:
        given = self.model.initial.get(name, 0.0)
        return float(quantity(given) if isinstance(given, str) else given)

    def _drive(self, joint: Joint) -> None:
        drive = joint.drive
        numbers = self._numbers([drive.rotor_inertia, drive.damping, drive.friction, drive.stiffness])
        if np.any(numbers):
            self.lost.append(f"rotor inertia, damping, friction and stiffness of joint '{joint.name}'")
        if joint.limits != (None, None):
            self.lost.append(f"the limits of joint '{joint.name}'")

    def _say_lost(self) -> None:
        """Parts of the model that the format has no words for, by name; those that came from a ROBOTRAN file are written."""
        m, imported = self.model, self.model.imported
        known = {r.name for kind in ("links", "forces", "sensors") for r in imported.get(kind, [])}
        read = {i.name for n in known if n in m.loads for i in m.inputs.values() if i.name.startswith(f"{n}.")}
        parts: dict[str, list[str]] = {
            "constraint": [n for n, c in m.constraints.items() if isinstance(c, Equation)],
            "load": [n for n, load in m.loads.items() if n not in known and not load.of_body],
            "sensor": [n for n in m.sensors if n not in known],
            "input": [n for n in m.outer_inputs if n not in read], "memory": list(m.memories), "unknown": list(m.unknowns),
            "state": list(m.states), "output": list(m.outputs), "event": list(m.events), "contact": list(m.contacts),
        }  # fmt: skip
        self.lost += [f"the {kind}{'s' if len(names) > 1 else ''} {', '.join(names)}" for kind, names in parts.items() if names]
        bending = [load.name.removesuffix(".elasticity") for load in m.loads.values() if load.of_body]
        if bending:
            self.lost.append(f"how {', '.join(bending)} bend{'s' if len(bending) == 1 else ''} (written as rigid)")

    def _cut(
        self, what: str, name: str, kind: str, first: Frame, second: Frame, length: float | None = None, ignore: tuple[str, ...] = ()
    ) -> Cut:
        known = {"ball": "ball", "spherical": "ball", "rod": "rod", "body": "solid", "fixed": "solid"}.get(kind)
        if known is None:
            raise ModelError(f"{what}: ROBOTRAN cuts loops at balls, rods and bodies, not at a {kind} joint")
        paths = []
        for frame in (first, second):
            node = self.nodes[frame.body.name]
            position = (node.pose.inverse @ self._pose(frame)).p
            if known == "solid" and np.abs((node.pose.inverse @ self._pose(frame)).R - np.eye(3)).max() > ALIGNED:
                raise ModelError(f"{what}: a body cut of ROBOTRAN needs frames aligned with their bodies")
            named = frame.name is not None and frame.name in frame.body.frames
            point = frame.name if named else "" if not position.any() else self._new_point(node, f"{name}_cut", position)
            paths.append(f"{frame.body.name}.{point}" if point else frame.body.name)
        return Cut(name, known, paths[0], paths[1], length, ignore)

    # ---- text -----------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The whole file."""
        model, imported = self.model, self.model.imported
        names = {"ground": "base"}
        out = _Text()
        with_points = {n: node for n, node in self.nodes.items() if n not in self.carry}
        out.line('<?xml version="1.0" encoding="UTF-8"?>')
        with out.block("mbsDescR7"):
            out.item("mbsname", model.name)
            with out.block("base"):
                with out.block("gravity"):
                    out.coordinates(self._numbers(model.gravity))
                self._write_points(out, self.nodes["ground"])
                self._write_drawings(out, "ground")
            with out.block("bodytree"):
                for name, node in with_points.items():
                    if name != "ground":
                        self._write_body(out, node, names.get(node.parent, node.parent))
            cuts = [*imported.get("cuts", []), *self.cuts]
            if cuts:
                with out.block("cuts"):
                    for cut in cuts:
                        self._write_cut(out, cut)
            if imported.get("links"):
                with out.block("links"):
                    for link in imported["links"]:
                        with out.block("link3D" if link.spatial else "link"):
                            out.item("name", link.name)
                            self._write_ends(out, link)
            self._write_user(out)
            for text in imported.get("scene", []):
                out.line(text)
        return "\n".join(out.lines) + "\n"

    def _write_body(self, out: _Text, node: _Node, parent: str) -> None:
        inertial = self._inertial(node.body).placed(node.pose.inverse)
        with out.block("body"):
            out.item("bodyname", node.body.name)
            with out.block("parent"):
                out.item("bodyname", parent)
                out.item("pointname", node.anchor)
            for item in node.items:
                with out.block("joint"):
                    out.item("jointname", item.name)
                    out.item("type", item.kind)
                    out.item("nature", item.nature)
                    values = [(tag, x) for tag, x in (("q", item.q0), ("qd", item.v0), ("qdd", item.a0)) if x]
                    if values:
                        with out.block("initialvalue"):
                            for tag, x in values:
                                out.item(tag, x)
                    if item.actuated:
                        out.line("<actuated/>")
            out.item("mass", inertial.mass)
            with out.block("com"):
                out.coordinates(inertial.com)
            with out.block("inertia"):
                for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
                    if inertial.inertia[i, j]:
                        out.item(f"I{'xyz'[i]}{'xyz'[j]}", inertial.inertia[i, j])
            self._write_points(out, node)
            self._write_drawings(out, node.body.name)

    def _write_drawings(self, out: _Text, body: str) -> None:
        if body not in self.drawings:
            return
        with out.block("graphics"), out.block("x3D"), out.block("x3D_shapes"):
            for d in self.drawings[body]:
                with out.block(d.kind):
                    out.item("name", d.name)
                    for tag, xyz in (("position", d.position), ("scale", d.scale), ("rotation", d.rotation)):
                        out.triple(tag, xyz)
                    for tag, (r, g, b) in d.colours.items():
                        out.line(f'<{tag} R="{r:g}" G="{g:g}" B="{b:g}"/>')
                    for tag, x in d.surface.items():
                        out.item(tag, x)
                    for tag in ("radius", "height"):
                        if tag in d.size:
                            out.item(tag, d.size[tag])
                    if "x" in d.size:
                        out.triple("size", [d.size[c] for c in "xyz"])
                    if d.url:
                        out.item("url", d.url)
                    for text in d.others:
                        out.line(text)

    def _write_points(self, out: _Text, node: _Node) -> None:
        for name, position in node.points.items():
            frame = f"{node.body.name}.{name}"
            with out.block("point"):
                out.item("pointname", name)
                out.coordinates(position)
                for tag, kind in (("sensor", "sensors"), ("extforce", "forces")):
                    for record in self.model.imported.get(kind, []):
                        if record.frame == frame:
                            wanted = "".join(f' {q}="true"' for q in record.quantities)
                            out.line(f"<{tag} name={quoteattr(record.name)}{wanted}/>")

    def _write_cut(self, out: _Text, cut: Cut) -> None:
        with out.block(cut.kind):
            out.item("name", cut.name)
            self._write_ends(out, cut)
            if cut.length is not None:
                out.item("length", cut.length)
            if cut.ignore:
                with out.block("ignore"):
                    for c in cut.ignore:
                        out.line(f"<{c}/>")

    def _write_ends(self, out: _Text, connection: Any) -> None:
        for tag, path in (("endpoint1", connection.first), ("endpoint2", connection.second)):
            body = next(n for n in sorted(self.nodes, key=len, reverse=True) if path == n or path.startswith(n + "."))
            with out.block(tag):
                out.item("bodyname", "base" if body == "ground" else body)
                out.item("pointname", path[len(body) + 1 :] or "origin")

    def _write_user(self, out: _Text) -> None:
        imported = self.model.imported
        if imported.get("user_models"):
            with out.block("user_models"):
                for user in imported["user_models"]:
                    with out.block("user_model"):
                        out.item("name", user.name)
                        for p in user.parameters:
                            with out.block("parameter"):
                                out.item("name", p.name)
                                out.item("type", p.kind)
                                for tag, text in p.texts.items():
                                    out.item(tag, text)
                                for x in p.values:
                                    out.item("value", x)
        if imported.get("user_variables"):
            with out.block("user_variables"):
                for v in imported["user_variables"]:
                    with out.block("user_variable"):
                        out.item("varname", v.name)
                        out.item("type", v.kind)
                        out.item("size", v.size)


def _coordinate_axis(direction: np.ndarray) -> int | None:
    """The coordinate axis a direction runs along, None if it runs along none or against one."""
    k = int(np.argmax(direction))
    return k if np.abs(direction - np.eye(3)[k]).max() <= ALIGNED else None


def _skew(name: str, d: np.ndarray) -> tuple[list[_Item], np.ndarray]:
    """Locked rotations R3(α) R2(β) that take the z axis to a direction."""
    alpha = float(np.arctan2(d[1], d[0])) if np.hypot(d[0], d[1]) > ALIGNED else 0.0
    beta = float(np.arctan2(np.hypot(d[0], d[1]), d[2]))
    items = [_Item(f"{name}_skew{n}", kind, "driven", x) for n, kind, x in ((1, "R3", alpha), (2, "R2", beta)) if x]
    return items, clean(about(2, alpha) @ about(1, beta))


class _Text:
    """Indented lines of XML."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def item(self, tag: str, content: Any) -> None:
        text = repr(float(content)) if isinstance(content, (float, np.floating)) else escape(str(content))
        self.line(f"<{tag}>{text}</{tag}>")

    def coordinates(self, position: Any) -> None:
        self.triple("coordinates", position)

    def triple(self, tag: str, xyz: Any) -> None:
        with self.block(tag):
            for c, x in zip("xyz", xyz):
                self.item(c, float(x))

    def block(self, tag: str) -> _Block:
        return _Block(self, tag)


class _Block:
    """An element around what is written inside the with statement."""

    def __init__(self, text: _Text, tag: str) -> None:
        self.text = text
        self.tag = tag

    def __enter__(self) -> None:
        self.text.line(f"<{self.tag}>")
        self.text.depth += 1

    def __exit__(self, *_: object) -> None:
        self.text.depth -= 1
        self.text.line(f"</{self.tag}>")


__all__ = ["write_mbs"]
