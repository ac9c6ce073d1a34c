"""Reading and writing ROBOTRAN models (the XML of MBsysPad, ``.mbs``).

Conventions of ROBOTRAN (Modeling Multibody Systems with ROBOTRAN, UCLouvain 2024, sections 2.3 to 2.5): all frames are
aligned when every q is 0; elementary joints T1 … R3 slide along or turn about an axis of the frame; several joints in
a row are separated by massless fictitious bodies, called ``body:joint`` here; a body's points, its centre of mass and
its inertia (about the centre of mass) are written in the body's frame, which stands behind its own joints.
"""

from __future__ import annotations

import os
from typing import Any

from ...errors import InputError, JourdainError
from ...model import Body, Frame, Joint, Model
from ..notes import tell
from ..unphysical import accept_unphysical
from ..xml_reader import Element, read_xml
from .connect import connect
from .data import Cut, Drawing, ForcePoint, JointData, Link, SensorPoint, UserModel, UserParameter, UserVariable
from .notes import left_out, unread

AXES = {"1": "x", "2": "y", "3": "z"}
NATURES = ("independent", "dependent", "driven")
QUANTITIES = ("Pos", "Rot", "Vit", "Om", "Acc", "Omp", "Jac")


def read_mbs(source: str | os.PathLike[str], parameters: str = "numbers", driven: str = "locked", name: str | None = None) -> Model:
    """Reads a ROBOTRAN model; joints keep their names and their order, which is ROBOTRAN's order of q.

    With ``parameters="symbolic"`` every mass, component of a centre of mass, inertia and component of a point that is
    not zero becomes a parameter: ``body.m``, ``body.Lx``, ``body.Ixx``, ``body.point.x``; with "numbers" they are
    folded into the equations. ``driven`` says what a driven joint does: "locked" at its initial value, or "free" (as in
    ROBOTRAN's mass matrix, which has a row for every joint). Points become named frames, cuts close loops. The laws of
    links and external forces are programs in ROBOTRAN: here each becomes inputs to be given or replaced by a law,
    ``link.tension`` (N, positive when it pulls), ``force.fx … force.tz`` (world axes). Loops have ROBOTRAN's equations and
    multipliers (``convention="robotran"`` of :meth:`Model.close`), links along one axis its signed distance. Initial values
    are in ``model.initial``: where loops are closed, those of independent joints are kept, dependent ones say where to begin
    (``model.guesses``). The records of loops, links, points of forces and sensors, user models, joints and drawings are in
    ``model.imported`` under "cuts", "links", "forces", "sensors", "user_models", "user_variables", "joints", "drawings"
    (:mod:`jourdain.io.mbs.data`), views and lights under "scene" as they stand in the file. What the model does not hold (elements not understood, the project's programs beside the
    file, mass properties that no body can have and that are taken as they stand …) is said by name in ``model.notes`` and by
    one warning.
    """
    if parameters not in ("symbolic", "numbers"):
        raise InputError(f"parameters = {parameters!r} is unknown; use 'symbolic' or 'numbers'")
    if driven not in ("locked", "free"):
        raise InputError(f"driven = {driven!r} is unknown; use 'locked' or 'free'")
    root, path = read_xml(source, expected=("mbsDescR7",))
    model = _Importer(root, name, parameters == "symbolic", driven == "locked").model
    tell(model, [*unread(root), *left_out(model, path), *accept_unphysical(model)])
    return model


class _Importer:
    def __init__(self, root: Element, name: str | None, symbolic: bool, locked: bool) -> None:
        self.symbolic = symbolic
        self.locked = locked
        base = root.need("base")
        gravity = base.first("gravity")
        title = root.first("mbsname")
        self.model = Model(
            name or (title.content() if title is not None else "") or "robotran",
            gravity=(0.0, 0.0, 0.0) if gravity is None else _xyz(gravity),
        )
        self.imported = self.model.imported
        for kind in (
            "joints", "cuts", "links", "forces", "sensors", "user_models", "user_variables", "drawings", "scene",
        ):  # fmt: skip
            self.imported[kind] = []
        self._points(base, self.model.ground)
        self._drawings(base, self.model.ground)
        self.imported["scene"] += [e.xml for e in root.all("x3D") if e.children]
        bodies = self._bodies(root.need("bodytree"))
        for name, element in bodies.items():
            self._connect(element, self.model.bodies[name])
        self._connections(root)
        connect(self.model)
        self._user(root)
        self._start()

    # ---- bodies ---------------------------------------------------------------------------------------------

    def _bodies(self, tree: Element) -> dict[str, Element]:
        """Bodies with their mass and points, by name."""
        elements: dict[str, Element] = {}
        for element in tree.all("body"):
            name = _name(element, "bodyname")
            if name in elements:
                raise element.error(f"there is a body '{name}' already, in line {elements[name].line}")
            if name in ("base", "ground"):
                raise element.error(f"a body cannot be called '{name}', which is the base itself")
            elements[name] = element
            body = self.model.body(name)
            self._mass(element, body)
            self._points(element, body)
            self._drawings(element, body)
        return elements

    def _connect(self, element: Element, body: Body) -> None:
        """The joints in a row between a body and its parent, with massless bodies between them."""
        joints = list(element.all("joint"))
        at: Frame | Body = self._place(element.need("parent"))
        try:
            if not joints:
                self.model.fixed(f"{body.name}:fixed", at, body)
            for k, joint in enumerate(joints):
                last = k == len(joints) - 1
                following = body if last else self.model.body(f"{body.name}:{_name(joint, 'jointname')}")
                self._joint(joint, body.name, at, following)
                at = following
        except JourdainError as error:
            if str(error).startswith(f"{element.source}, line"):
                raise
            raise element.error(str(error)) from None

    def _joint(self, element: Element, body: str, parent: Frame | Body, child: Body) -> Joint:
        name = _name(element, "jointname")
        kind, nature = element.need("type").content(), "independent"
        if kind[:1] not in ("T", "R") or kind[1:] not in AXES:
            raise element.error(f"joint '{name}': type '{kind}' is unknown; use T1, T2, T3, R1, R2, R3")
        stated = element.first("nature")
        if stated is not None:
            nature = stated.content()
            if nature not in NATURES:
                raise element.error(f"joint '{name}': nature '{nature}' is unknown; use {', '.join(NATURES)}")
        initial = element.first("initialvalue")
        q0, v0, a0 = (_number(initial, tag) if initial is not None else 0.0 for tag in ("q", "qd", "qdd"))
        self.imported["joints"].append(JointData(name, body, kind, nature, q0, v0, a0, element.first("actuated") is not None))
        make = self.model.prismatic if kind[0] == "T" else self.model.revolute
        joint = make(name, parent, child, axis=AXES[kind[1]])
        if nature == "driven" and self.locked:
            self.model.lock(joint, q0)
        return joint

    def _start(self) -> None:
        """Initial values: where loops are closed, independent joints keep theirs (zero too) and dependent ones begin there."""
        records, loops = self.imported["joints"], bool(self.imported["cuts"])
        moving = any(r.v0 for r in records)
        for record in records:
            (c,) = self.model.joints[record.name].coordinates
            if c.motion is not None:
                continue
            kept = loops and record.nature != "dependent"
            if record.q0 or kept:
                self.model.initial[c.names[0]] = record.q0
            if record.v0 or (kept and moving):
                self.model.initial[c.velocity_names[0]] = record.v0
            if loops and not kept and record.q0:
                self.model.guesses.append(c.names[0])

    def _mass(self, element: Element, body: Body) -> None:
        mass = self._value(f"{body.name}.m", _number(element, "mass"), "kg")
        if element.first("mass") is not None and _number(element, "mass") < 0:
            raise element.error(f"the mass of body '{body.name}' is negative")
        com = element.first("com")
        centre = [self._value(f"{body.name}.L{c}", x, "m") for c, x in zip("xyz", (0.0,) * 3 if com is None else _xyz(com))]
        inertia = element.first("inertia")
        entries = [
            self._value(f"{body.name}.I{ij}", 0.0 if inertia is None else _number(inertia, f"I{ij}"), "kg·m²")
            for ij in ("xx", "yy", "zz", "xy", "xz", "yz")
        ]
        body.add_mass(mass, centre, entries)

    def _value(self, name: str, number: float, unit: str) -> Any:
        """A number, or a parameter if it is not zero and parameters are wanted."""
        return self.model.parameter(name, number, unit) if self.symbolic and number != 0.0 else number

    # ---- points ---------------------------------------------------------------------------------------------

    def _points(self, element: Element, body: Body) -> None:
        for point in element.all("point"):
            name = _name(point, "pointname")
            given = _xyz(point)
            position = [self._value(f"{body.name}.{name}.{c}", x, "m") for c, x in zip("xyz", given)]
            try:
                frame = body.frame(name, position)
            except JourdainError as error:
                raise point.error(str(error)) from None
            for tag, kind, record in (("sensor", "sensors", SensorPoint), ("extforce", "forces", ForcePoint)):
                for item in point.all(tag):
                    wanted = tuple(q for q in QUANTITIES if (item.get(q) or "").lower() == "true")
                    self.imported[kind].append(record(item.required("name"), frame.path, wanted))

    def _place(self, reference: Element) -> Frame:
        """The frame named by <bodyname> and <pointname>."""
        body_name, point = _name(reference, "bodyname"), _name(reference, "pointname")
        body = self.model.ground if body_name == "base" else self.model.bodies.get(body_name)
        if body is None:
            raise reference.error(f"the body '{body_name}' does not exist")
        if point in body.frames:
            return body.frames[point]
        if point == "origin":
            return body.origin
        raise reference.error(f"the body '{body_name}' has no point '{point}'")

    # ---- the rest -------------------------------------------------------------------------------------------

    def _connections(self, root: Element) -> None:
        cuts, links = root.first("cuts"), root.first("links")
        for element in [] if cuts is None else cuts.all("ball", "rod", "solid"):
            first, second = (self._place(element.need(tag)).path for tag in ("endpoint1", "endpoint2"))
            length = _number(element, "length") if element.tag == "rod" else None
            if length is not None and length <= 0:
                raise element.error(f"rod '{_name(element, 'name')}': length {length:g} m must be greater than zero")
            ignored = element.first("ignore")
            ignore = () if ignored is None else tuple(e.tag for e in ignored.all("x", "y", "z"))
            self.imported["cuts"].append(Cut(_name(element, "name"), element.tag, first, second, length, ignore))
        for element in [] if links is None else links.all("link", "link3D"):
            first, second = (self._place(element.need(tag)).path for tag in ("endpoint1", "endpoint2"))
            self.imported["links"].append(Link(_name(element, "name"), first, second, element.tag == "link3D"))

    def _user(self, root: Element) -> None:
        models, variables = root.first("user_models"), root.first("user_variables")
        for element in [] if models is None else models.all("user_model"):
            items = tuple(_user_parameter(p) for p in element.all("parameter"))
            self.imported["user_models"].append(UserModel(_name(element, "name"), items))
        for element in [] if variables is None else variables.all("user_variable"):
            kind, size = element.first("type"), element.first("size")
            self.imported["user_variables"].append(
                UserVariable(
                    _name(element, "varname"),
                    "" if kind is None else kind.content(),
                    1 if size is None else int(size.value()),
                )
            )

    def _drawings(self, element: Element, body: Body) -> None:
        shapes: Element | None = element
        for tag in ("graphics", "x3D", "x3D_shapes"):
            shapes = None if shapes is None else shapes.first(tag)
        for item in [] if shapes is None else shapes.children:
            parts = {tag: item.first(tag) for tag in ("position", "rotation", "scale", "size", "url", "name")}
            pose = [_triple(parts[tag], 1.0 if tag == "scale" else 0.0) for tag in ("position", "rotation", "scale")]
            size = {tag: e.value() for tag in ("radius", "height") if (e := item.first(tag)) is not None}
            if parts["size"] is not None:
                size |= dict(zip("xyz", _triple(parts["size"], 0.0)))
            name, url = ("" if e is None else e.content() for e in (parts["name"], parts["url"]))
            colours = {e.tag: _colour(e) for e in item.children if e.get("R") is not None}
            surface = {tag: e.value() for tag in ("shininess", "transparency") if (e := item.first(tag)) is not None}
            known = {*parts, *size, *colours, *surface}
            others = tuple(e.xml for e in item.children if e.tag not in known)
            self.imported["drawings"].append(
                Drawing(name, body.name, item.tag, pose[0], pose[1], pose[2], size, url, colours, surface, others)
            )


# ---- reading elements ---------------------------------------------------------------------------------------


def _name(element: Element, tag: str) -> str:
    text = element.need(tag).content()
    if not text:
        raise element.error(f"its <{tag}> is empty")
    return text


def _number(element: Element, tag: str) -> float:
    """The number in a child, 0 where there is none."""
    child = element.first(tag)
    return 0.0 if child is None else child.value()


def _xyz(element: Element) -> tuple[float, float, float]:
    coordinates = element.first("coordinates")
    return (0.0, 0.0, 0.0) if coordinates is None else _triple(coordinates, 0.0)


def _triple(element: Element | None, default: float) -> tuple[float, float, float]:
    if element is None:
        return (default, default, default)
    x, y, z = (default if (e := element.first(c)) is None else e.value() for c in "xyz")
    return x, y, z


def _colour(element: Element) -> tuple[float, float, float]:
    r, g, b = (element.number(c, 0.0) for c in "RGB")
    return r, g, b


def _user_parameter(element: Element) -> UserParameter:
    kind = element.first("type")
    texts = {tag: e.content() for tag in ("structure", "header", "lutfile") if (e := element.first(tag)) is not None}
    values = tuple(e.value() for e in element.all("value"))
    return UserParameter(_name(element, "name"), "" if kind is None else kind.content(), values, texts)


__all__ = ["read_mbs"]
