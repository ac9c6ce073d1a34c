"""A hash of everything in a model that its equations depend on; parameter values are not among it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..symbolic.expr import Expr
from ..symbolic.graph import topological
from ..symbolic.vectors import Matrix, Vector
from .bodies import Frame
from .constraints import Closure
from .joints import Coordinate, Joint
from .load_sorts import Load

if TYPE_CHECKING:
    from .model import Model


def fingerprint(model: Model) -> str:
    """Two models with the same fingerprint have the same equations, whatever their parameter values."""
    items = list(_describe(model))
    items += _readings(model, topological([e for e in items if isinstance(e, Expr)]))
    roots = [e for e in items if isinstance(e, Expr)]
    digest = hashlib.sha256()
    number: dict[int, int] = {}
    lines: list[str] = []
    for e in topological(roots):
        number[e.id] = len(number)
        lines.append(f"{e.op} {[number[a.id] for a in e.args]} {_payload(e)}")
    digest.update("\n".join(lines).encode())
    text = "\n".join(str(number[e.id]) if isinstance(e, Expr) else e for e in items)
    digest.update(text.encode())
    return digest.hexdigest()


def _payload(e: Expr) -> str:
    if e.op == "table":
        return f"{e.data[0].key} {e.data[1]}"
    return repr(e.data)


def _describe(model: Model) -> Iterator[Any]:
    """Names and expressions in a fixed order."""
    yield model.name
    yield from model.parameter_set.names
    yield from model.gravity
    for body in model.all_bodies:
        yield f"body {body.name}"
        yield body.mass
        yield from body.moment
        yield from body.inertia.entries
        for name, frame in sorted(body.frames.items(), key=lambda item: item[0] if item[0] in body.nodes else ""):
            yield name
            yield from _frame(frame)
    for joint in model.joints.values():
        yield from _joint(joint)
    for load in model.loads.values():
        yield from _load(load)
    for constraint in model.constraints.values():
        yield from _constraint(constraint)
    for item in model.inputs.values():
        yield item.name
        yield item.symbol
    for state in model.states.values():
        yield state.name
        yield state.symbol
        yield state.rate if state.rate is not None else "no rate"
    for memory in model.memories.values():
        yield f"memory {memory.name}"
        yield memory.update if memory.update is not None else "no update"
    for unknown in model.unknowns.values():
        yield f"unknown {unknown.name}"
        yield unknown.equation if unknown.equation is not None else "no equation"
    for output in model.outputs.values():
        yield output.name
        yield output.expression
    for callback in model.callbacks.values():
        yield f"callback {callback.name}"
        yield from callback.arguments
    for event in model.events.values():
        yield f"event {event.name}"
        yield event.guard
        for target, new in event.jump.items():
            yield target
            yield new


def _readings(model: Model, nodes: list[Expr]) -> Iterator[Any]:
    """The sensors' readings that the expressions use, in order of use."""
    for reading in nodes:
        if reading in model._readings:
            sensor, quantity, index = model._readings[reading]
            yield reading
            yield f"{sensor.name} {quantity} {index}"
            yield from _frame(sensor.frame)
            yield from _frame(sensor.reference)


def _frame(frame: Frame) -> Iterator[Any]:
    yield f"on {frame.body.name}" if frame.node is None else f"at {frame.node} of {frame.body.name}"
    yield from frame.position
    yield from frame.rotation.entries


def _coordinate(c: Coordinate) -> Iterator[Any]:
    yield " ".join(c.names)
    yield from (*c.q, *c.v, *c.a)
    yield c.motion if c.motion is not None else "free"


def _joint(joint: Joint) -> Iterator[Any]:
    yield f"joint {joint.name} {joint.kind} {joint.cut}"
    yield from _frame(joint.parent)
    yield from _frame(joint.child)
    for motion in joint.motions:
        yield motion.kind
        yield from motion.axis
        yield motion.ratio
        yield motion.offset
        yield from _coordinate(motion.coordinate)
    yield from vars(joint.drive).values()


def _load(load: Load) -> Iterator[Any]:
    yield f"load {load.name}"
    yield load.potential
    for part in load.signature:
        if isinstance(part, Frame):
            yield from _frame(part)
        elif isinstance(part, Coordinate):
            yield from _coordinate(part)
        else:
            yield "world" if part is None else part


def _constraint(item: Any) -> Iterator[Any]:
    yield f"constraint {item.name}"
    if not isinstance(item, Closure):
        yield item.expression
        yield str(item.nonholonomic)
        return
    yield item.kind
    yield from _frame(item.a)
    yield from _frame(item.b)
    data = item.data if isinstance(item.data, tuple) else (item.data,)
    for part in data:
        if isinstance(part, Vector):
            yield from part
        elif isinstance(part, Matrix):
            yield from part.entries
        else:
            yield part if part is not None else "none"
    if item.inertia is not None:
        yield from ("rod's inertia", item.inertia.at_a, item.inertia.coupling, item.inertia.at_b)
    if item.convention != "jourdain":
        yield from (item.convention, *item.ignore)
