"""Loads and constraints of a model file: tables of every kind to the methods of the model, and loads to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ...model.joints import law_units
from ...model.load_sorts import FrameLoad, JointForce, LinkForce, Load
from ...symbolic.expr import ZERO, Expr
from ...symbolic.vectors import Vector

if TYPE_CHECKING:
    from .reader import ModelReader
    from .writer import ModelWriter

Table = Mapping[str, Any]

#: Constants of the laws of links, in the order of the model's methods, with those that must be given.
_LINKS = {
    "spring": (("stiffness", "length", "damping", "preload"), ("stiffness", "length")),
    "damper": (("damping",), ("damping",)),
    "rope": (("stiffness", "length", "damping"), ("stiffness", "length")),
}


def add_load(reader: ModelReader, name: str, item: Table) -> None:
    """Adds the load a table describes."""
    kind = item["kind"]
    if kind in ("joint", "joint_spring") and "force" in item:
        _joint_law(reader, name, item)
    elif kind in ("link", *_LINKS):
        _link(reader, name, item)
    elif kind == "wrench":
        _wrench(reader, name, item)
    else:
        _KINDS[kind](reader, name, item)


def _constants(reader: ModelReader, item: Table, *keys: str) -> dict[str, Any]:
    return {k: reader.value(_single(item[k], k)) for k in keys if k in item}


def _single(given: Any, key: str) -> Any:
    if isinstance(given, list):
        raise ModelError(f"{key} has {len(given)} entries; one value is needed here")
    return given


def _joint_law(reader: ModelReader, name: str, item: Table) -> None:
    joint = reader.joint(item["joint"])
    model = reader.model
    c = joint._single() if "coordinate" not in item else joint.coordinate(item["coordinate"])
    with_self = {"self.position": c.q[0], "self.velocity": c.v[0]}
    model._load_name(name, name)
    law = local_law(reader, _single(item["force"], "force"), with_self, law_units(c.unit)["force"] if c.unit else None)
    load = JointForce(name, joint, c, law, local_law(reader, item.get("potential", 0.0), with_self), item["kind"])
    model.loads[name] = load


def local_law(reader: ModelReader, given: Any, local: dict[str, Expr], expects: str | None = None) -> Expr:
    """An expression with names of its own, such as self.position."""
    reader.names.local = local
    try:
        return reader.expression(given, expects)
    finally:
        reader.names.local = {}


def _link(reader: ModelReader, name: str, item: Table) -> None:
    kind, model = item["kind"], reader.model
    frames = [reader.frame(p) for p in item["points"]]
    if "tension" not in item:
        keys, needed = _LINKS[kind]
        for key in needed:
            if key not in item:
                raise ModelError(f"{kind} '{name}' lacks '{key}'; give it, or a tension")
        if kind != "rope" and len(frames) != 2:
            raise ModelError(f"{kind} '{name}' has {len(frames)} points; it runs between two")
        constants = _constants(reader, item, *keys)
        load: LinkForce = getattr(model, kind)(name, *frames, **constants)
        reader.adopt_link(load)
        return
    for key in ("stiffness", "length", "damping", "preload"):
        if key in item:
            raise ModelError(f"{kind} '{name}': give either its tension or '{key}'")
    model._load_name(name, name)
    length, rate = reader.link_symbols(name) or LinkForce.symbols(name)
    local = {"self.length": length, "self.rate": rate}
    # the link must be known before its law is read, which may call it by name
    zero = reader.expression(0.0)
    load = LinkForce(name, tuple(frames), length, rate, zero, zero, item.get("style", kind))
    model.loads[name] = load
    if "along" in item:
        model._along(load, reader.axis(item["along"]), reader.frame(item["axes"]) if "axes" in item else None)
    load.tension = local_law(reader, item["tension"], local, "N")
    load.potential = local_law(reader, item.get("potential", 0.0), local)


def _wrench(reader: ModelReader, name: str, item: Table) -> None:
    model = reader.model
    model._load_name(name, name)
    frames = {k: reader.frame(item[k]) if k in item else None for k in ("axes", "reaction")}
    vectors = []
    for key, unit in (("force", "N"), ("torque", "N m")):
        given = item.get(key, (0.0, 0.0, 0.0))
        if not isinstance(given, (list, tuple)):
            raise ModelError(f"load '{name}': {key} has three components")
        vectors.append(Vector.of([reader.expression(e, unit) for e in given]))
    load = FrameLoad(name, reader.frame(item["frame"]), vectors[0], vectors[1], frames["axes"], frames["reaction"])
    load.potential = reader.expression(item.get("potential", 0.0))
    model.loads[name] = load


def _joint_spring(reader: ModelReader, name: str, item: Table) -> None:
    if "stiffness" not in item:
        raise ModelError(f"joint spring '{name}' lacks its stiffness")
    reader.model.joint_spring(reader.joint(item["joint"]), **_constants(reader, item, "stiffness", "rest", "damping"), name=name)


def _friction(reader: ModelReader, name: str, item: Table) -> None:
    keys = ("coulomb", "viscous", "static", "stribeck", "smoothing")
    reader.model.friction(reader.joint(item["joint"]), **_constants(reader, item, *keys), name=name)


def _lugre(reader: ModelReader, name: str, item: Table) -> None:
    keys = ("coulomb", "static", "stribeck", "stiffness", "damping", "viscous")
    reader.model.lugre(reader.joint(item["joint"]), **_constants(reader, item, *keys), name=name)


def _stop(reader: ModelReader, name: str, item: Table) -> None:
    keys = ("lower", "upper", "stiffness", "damping")
    reader.model.stop(reader.joint(item["joint"]), **_constants(reader, item, *keys), name=name)


def _bushing(reader: ModelReader, name: str, item: Table) -> None:
    rows = {}
    for key in ("stiffness", "damping"):
        given = item.get(key, [0.0] * 6)
        if not isinstance(given, list):
            raise ModelError(f"bushing '{name}': {key} has six entries (x, y, z, about x, y, z)")
        rows[key] = reader.vector(given)
    reader.model.bushing(name, reader.frame(item["a"]), reader.frame(item["b"]), **rows)


def _drag(reader: ModelReader, name: str, item: Table) -> None:
    wind = reader.vector(item.get("wind", (0.0, 0.0, 0.0)))
    reader.model.drag(name, reader.frame(item["frame"]), **_constants(reader, item, "coefficient", "area", "density"), wind=wind)


def _contact(reader: ModelReader, name: str, item: Table) -> None:
    keys = ("stiffness", "damping", "friction", "radius", "smoothing")
    height = item.get("height", 0.0)

    def level(x: Expr, y: Expr) -> Expr:
        return local_law(reader, height, {"self.x": x, "self.y": y})

    reader.model.ground_contact(name, reader.frame(item["frame"]), **_constants(reader, item, *keys), height=level)


_KINDS: dict[str, Callable[[ModelReader, str, Table], None]] = {
    "joint_spring": _joint_spring, "friction": _friction, "lugre": _lugre, "stop": _stop, "bushing": _bushing, "drag": _drag,
    "contact": _contact,
}  # fmt: skip


# --- to tables ---------------------------------------------------------------------------------------------------


@singledispatch
def load_table(load: Load, writer: ModelWriter) -> dict[str, Any]:
    """The table of a load: by its kind and constants where its law is of a known kind, otherwise by its law."""
    raise ModelError(f"load '{load.name}': a {type(load).__name__} cannot be written to a model file")


def _with_potential(item: dict[str, Any], load: Load, writer: ModelWriter) -> dict[str, Any]:
    return item if load.potential is ZERO else item | {"potential": writer.value(load.potential)}


@load_table.register(JointForce)
def _(load: JointForce, writer: ModelWriter) -> dict[str, Any]:
    known = writer.known(load)
    item: dict[str, Any] = {"kind": load.kind if known else "joint", "joint": load.joint.name}
    if known:
        return item | writer.constants(known)
    if len(load.joint.coordinates) > 1 or load.coordinate.is_quaternion:
        short = load.coordinate.names[0].removeprefix(load.joint.name + ".")
        item["coordinate"] = short.removesuffix(".e0") if load.coordinate.is_quaternion else short
    return _with_potential(item | {"force": writer.value(load.force)}, load, writer)


@load_table.register(LinkForce)
def _(load: LinkForce, writer: ModelWriter) -> dict[str, Any]:
    known = writer.known(load)
    word = load.kind if load.kind in _LINKS else "link"
    item: dict[str, Any] = {"kind": word, "points": [writer.frame(p) for p in load.points]}
    if load.kind != word:
        item["style"] = load.kind
    if known:
        return item | writer.constants(known)
    item["tension"] = writer.value(load.tension)
    if load.along is not None and load.axes is not None:
        item |= {"along": writer.vector(load.along), "axes": writer.frame(load.axes)}
    return _with_potential(item, load, writer)


@load_table.register(FrameLoad)
def _(load: FrameLoad, writer: ModelWriter) -> dict[str, Any]:
    known = writer.known(load)
    if known:
        place = {"a": load.axes, "b": load.frame} if load.kind == "bushing" else {"frame": load.frame}
        return {"kind": load.kind, **{k: writer.frame(f) for k, f in place.items() if f is not None}, **writer.constants(known)}
    item: dict[str, Any] = {"kind": "wrench", "frame": writer.frame(load.frame)}
    item |= {k: writer.vector(v) for k, v in (("force", load.force), ("torque", load.torque)) if not v.is_zero}
    item |= {k: writer.frame(f) for k, f in (("axes", load.axes), ("reaction", load.reaction)) if f is not None}
    return _with_potential(item, load, writer)


# --- constraints -------------------------------------------------------------------------------------------------


def add_constraint(reader: ModelReader, name: str, item: Table) -> None:
    """Adds the constraint a table describes."""
    kind, model = item["kind"], reader.model
    if kind in ("equation", "nonholonomic"):
        declare = model.constraint if kind == "equation" else model.nonholonomic
        declare(name, reader.expression(item["expression"]))
    elif kind in ("gear", "rack", "screw"):
        first, second = reader.joint(item["first"]), reader.joint(item["second"])
        ratio = reader.value(item["ratio"])
        if kind == "screw":
            model.screw(name, first, second, ratio)
        else:
            model.gear(name, first, second, ratio, reader.value(item.get("phase", 0.0)))
    elif kind == "pulley":
        model.pulley(name, *(reader.frame(p) for p in item["points"]), length=reader.value(item["length"]))
    else:
        options: dict[str, Any] = {}
        if "axis" in item:
            options["axis"] = reader.axis(item["axis"])
        if "axes" in item:
            options["axes"] = tuple(reader.axis(e) for e in item["axes"])
        options |= {k: reader.value(item[k]) for k in ("length", "mass", "centre", "inertia") if k in item}
        options |= {k: item[k] for k in ("convention", "ignore") if k in item}
        model.close(name, reader.frame(item["a"]), reader.frame(item["b"]), kind, **options)


__all__ = ["add_constraint", "add_load", "load_table", "local_law"]
