"""Reading URDF, the robot description format of ROS, into a model."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError, JourdainError
from ..model import Body, Frame, Joint, Model
from ..model.shapes import box, capsule, cylinder, sphere
from .drawings import MeshFile, MeshFinder, Packages, hex_colour, placed
from .model_files.placement import Inertial, Pose, clean, from_rpy, z_to
from .notes import tell
from .unphysical import accept_unphysical
from .xml_reader import LARGEST, Element, listed, one_root, read_xml

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


@dataclass(frozen=True)
class EffortLimit:
    """Largest force or torque (N, N·m) and speed (m/s, rad/s) of a joint as its file states them."""

    joint: str
    effort: float | None
    velocity: float | None


@dataclass
class _Link:
    element: Element
    name: str
    inertial: Inertial | None = None
    joint: _Joint | None = None
    children: list[_Joint] = field(default_factory=list)


@dataclass
class _Joint:
    element: Element
    name: str
    kind: str
    parent: str
    child: str
    pose: Pose
    axis: np.ndarray
    mimic: tuple[str, float, float] | None = None


def read_urdf(
    source: str | os.PathLike[str],
    base: str = "fixed",
    packages: Packages = None,
    merge_fixed: bool = True,
    meshes: bool = True,
    name: str | None = None,
    mimic: bool = True,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
) -> Model:
    """Reads a URDF file (or its text) into a model; joints keep their names and the order of the file.

    ``base`` is "fixed" (the root link stands on the ground) or "free" (it flies: joint "root"). With ``merge_fixed``
    a link behind a fixed joint becomes a frame ``body.link`` of the body before it, which takes over its mass and
    shapes. With ``mimic=False`` joints that follow another move on their own. ``packages`` finds ``package://``
    addresses: {name: folder}, or a function of the address; without it the folders around the file and
    ROS_PACKAGE_PATH are searched. Meshes are read from those packages and from the folder ``root`` alone (also written ``folder``): by default that of the
    package the file is in (with its package.xml, or above a folder "urdf"), else that of the file. Collision shapes are those that ``m.shapes("*_foot")`` finds for
    contacts, by the names of their links. What is not taken over (transmissions, missing meshes or inertias …)
    is said by name in ``model.notes`` and by one warning; limits of force and speed are in ``model.imported["effort_limits"]``.

    >>> text = '''<robot name="pendulum"><link name="base"/>
    ...   <link name="bob"><inertial><mass value="2"/><origin xyz="0 0 -1"/>
    ...     <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint>
    ... </robot>'''
    >>> print(read_urdf(text))
    pendulum
    ground
    └─ base  [root: fixed]
       └─ bob  [hinge: revolute (angle)]
    """
    if base not in ("fixed", "free"):
        raise InputError(f"base = {base!r} is unknown; use 'fixed' or 'free'")
    robot, path = read_xml(source, expected=("robot",))
    finder = MeshFinder(None if path is None else path.parent, packages, one_root("read_urdf", root, folder)) if meshes else None
    model = _Importer(robot, name, base, merge_fixed, mimic, finder).model
    tell(model, [*left_out(robot), *accept_unphysical(model)])
    return model


class _Importer:
    def __init__(self, robot: Element, name: str | None, base: str, merge_fixed: bool, mimic: bool, finder: MeshFinder | None) -> None:
        self.robot = robot
        self.merge_fixed = merge_fixed
        self.finder = finder
        self.model = Model(name or robot.get("name") or "robot")
        self.links = _links(robot)
        self.joints = _joints(robot, self.links)
        self._check_mimics(mimic)
        self.root = _root(robot, self.links)
        self.materials = {m.required("name"): m for m in robot.all("material") if m.first("color") is not None}
        #: body that carries a link, and where
        self.places: dict[str, tuple[Body, Pose]] = {}
        self.made: dict[str, Joint] = {}
        self.limits: list[EffortLimit] = []
        self._bodies()
        self._ground(base)
        self._connect()
        self._report()

    # ---- bodies ---------------------------------------------------------------------------------------------

    def _bodies(self) -> None:
        """Bodies in the order of the file; links behind merged fixed joints become frames of the body before them."""
        for name, link in self.links.items():
            if not self._is_merged(link):
                self.places[name] = (self.model.body(self._body_name(name)), Pose.identity())
        pending = [self.root]
        while pending:
            link = self.links[pending.pop()]
            if link.joint is not None and self._is_merged(link):
                body, pose = self.places[link.joint.parent]
                self.places[link.name] = (body, pose @ link.joint.pose)
            pending.extend(j.child for j in link.children)
        for name, link in self.links.items():
            self._furnish(link, *self.places[name])

    def _is_merged(self, link: _Link) -> bool:
        return self.merge_fixed and link.joint is not None and link.joint.kind == "fixed"

    def _body_name(self, name: str) -> str:
        if name != "ground":
            return name
        fresh = "ground_link"
        while fresh in self.links:
            fresh += "_"
        self.model.notes.append(f"the link 'ground' is called '{fresh}' in the model")
        return fresh

    def _furnish(self, link: _Link, body: Body, pose: Pose) -> None:
        """Mass, shapes and frame of a link on its body."""
        if link.inertial is not None:
            own = link.inertial.placed(pose)
            body.add_mass(own.mass, own.com.tolist(), _six(own.inertia))
        if self._is_merged(link):
            body.frame(link.name, pose.position, pose.matrix)
        drawn, visuals = len(body.shapes), list(link.element.all("visual"))
        for visual in visuals:
            self._draw(visual, body, pose)
        unseen = bool(visuals) and self.finder is not None and len(body.shapes) == drawn
        for solid in link.element.all("collision"):
            self._draw(solid, body, pose, link.name)
            geometry = solid.first("geometry")
            if unseen and geometry is not None and geometry.first("mesh") is None:  # in the place of meshes that cannot be read
                self._draw(solid, body, pose)

    # ---- shapes ---------------------------------------------------------------------------------------------

    def _draw(self, visual: Element, body: Body, pose: Pose, collision: str | None = None) -> None:
        """A shape to be seen, or one for contacts with the name of its link."""
        geometry = visual.first("geometry")
        if geometry is None or not geometry.children:
            return
        form = geometry.children[0]
        try:
            shape = self._shape(form, body)
            if shape is not None and collision is None:
                body.shapes.append(placed(shape, pose @ _origin(visual), self._colour(visual)))
            elif shape is not None:
                body.add_collision(placed(shape, pose @ _origin(visual)), collision or "")
        except JourdainError as error:
            what = "shape" if collision is None else "collision shape"
            self.model.notes.append(f"link '{body.name}': a {what} is left out ({error})")

    def _shape(self, form: Element, body: Body) -> Any:
        if form.tag == "box":
            return box(*form.numbers("size", 3).tolist())
        if form.tag == "cylinder":
            return cylinder(form.number("radius"), form.number("length"))
        if form.tag == "capsule":
            return capsule(form.number("radius"), form.number("length"))
        if form.tag == "sphere":
            return sphere(form.number("radius"))
        if form.tag != "mesh":
            raise form.error("this kind of geometry is not known")
        if self.finder is None:
            return None
        name = form.required("filename")
        found, reason = self.finder.find(name)
        if found is None:
            self.model.notes.append(f"link '{body.name}': the mesh '{name}' is not shown: {reason}")
            return None
        x, y, z = form.numbers("scale", 3, (1.0, 1.0, 1.0)).tolist()
        return MeshFile(path=str(found), scale=(x, y, z))

    def _colour(self, visual: Element) -> str | None:
        material = visual.first("material")
        if material is None:
            return None
        if material.first("color") is None:
            material = self.materials.get(material.get("name") or "", material)
        colour = material.first("color")
        return None if colour is None else hex_colour(colour.numbers("rgba", 4))

    # ---- joints ---------------------------------------------------------------------------------------------

    def _ground(self, base: str) -> None:
        taken = set(self.joints)
        name = next(n for n in ("root", "root_joint", *(f"root_{i}" for i in range(len(taken) + 1))) if n not in taken)
        body, _ = self.places[self.root]
        if base == "free":
            self.model.free(name, self.model.ground, body)
        else:
            self.model.fixed(name, self.model.ground, body)

    def _check_mimics(self, mimic: bool) -> None:
        for joint in self.joints.values():
            if joint.mimic is not None and mimic and joint.mimic[0] not in self.joints:
                self.model.notes.append(f"joint '{joint.name}' mimics '{joint.mimic[0]}', which does not exist: it moves on its own")
                joint.mimic = None
            if not mimic:
                joint.mimic = None

    def _connect(self) -> None:
        """Joints in the order of the file; one that mimics another waits for it."""
        kept = [j for j in self.joints.values() if not (j.kind == "fixed" and self.merge_fixed)]
        followers: dict[str, list[_Joint]] = {}
        for joint in kept:
            if joint.mimic is not None:
                followers.setdefault(joint.mimic[0], []).append(joint)
        passed: set[str] = set()
        for joint in kept:
            passed.add(joint.name)
            ready = [joint] if joint.mimic is None or joint.mimic[0] in self.made else []
            while ready:
                leader = ready.pop()
                self.made[leader.name] = self._make(leader)
                ready.extend(f for f in followers.get(leader.name, []) if f.name in passed and f.name not in self.made)
        missing = [j for j in kept if j.name not in self.made]
        if missing:
            names = ", ".join(f"'{j.name}'" for j in missing[:6])
            raise missing[0].element.error(f"the joints {names} mimic each other in a circle or mimic a fixed joint")

    def _make(self, joint: _Joint) -> Joint:
        element, model = joint.element, self.model
        body, pose = self.places[joint.parent]
        at = pose @ joint.pose
        child = self.places[joint.child][0]
        try:
            parent: Body | Frame = body.at(*at.position, rotation=at.matrix)
            if joint.kind == "fixed":
                return model.fixed(joint.name, parent, child)
            if joint.kind == "floating":
                return model.free(joint.name, parent, child)
            if joint.kind == "planar":
                turned = Pose(clean(z_to(joint.axis)), np.zeros(3))
                seen = at @ turned
                return model.planar(joint.name, body.at(*seen.position, rotation=seen.matrix), child.at(rotation=turned.matrix))
            options = self._options(joint)
            kind = "prismatic" if joint.kind == "prismatic" else "revolute"
            return model.joint(kind, joint.name, parent, child, axis=tuple(joint.axis.tolist()), **options)
        except JourdainError as error:
            if str(error).startswith(element.place):
                raise
            raise element.error(str(error)) from None

    def _options(self, joint: _Joint) -> dict[str, Any]:
        options: dict[str, Any] = {}
        limit, dynamics = joint.element.first("limit"), joint.element.first("dynamics")
        if limit is not None:
            if joint.kind != "continuous" and ("lower" in limit.attributes or "upper" in limit.attributes):
                low, high = options["limits"] = (_bound(limit, "lower"), _bound(limit, "upper"))
                if low is not None and high is not None and low > high:
                    del options["limits"]
                    self.model.notes.append(
                        f"joint '{joint.name}': its lower limit {low:g} is above the upper one {high:g}; it is taken as unlimited"
                    )
            self.limits.append(EffortLimit(joint.name, _optional(limit, "effort"), _optional(limit, "velocity")))
        elif joint.kind != "continuous":
            self.model.notes.append(f"joint '{joint.name}': a {joint.kind} joint without <limit> is taken as unlimited")
        if dynamics is not None:
            options |= {n: dynamics.number(n) for n in ("damping", "friction") if n in dynamics.attributes}
        if joint.mimic is not None:
            leader, ratio, offset = joint.mimic
            options["mimic"] = (self.made[leader], ratio, offset)
        return options

    # ---- what to say ----------------------------------------------------------------------------------------

    def _report(self) -> None:
        bodies = {body.name: body for body, _ in self.places.values()}
        root = self.places[self.root][0].name
        massless = [n for n, b in bodies.items() if n != root and b.mass == 0.0 and b.inertia.is_zero]
        if massless:
            self.model.notes.append(f"links without <inertial>, taken as massless: {', '.join(massless)}")
        if self.limits:
            self.model.imported["effort_limits"] = list(self.limits)


#: Children of elements that are read.
READ = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
#: Children of joints that are read for the kinds with one freedom alone.
OF_ONE_FREEDOM = ("limit", "dynamics", "mimic")


def left_out(robot: Element) -> list[str]:
    """What a file says and the model does not hold: elements by name, one line for each kind of thing."""
    notes = []
    solid = [link.get("name") or "" for link in robot.all("link") if link.first("collision") is not None]
    if solid:
        notes.append(
            f"collision shapes touch nothing until m.contact(…) lets them, as in m.contact('feet', m.shapes('*_foot'), m.ground): links {', '.join(solid)}"
        )
    unweighed = [e.get("name") or "" for e in robot.all("link") if (i := e.first("inertial")) is not None and i.first("mass") is None]
    if unweighed:
        notes.append(f"an <inertial> without <mass> is taken for none: links {', '.join(unweighed)}")
    others = [e for e in robot.children if e.tag not in READ["robot"]]
    for tag in dict.fromkeys(e.tag for e in others):
        notes.append(f"<{tag}> is not taken over: {listed(e for e in others if e.tag == tag)}")
    owners: dict[tuple[str, str], list[str]] = {}
    for element in robot.all("link", "joint"):
        for child in element.children:
            of_one = element.get("type") in ("revolute", "continuous", "prismatic") or child.tag not in OF_ONE_FREEDOM
            if child.tag not in READ[element.tag] or not (of_one or element.get("type") == "fixed"):
                owners.setdefault((element.tag, child.tag), []).append(element.get("name") or "")
            elif child.tag == "dynamics":
                for name in set(child.attributes) - {"damping", "friction"}:
                    owners.setdefault((element.tag, f"dynamics {name}"), []).append(element.get("name") or "")
    return notes + [f"<{what}> of {tag}s is not taken over: {', '.join(dict.fromkeys(names))}" for (tag, what), names in owners.items()]


# ---- reading elements ---------------------------------------------------------------------------------------


def _links(robot: Element) -> dict[str, _Link]:
    links: dict[str, _Link] = {}
    for element in robot.children:
        if element.tag.startswith("xacro:"):
            raise element.error("this is a xacro macro; expand the file with the program 'xacro' first")
        if element.tag != "link":
            continue
        name = element.required("name")
        if name in links:
            raise element.error(f"there is a link '{name}' already, in line {links[name].element.line}")
        links[name] = _Link(element, name, _inertial(element))
    if not links:
        raise robot.error("it has no <link>")
    return links


def _inertial(link: Element) -> Inertial | None:
    inertial = link.first("inertial")
    if inertial is None:
        return None
    if inertial.first("mass") is None:  # told by left_out
        return None
    pose = _origin(inertial)
    mass = inertial.need("mass").number("value")
    if mass < 0:
        raise inertial.error(f"the mass {mass:g} kg of link '{link.get('name')}' is negative")
    matrix = np.zeros((3, 3))
    entries = inertial.first("inertia")
    if entries is not None:
        for i, j, key in ((0, 0, "ixx"), (1, 1, "iyy"), (2, 2, "izz"), (0, 1, "ixy"), (0, 2, "ixz"), (1, 2, "iyz")):
            matrix[i, j] = matrix[j, i] = entries.number(key, 0.0)
    if mass == 0 and not matrix.any():
        return None
    return Inertial(mass, pose.p, pose.R @ matrix @ pose.R.T)


def _joints(robot: Element, links: dict[str, _Link]) -> dict[str, _Joint]:
    joints: dict[str, _Joint] = {}
    for element in robot.all("joint"):
        joint = _joint(element, links)
        if joint.name in joints:
            raise element.error(f"there is a joint '{joint.name}' already, in line {joints[joint.name].element.line}")
        child = links[joint.child]
        if child.joint is not None:
            raise element.error(f"the link '{joint.child}' is the child of joint '{child.joint.name}' already; URDF has no loops")
        child.joint = joint
        links[joint.parent].children.append(joint)
        joints[joint.name] = joint
    return joints


def _joint(element: Element, links: dict[str, _Link]) -> _Joint:
    name, kind = element.required("name"), element.required("type")
    if kind not in KINDS:
        raise element.error(f"joint type '{kind}' is unknown; URDF has {', '.join(KINDS)}")
    ends = []
    for tag in ("parent", "child"):
        link = element.need(tag).required("link")
        if link not in links:
            raise element.error(f"its {tag} link '{link}' does not exist")
        ends.append(link)
    axis_element = None if kind in ("fixed", "floating") else element.first("axis")  # which have none, whatever stands there
    axis = np.array([1.0, 0.0, 0.0]) if axis_element is None else axis_element.numbers("xyz", 3)
    if axis_element is not None and float(np.linalg.norm(axis)) < 1e-12:
        raise element.error(f"axis {tuple(axis.tolist())} has no direction")
    mimic_element = element.first("mimic")
    follow = None
    if mimic_element is not None and kind in ("revolute", "continuous", "prismatic"):
        ratio, offset = mimic_element.number("multiplier", 1.0), mimic_element.number("offset", 0.0)
        follow = (mimic_element.required("joint"), ratio, offset)
    return _Joint(element, name, kind, ends[0], ends[1], _origin(element), axis, follow)


def _root(robot: Element, links: dict[str, _Link]) -> str:
    roots = [n for n, link in links.items() if link.joint is None]
    if len(roots) != 1:
        if not roots:
            raise robot.error("every link is the child of a joint: the joints form a circle")
        listed = ", ".join(f"'{n}'" for n in roots[:6])
        raise robot.error(f"{len(roots)} links have no parent joint ({listed}); connect them to one root")
    seen = {roots[0]}
    pending = [roots[0]]
    while pending:
        for joint in links[pending.pop()].children:
            seen.add(joint.child)
            pending.append(joint.child)
    for name, link in links.items():
        if name not in seen:
            raise link.element.error("it is not connected to the root: its joints form a circle")
    return roots[0]


def _origin(element: Element) -> Pose:
    origin = element.first("origin")
    if origin is None:
        return Pose.identity()
    return Pose(from_rpy(origin.numbers("rpy", 3, (0, 0, 0))), origin.numbers("xyz", 3, (0, 0, 0)))


def _six(I: np.ndarray) -> list[float]:
    return [float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def _optional(element: Element, name: str) -> float | None:
    """A number that may be missing or infinite."""
    try:
        if abs(float(element.get(name) or "inf")) > LARGEST:
            return None
    except ValueError:
        pass
    return element.number(name)


def _bound(element: Element, name: str) -> float | None:
    """A limit: 0 where it is not written, None where it is infinite."""
    return _optional(element, name) if name in element.attributes else 0.0


__all__ = ["EffortLimit", "read_urdf"]
