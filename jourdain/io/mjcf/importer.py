"""Reading MJCF, the model format of MuJoCo: its kinematic and inertial part."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError, JourdainError
from ...model import Body, Frame, Model
from ..model_files.placement import Inertial, Pose, from_axis_angle, together, z_to
from ..notes import tell
from ..xml_reader import Element, one_root, read_xml
from .at_rest import AtRest, Freedom, spring_and_damper
from .attach import expand_attachments
from .contacts import declare_contacts
from .flexcomp import Flexcomp, expand_flexcomp
from .geoms import Geoms
from .keyframes import keyframes, start_at
from .replicate import expand_replicates
from .rules import Defaults, Folder, Settings, check_supported, choice, drop_empty, expand_includes
from .tendons import add_armatures
from .unread import Unread

#: Elements that make bodies by rules of their own.
GENERATORS = ("composite", "plugin")


def read_mjcf(
    source: str | os.PathLike[str], name: str | None = None, shapes: bool = True, keyframe: str | None = None,
    root: str | os.PathLike[str] | None = None, missing: str = "refuse", contacts: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> Model:  # fmt: skip
    """Reads the kinematic and inertial part of an MJCF file (or its text) into a model.

    Bodies, joints (several in one body are separated by massless bodies ``body:joint``), points of deformable parts (``flexcomp``, each a body), inertias (given or from
    geoms), default classes, compiler settings, included files, attached models, limits, damping, armature (as rotor inertia; of fixed tendons,
    too), friction loss, springs and gravity are taken over; geoms become shapes and sites named frames. Coordinates are MuJoCo's
    qpos: a free joint is at its place in the world, a joint with ``ref`` is there in the drawn position. This position is
    the model's start (``model.initial``), or the keyframe with the name ``keyframe``; all keyframes are in
    ``model.imported["keyframes"]``. What is not taken over (contacts, actuators, tendons, sensors, equality constraints …)
    is said by name in ``model.notes`` and by one warning; cameras, lights and settings of MuJoCo's integrator are passed over.
    With ``shapes=False`` nothing is drawn, and meshes are read only where masses follow from them. Files are looked for within the
    model's folder, or within ``root`` (also written ``folder``), a folder around it, where names lead out of it by "..". A geom that cannot be read and whose mass is
    needed is refused; ``missing="note"`` leaves it out, with its mass. With ``contacts=True`` geoms touch each other by MuJoCo's rules (contype, conaffinity, exclusions)
    as rigid bodies, with the coefficients of higher priority, else the larger ones, as condim asks for them; the model then takes ``method="moreau"``.

    >>> text = '''<mujoco><worldbody><body name="bob"><joint name="hinge" axis="0 1 0"/>
    ...   <geom size="0.1" pos="0 0 -1"/></body></worldbody></mujoco>'''
    >>> print(read_mjcf(text, name="pendulum"))
    pendulum
    ground
    └─ bob  [hinge: revolute (angle)]
    """
    if missing not in ("refuse", "note"):
        raise InputError(f"missing = {missing!r} is unknown; use 'refuse' or 'note'")
    tree, path = read_xml(source, expected=("mujoco",))
    within = Folder.of(path, one_root("read_mjcf", root, folder))
    expand_includes(tree, path, within)
    drop_empty(tree)
    settings = Settings.of(tree)
    expand_attachments(tree, path, within, settings)
    expand_replicates(tree, settings)
    model = Model(name or tree.get("model") or "mujoco", gravity=_gravity(tree))
    defaults = Defaults.of(tree)
    geoms = Geoms(tree, settings, defaults, within, model.notes, missing)
    importer = _Importer(model, tree, settings, defaults, geoms, shapes)
    importer.unread.contacts = contacts
    left_out = importer.run() + add_armatures(model, tree, defaults, missing)
    if contacts:
        left_out += declare_contacts(model, importer.unread.geoms, tree, defaults)
    model.imported["keyframes"] = frames = keyframes(tree, model)
    if keyframe is not None:
        left_out += start_at(model, frames, keyframe)
    elif frames:
        left_out.append(f"keyframes are not the start unless read_mjcf(…, keyframe=name) says so: {', '.join(k.name for k in frames)}")
    tell(model, left_out)
    return model


def _gravity(root: Element) -> tuple[float, ...]:
    gravity = (0.0, 0.0, -9.81)
    for option in root.all("option"):
        gravity = tuple(option.numbers("gravity", 3, gravity).tolist())
        if any(flag.get("gravity") == "disable" for flag in option.all("flag")):
            return (0.0, 0.0, 0.0)
    return gravity


#: Geoms of this group and those above are not shown by MuJoCo's viewers: shapes for contacts, beside others that are drawn.
HIDDEN = 3


@dataclass
class _Content:
    """A child of a body with the frame and the default class around it."""

    element: Element
    frame: Pose
    childclass: str | None


class _Importer:
    def __init__(self, model: Model, root: Element, settings: Settings, defaults: Defaults, geoms: Geoms, shapes: bool) -> None:
        self.model = model
        self.root = root
        self.settings = settings
        self.defaults = defaults
        self.geoms = geoms
        self.shapes = shapes
        self.unread = Unread(root)
        self.masses: dict[str, Inertial] = {}
        #: Bodies that have neither <inertial> nor geoms that weigh.
        self.without_mass: list[str] = []
        #: Principal axes of bodies as the file states them, and bodies that others hang on.
        self.principal: dict[str, np.ndarray] = {}
        self.carriers: set[str] = set()
        self.counts: dict[str, int] = {}
        self._factor = 1.0
        self.connections: list[tuple[Element, Body, Body, Pose, list[_Content]]] = []
        self.flexcomps: list[Flexcomp] = []

    def run(self) -> list[str]:
        """Bodies, then masses, then joints: names of joints may not be taken by bodies between them; gives what is left out."""
        for world in self.root.all("worldbody"):
            self._body(_Content(world, Pose.identity(), world.get("childclass")), None)
        self._factor = self._add_masses()
        for element, parent, body, pose, joints in self.connections:
            self._connect(element, parent, body, pose, joints)
        return self.unread.notes() + [said for part in self.flexcomps for said in part.connect(self.model)]

    # ---- bodies ---------------------------------------------------------------------------------------------

    def _body(self, given: _Content, parent: Body | None) -> None:
        element = given.element
        childclass = element.get("childclass") or given.childclass
        contents = list(self._contents(element, Pose.identity(), childclass))
        if parent is None:
            body = self.model.ground
        else:
            body = self.model.body(self._body_name(element))
            if element.get("mocap") == "true":
                self.model.notes.append(f"body '{body.name}' is a mocap body: it stands still")
            if element.number("gravcomp", 0.0):
                self.model.notes.append(f"body '{body.name}': its gravity compensation is not taken over")
            joints = [c for c in contents if c.element.tag in ("joint", "freejoint")]
            self.unread.body(element, body.name, parent.name, bool(joints))
            self.connections.append((element, parent, body, given.frame @ self.settings.pose(element), joints))
        self._furnish(element, body, contents)
        for content in contents:
            if content.element.tag == "body":
                self.carriers.add(body.name)
                self._body(content, body)

    def _contents(self, element: Element, frame: Pose, childclass: str | None) -> Iterator[_Content]:
        """The children of a body, those of <frame> elements moved into it."""
        for child in element.children:
            check_supported(child, GENERATORS)
            self.unread.child(child)
            if child.tag == "frame":
                inner = frame @ self.settings.pose(child)
                yield from self._contents(child, inner, child.get("childclass") or childclass)
            elif child.tag == "flexcomp":
                part, inside = expand_flexcomp(child, frame, self.settings, sum(len(part.points) for part in self.flexcomps))
                self.flexcomps.append(part)
                yield from (_Content(e, Pose.identity(), None) for e in inside)
            else:
                yield _Content(child, frame, childclass)

    def _furnish(self, element: Element, body: Body, contents: list[_Content]) -> None:
        """Mass, shapes and sites of a body."""
        parts: list[Inertial] = []
        rule, stated = self.settings.near(element).inertiafromgeom, next((c for c in contents if c.element.tag == "inertial"), None)
        weigh = not body.is_ground and rule != "false" and (stated is None or rule == "true")
        groups = [self.defaults.apply(c.element, c.childclass).number("group", 0.0) for c in contents if c.element.tag == "geom"]
        seen = any(g < HIDDEN for g in groups)
        for content in contents:
            if content.element.tag == "geom":
                geom = self.defaults.apply(content.element, content.childclass)
                try:
                    inertial, shape = self.geoms.read(geom, content.frame, self.shapes, weigh)
                except JourdainError as error:
                    if str(error).startswith(f"{geom.source}, line"):
                        raise
                    raise geom.error(str(error)) from None
                place, hidden = -1, seen and shape is not None and geom.number("group", 0.0) >= HIDDEN
                if (self.unread.contacts or hidden) and (geom.get("contype", "1") != "0" or geom.get("conaffinity", "1") != "0"):
                    surface = self.geoms.surface(geom, content.frame)
                    if surface is not None:
                        place = len(body.collision) if self.unread.contacts else -1
                        body.add_collision(surface, geom.get("name") or "")
                self.unread.geom(geom, body.name, shape is not None or not self.shapes, place)
                parts += [] if inertial is None else [inertial]
                body.shapes += [] if shape is None or hidden else [shape]
            elif content.element.tag == "site" and content.element.get("name"):
                site = self.defaults.apply(content.element, content.childclass)
                pose = content.frame @ self._site_pose(site)
                body.frame(self._fresh(site.required("name"), body.frames), pose.position, pose.matrix)
        if body.is_ground:
            return
        if stated is not None and rule != "true":
            self.masses[body.name] = self._inertial(stated.element, stated.frame)
            if "fullinertia" not in stated.element.attributes:
                self.principal[body.name] = (stated.frame @ self.settings.pose(stated.element)).R
        elif parts:
            self.masses[body.name] = together(parts)
        else:
            self.masses[body.name] = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
            self.without_mass.append(body.name)

    def _site_pose(self, site: Element) -> Pose:
        if "fromto" not in site.attributes:
            return self.settings.pose(site)
        ends = site.numbers("fromto", 6)
        if float(np.linalg.norm(ends[:3] - ends[3:])) < 1e-12:
            raise site.error("the two points of fromto coincide")
        return Pose(z_to(ends[:3] - ends[3:]), (ends[:3] + ends[3:]) / 2)

    # ---- masses ---------------------------------------------------------------------------------------------

    def _inertial(self, element: Element, frame: Pose) -> Inertial:
        mass = element.number("mass")
        if mass < 0:
            raise element.error(f"the mass {mass:g} kg is negative")
        if "fullinertia" in element.attributes:
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            local = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            local = np.diag(element.numbers("diaginertia", 3, (0, 0, 0)))
        pose = frame @ self.settings.pose(element)
        return Inertial(mass, pose.p, pose.R @ local @ pose.R.T)

    def _add_masses(self) -> float:
        """Gives bodies their masses; the factor by which all are scaled."""
        s = self.settings
        if s.boundmass or s.boundinertia:
            self._place_bounds()
        for inertial in self.masses.values():
            inertial.mass = max(inertial.mass, s.boundmass)
            if s.boundinertia or s.balanceinertia:
                inertial.inertia = self._adjusted(inertial.inertia)
        if s.fusestatic and s.settotalmass > 0:
            self._refuse_still_masses()
        total = sum(i.mass for i in self.masses.values())
        factor = s.settotalmass / total if s.settotalmass > 0 and total > 0 else 1.0
        for name, inertial in self.masses.items():
            I = factor * inertial.inertia
            six = [float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
            self.model.bodies[name].add_mass(factor * inertial.mass, inertial.com.tolist(), six)
        return factor

    def _refuse_still_masses(self) -> None:
        """Of bodies that become a part of the world MuJoCo counts the mass, or not, by what else in the file names them."""
        still = {self.model.ground.name}
        for element, parent, body, _, joints in self.connections:
            if parent.name in still and not joints:
                still.add(body.name)
                if self.masses[body.name].mass > 0.0:
                    raise element.error(
                        f"the body '{body.name}' stands still, and by fusestatic its mass may not count in settotalmass, which would scale all others; "
                        'leave out fusestatic="true"'
                    )

    def _place_bounds(self) -> None:
        """Puts the mass that a body has by the compiler's bounds alone where MuJoCo puts it: at what the body's own ``pos`` says, taken in its axes."""
        poses = {body.name: self.settings.pose(element) for element, _, body, _, _ in self.connections}
        for name in self.without_mass:
            self.masses[name].com = at = poses[name].p
            if at.any():
                place = ", ".join(f"{x:g}" for x in at)
                self.model.notes.append(
                    f"body '{name}': it has mass by boundmass and boundinertia alone, at ({place}), where MuJoCo puts its centre; give it <inertial>"
                )

    def _adjusted(self, inertia: np.ndarray) -> np.ndarray:
        """Principal inertias at least ``boundinertia``, and made equal where they break the triangle inequality."""
        if not np.all(np.isfinite(inertia)):
            raise self.root.error("an inertia is too large to be a number")
        principal, axes = np.linalg.eigh(inertia)
        principal = np.maximum(principal, self.settings.boundinertia)
        if self.settings.balanceinertia and principal[0] + principal[1] < principal[2]:
            principal = np.full(3, principal.mean())
        return axes @ np.diag(principal) @ axes.T

    # ---- joints ---------------------------------------------------------------------------------------------

    def _connect(self, element: Element, parent: Body, body: Body, pose: Pose, joints: list[_Content]) -> None:
        """The joints of a body in a row; all of them are written in the body's frame."""
        if not joints:
            name = self._fresh(f"{body.name}:fixed", self.model.joints)
            self.model.fixed(name, parent.at(*pose.position, rotation=pose.matrix), body)
            return
        items = [self.defaults.apply(j.element, j.childclass) if j.element.tag == "joint" else j.element for j in joints]
        kinds = ["free" if e.tag == "freejoint" else choice(e, "type", ("free", "ball", "slide", "hinge"), "hinge") for e in items]
        if "free" in kinds:
            if len(kinds) > 1 or not parent.is_ground:
                raise items[0].error(f"a free joint must be alone and on a body of the world (body '{body.name}')")
            self._free(items[0], body, pose)
            return
        before, at = parent, pose
        for k, (item, kind) in enumerate(zip(items, kinds, strict=True)):
            name = self._joint_name(item, body, kind)
            last = k == len(items) - 1
            after = body if last else self.model.body(self._fresh(f"{body.name}:{name}", self.model.bodies))
            try:
                self._joint(item, kind, name, before, at, after, joints[k].frame, (body.name, k))
            except JourdainError as error:
                if str(error).startswith(f"{item.source}, line"):
                    raise
                raise item.error(str(error)) from None
            before, at = after, Pose.identity()

    def _joint(self, e: Element, kind: str, name: str, before: Body, at: Pose, after: Body, frame: Pose, place: tuple[str, int]) -> None:
        position = frame.p + frame.R @ e.numbers("pos", 3, (0, 0, 0))
        anchor = at @ Pose(np.eye(3), position)
        x, y, z = (float(c) for c in position)
        child = after.at(x, y, z)
        if kind == "ball":
            rotor = _armature(e)
            if rotor and before.is_ground:  # it turns with the body, and is the same about all axes
                after.add_mass(0.0, inertia=(rotor, rotor, rotor))
            options: dict[str, Any] = {"rotor_inertia": rotor} if rotor and not before.is_ground else {}
            self._undriven(e, name, "ball")
            if "springdamper" in e.attributes and np.all(e.numbers("springdamper") > 0.0):
                self.model.notes.append(f"joint '{name}': springdamper of a ball joint is not taken over")
            self.model.spherical(name, before.at(*anchor.position, rotation=anchor.matrix), child, **options)
            self.unread.joint(e, name, self._limited(e))
            return
        axis = frame.R @ e.numbers("axis", 3, (0, 0, 1))
        turn = kind == "hinge"
        scale = self.settings.near(e).angle if turn else float
        options = self._options(e, scale)
        if "springdamper" in e.attributes and np.any(given := e.numbers("springdamper", 2)):
            if not np.all(given > 0.0):
                raise e.error(f"springdamper: time constant and damping ratio must be positive, not {given.tolist()}")
            options["stiffness"], options["damping"] = spring_and_damper(given.tolist(), self._felt[place])
            options["rest"] = scale(e.number("springref", 0.0))
        ref = scale(e.number("ref", 0.0))
        anchor = anchor @ _back(turn, axis, ref)
        make = self.model.revolute if turn else self.model.prismatic
        joint = make(name, before.at(*anchor.position, rotation=anchor.matrix), child, axis=tuple(axis.tolist()), **options)
        self.unread.joint(e, name, "limits" in options)
        if ref:
            self.model.initial[joint.coordinates[0].names[0]] = ref

    @cached_property
    def _felt(self) -> dict[tuple[str, int], float]:
        """The inertia that joints of one freedom feel in the drawn position, by body and place in it."""
        poses, places, freedoms = {}, [], []
        for _, parent, body, pose, joints in self.connections:
            poses[body.name] = (parent.name, pose)
            for k, joint in enumerate(joints):
                free = joint.element.tag == "freejoint"
                e = joint.element if free else self.defaults.apply(joint.element, joint.childclass)
                kind = "free" if free else e.get("type", "hinge")
                rotor = _armature(e)
                at = np.zeros(3) if kind == "free" else joint.frame.p + joint.frame.R @ e.numbers("pos", 3, (0, 0, 0))
                axes = np.eye(3) if kind in ("free", "ball") else [joint.frame.R @ e.numbers("axis", 3, (0, 0, 1))]
                for turns in {"hinge": (True,), "slide": (False,), "ball": (True,), "free": (False, True)}[str(kind)]:
                    places += [(body.name, k)] * len(axes)
                    freedoms += [Freedom(body.name, turns, axis, at, rotor) for axis in axes]
        f = self._factor
        masses = {name: Inertial(f * i.mass, i.com, f * i.inertia) for name, i in self.masses.items()}
        return dict(zip(places, AtRest(poses, masses, self.model.ground.name, freedoms).felt.tolist(), strict=True))

    def _options(self, e: Element, scale: Any) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for attribute, option in (
            ("damping", "damping"), ("armature", "rotor_inertia"),
            ("frictionloss", "friction"), ("stiffness", "stiffness"),
        ):  # fmt: skip
            if attribute in e.attributes:
                values = e.numbers(attribute)
                if np.any(values[1:]):
                    self.model.notes.append(f"{e.place}: only the linear part of {attribute} is taken over")
                if values[0]:
                    options[option] = float(values[0])
        if "stiffness" in options:
            options["rest"] = scale(e.number("springref", 0.0))
        if self._limited(e):
            low, high = e.numbers("range", 2)
            options["limits"] = (scale(float(low)), scale(float(high)))
        return options

    def _limited(self, e: Element) -> bool:
        limited = choice(e, "limited", ("true", "false", "auto"), "auto")
        return limited == "true" or (limited == "auto" and "range" in e.attributes and self.settings.near(e).autolimits)

    def _free(self, e: Element, body: Body, pose: Pose) -> None:
        name = self._joint_name(e, body, "free")
        options: dict[str, Any] = {"rotor_inertia": rotor} if (rotor := _armature(e)) else {}
        child: Body | Frame = body
        if self._aligned(e, body.name):
            if body.name in self.principal:
                own = Pose(self.principal[body.name], self.masses[body.name].com)
                child, pose = body.at(*own.position, rotation=own.matrix), pose @ own
            else:
                self.model.notes.append(
                    f"joint '{name}': align: its coordinates and keyframes are not moved to principal axes that no <inertial> states"
                )
        self.model.free(name, self.model.ground, child, **options)
        values = dict(zip("xyz", pose.position, strict=True))
        values |= {f"orientation.e{i}": x for i, x in enumerate(_quaternion(pose.R))}
        self.model.initial |= {f"{name}.{c}": float(x) for c, x in values.items()}
        self.unread.joint(e, name)
        self._undriven(e, name, "free")

    def _aligned(self, e: Element, body: str) -> bool:
        """Whether a free joint moves the centre of mass and the principal axes of its body, which nothing hangs on."""
        align = choice(e, "align", ("true", "false", "auto"), "auto")
        wanted = align == "true" or (align == "auto" and self.settings.near(e).alignfree)
        if wanted and body in self.carriers and self.settings.fusestatic:
            self.model.notes.append(
                f"body '{body}': align: what stands still on it, and fusestatic makes a part of it, keeps it from being aligned here"
            )
        return wanted and body not in self.carriers

    def _undriven(self, e: Element, name: str, kind: str) -> None:
        """Laws of joints of one freedom that a joint of several has in the file."""
        for attribute in ("damping", "stiffness", "frictionloss"):
            if attribute in e.attributes and np.any(e.numbers(attribute)):
                self.model.notes.append(f"joint '{name}': {attribute} of a {kind} joint is not taken over")

    # ---- names ----------------------------------------------------------------------------------------------

    def _body_name(self, element: Element) -> str:
        given = element.get("name")
        if given and given in self.model.bodies:
            raise element.error(f"there is a body '{given}' already; names must be unique")
        return self._fresh(given, self.model.bodies) if given else self._fresh("body", ChainMap(self._bodies_named, self.model.bodies))

    @cached_property
    def _bodies_named(self) -> dict[str, Any]:
        """The names that bodies have in the file, which those without one may not take."""
        found, left = {}, [self.root]
        while left:
            e = left.pop()
            left += e.children
            if e.tag == "body" and (name := e.get("name")):
                found[name] = e
        return found

    def _joint_name(self, e: Element, body: Body, kind: str) -> str:
        given = e.get("name")
        if given and given in self.model.joints:
            raise e.error(f"there is a joint '{given}' already; names must be unique")
        return given or self._fresh(f"{body.name}:{kind}", self.model.joints)

    def _fresh(self, name: str, taken: Any) -> str:
        """A name that is not taken."""
        if name not in taken and name != "ground":
            return name
        while True:  # the count goes on from where it was, so that many unnamed bodies cost no search
            self.counts[name] = self.counts.get(name, 0) + 1
            fresh = f"{name}{self.counts[name]}"
            if fresh not in taken:
                return fresh


def _armature(e: Element) -> float:
    """Inertia that stands on the diagonal for every velocity of a joint."""
    return float(e.numbers("armature")[0]) if "armature" in e.attributes else 0.0


def _back(turn: bool, axis: np.ndarray, ref: float) -> Pose:
    """The motion by −ref: behind it, a coordinate is ``ref`` in the drawn position."""
    length = float(np.linalg.norm(axis))
    if not ref or length < 1e-12:  # an axis without direction is refused where the joint is made
        return Pose.identity()
    return Pose(from_axis_angle(axis, -ref), np.zeros(3)) if turn else Pose(np.eye(3), -ref / length * axis)


def _quaternion(R: np.ndarray) -> np.ndarray:
    """The unit quaternion (scalar first, e0 ≥ 0) of a rotation: the eigenvector of K for the eigenvalue 1."""
    x, y, z = R.T
    K = np.array([
        [x[0] + y[1] + z[2], y[2] - z[1], z[0] - x[2], x[1] - y[0]],
        [y[2] - z[1], x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2]],
        [z[0] - x[2], y[0] + x[1], y[1] - x[0] - z[2], z[1] + y[2]],
        [x[1] - y[0], z[0] + x[2], z[1] + y[2], z[2] - x[0] - y[1]],
    ])  # fmt: skip
    e = np.linalg.eigh(K)[1][:, -1]
    e = e if e[0] >= 0 else -e
    e[np.abs(e) < 1e-15] = 0.0
    return e


__all__ = ["read_mjcf"]
