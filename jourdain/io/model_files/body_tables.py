"""Bodies of a model file: mass, shapes, frames, flexible parts and the structures that they are reduced from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import JourdainError, ModelError
from ...model.bodies import Body, shape_mass
from ...model.elastic.flexible import Elasticity, FlexibleBody, PartBody
from ...model.shapes import Shape
from ...model.values import colour_of, value
from ...model.values import rotation as parse_rotation
from ...symbolic.vectors import Inertia, Vector
from .shape_tables import shape_of
from .structure_tables import flexible_body_of, sliders_of, structure_of

if TYPE_CHECKING:
    from .reader import ModelReader

Table = Mapping[str, Any]


def add_bodies(reader: ModelReader) -> None:
    if "ground" in reader.data:
        with reader.at(("ground",), "the ground"):
            _fill(reader, reader.model.ground, reader.data["ground"])
    for name, item in reader.data.get("structures", {}).items():
        with reader.at(("structures", name), f"structure '{name}'"):
            reader.structures[name] = structure_of(reader, name, item)
    for name, item in reader.data.get("bodies", {}).items():
        with reader.at(("bodies", name), f"body '{name}'"):
            bends = "flexible" in item
            _fill(reader, _flexible(reader, name, item) if bends else reader.model.body(name, colour=item.get("colour")), item)
    for name, item in reader.data.get("bodies", {}).items():
        if "flexible" in item:
            with reader.at(("bodies", name, "flexible"), f"body '{name}'"):
                sliders_of(reader, name, item)


def _flexible(reader: ModelReader, name: str, item: Table) -> Body:
    with reader.at(("bodies", name, "flexible"), f"body '{name}'"):
        body = flexible_body_of(reader, name, item)
    made = [reader.premade.coordinates.get(c.names[0]) for c in body.modes] if isinstance(body, FlexibleBody) else []
    if isinstance(body, FlexibleBody) and any(made):
        for c, early in zip(body.modes, made, strict=True):
            if early is not None:
                c.q, c.v, c.a = early.q, early.v, early.a
        load = f"{name}.elasticity"
        reader.model.loads[load] = Elasticity(load, body)
    return body


def _fill(reader: ModelReader, body: Body, item: Table) -> None:
    body.colour = colour_of(item.get("colour"), None, f"body '{body.name}'")
    if "moment" in item:
        _raw_mass(reader, body, item)
    elif "mass" in item or "inertia" in item:
        _add_mass(reader, body, item)
    for part in item.get("masses", ()):
        _add_mass(reader, body, part)
    for given in item.get("shapes", ()):
        shape = _shape(reader, given)
        body.shapes.append(shape)
        if _has_density(shape) and not given.get("massless", False):
            shape_mass(body, shape)
    names, nodes = item.get("collision_names", ()), item.get("collision_nodes", ())
    for k, given in enumerate(item.get("collision", ())):
        name = names[k] if k < len(names) else ""
        if isinstance(body, PartBody) and k < len(nodes):
            body.add_collision(_shape(reader, given), name, node=nodes[k])
        elif not isinstance(body, FlexibleBody):
            Body.add_collision(body, _shape(reader, given), name)  # those of a rigid part are in its own axes
        else:
            raise ModelError(f"body '{body.name}': it bends; give collision_nodes, the node that carries each shape of collision")
    for name, given in item.get("frames", {}).items():
        body.frame(name, reader.vector(given.get("position", (0, 0, 0))), reader.rotation(given.get("rotation")))


def _add_mass(reader: ModelReader, body: Body, item: Table) -> None:
    inertia = item.get("inertia")
    if inertia is not None:
        inertia = [reader.vector(row) for row in inertia] if isinstance(inertia[0], list) else reader.vector(inertia)
    body.add_mass(
        reader.value(item.get("mass", 0.0)),
        reader.vector(item.get("com", (0, 0, 0))),
        inertia,
        item.get("about", "com"),
        reader.rotation(item.get("axes")),
    )


def _raw_mass(reader: ModelReader, body: Body, item: Table) -> None:
    """Mass, first moment and inertia about the origin as they stand."""
    if item.get("about", "origin") != "origin" or "com" in item or "axes" in item:
        raise ModelError(f"body '{body.name}': with a moment the inertia is about the origin, and com and axes have no place")
    body.mass = reader.expression(item.get("mass", 0.0))
    body.moment = Vector.of([reader.expression(e) for e in item["moment"]])
    entries = [reader.expression(e) for e in item.get("inertia", (0, 0, 0)) if not isinstance(e, list)]
    if len(entries) not in (3, 6):
        raise ModelError(f"body '{body.name}': with a moment the inertia has three or six entries")
    body.inertia = Inertia(*entries) if len(entries) == 6 else Inertia(*entries, *[reader.expression(0.0)] * 3)


def _shape(reader: ModelReader, item: Table) -> Shape:
    def read(given: Any, what: str, unit: str) -> Any:
        e = value(reader.value(given), f"{item['kind']}: {what}", unit)
        return float(e) if e.is_number else e

    def turned(given: Any) -> Any:
        matrix = parse_rotation(reader.rotation(given), "shape")
        return tuple(tuple(float(e) if e.is_number else e for e in row) for row in matrix)

    return shape_of(item, read, turned, reader.file)


def _has_density(shape: Shape) -> bool:
    try:
        shape.mass  # noqa: B018
    except JourdainError:
        return False
    return True


__all__ = ["add_bodies"]
