"""From a model to the tables of its file: names, numbers as given, laws as expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import JourdainError, ModelError
from ...model.bodies import Body, Frame, MassGiven, shape_mass
from ...model.constraints import Closure
from ...model.contact.contacts import Contact
from ...model.elastic.flexible import FlexibleBody, PartBody
from ...model.joints import Drive, Joint, parse_limits
from ...model.model import Model
from ...model.values import rotation as parse_rotation
from ...symbolic.expr import ZERO, Expr
from ...symbolic.graph import topological
from ...symbolic.tables import Table, number_table
from ...symbolic.vectors import Matrix
from .contact_tables import law_table
from .creation_order import misplaced, symbol_entries
from .expression_language import spelled
from .expression_writer import ExpressionWriter, shared_expressions
from .load_tables import load_table
from .names import ModelNames
from .schema import FORMAT, VERSION
from .shape_tables import table_of
from .structure_tables import StructureTables
from .toml_writer import pair_text, table_text

#: Sections whose objects are written in a line each.
_LINES = (
    "parameters",
    "tables",
    "expressions",
    "inputs",
    "states",
    "memories",
    "unknowns",
    "drives",
    "locks",
    "outputs",
    "initial",
    "creation",
)


class ModelWriter:
    """Writes a model.

    ``order`` says how much of the order of making is written: 0 nothing, 1 all symbols and misplaced expressions,
    2 all of them.  With ``general`` laws of known kinds are written as expressions.
    """

    def __init__(self, model: Model, folder: Path | None = None, order: int = 0, general: bool = False) -> None:
        if model.callbacks:
            name = next(iter(model.callbacks))
            raise ModelError(f"callback '{name}': a file cannot hold Python; write the law as an expression or a table")
        self.model = model
        self.folder = folder
        self.order = order
        self.general = general
        self.value: Callable[[Any], Any] = self._collect
        self.roots: list[Expr] = []

    def text(self) -> str:
        """The whole file."""
        return layout(self.data())

    def data(self) -> dict[str, Any]:
        """What the file says: sections, names, keys."""
        self.value, self.roots = self._collect, []
        self._document()
        writer, expressions, tables = self._names()
        self.value = lambda given: _plain(given, writer)
        document = self._document()
        document["tables"] = tables
        document["expressions"] = {name: writer.definition(e) for name, e in expressions.items()}
        if self.order:
            document["creation"] = {"order": self._order(writer)}
        return document

    def _collect(self, given: Any) -> Any:
        if isinstance(given, Expr):
            self.roots.append(given)
        return 0.0

    def _names(self) -> tuple[ExpressionWriter, dict[str, Expr], dict[str, Any]]:
        named = {e: n for n, e in reversed(self.model.expressions.items()) if e.args}
        roots = [*self.roots, *named]
        taken = set(self.model.expressions) | {s.name for s in topological(roots) if s.op == "symbol"} | {"t"}
        taken |= {n.split(".")[0] for n in taken}
        count = 0
        for e in shared_expressions(roots, named):
            count += 1
            while f"e{count}" in taken:
                count += 1
            named[e] = f"e{count}"
        nodes = topological(roots)
        tables = _table_names(nodes)
        scope = ModelNames(self.model)
        scope.texts = dict.fromkeys(named.values(), "")
        spelling = {e: spelled(n) if scope._kinds(n) == ["expression"] else f"expression:{spelled(n)}" for e, n in named.items()}
        writer = ExpressionWriter(scope.speller(), spelling, tables)
        return writer, {named[e]: e for e in nodes if e in named}, {name: _table_data(t) for t, name in tables.items()}

    def _order(self, writer: ExpressionWriter) -> list[str]:
        entries: list[tuple[int, str]] = sorted(symbol_entries(self.model, self.roots))
        bodies = [e for b in self.model.all_bodies for e in (b.mass, *b.moment, *b.inertia.entries)]
        early = misplaced(self.model, [*bodies, *self.roots], self.order > 1)
        entries += [(e.id, writer.text(e)) for e in early]
        return [text for _, text in sorted(entries)]

    # -- the document ---------------------------------------------------------------------------------------------

    def _document(self) -> dict[str, Any]:
        m = self.model
        gravity, standard = self._gravity()
        parameters = {p.name: self._parameter(p) for p in m.parameter_set.listed if p.name not in standard}
        self.structures = StructureTables(self)
        document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": m.name, "gravity": gravity}
        document |= {k: list(getattr(m, k)) for k in ("notes", "keep", "unphysical", "guesses")}
        document |= {"parameters": parameters, "tables": {}, "expressions": {}}
        document["inputs"] = {
            i.name: _short({"value": float(i.value), "unit": i.unit}, "value") for i in (m.inputs[n] for n in m.outer_inputs)
        }
        made = self._made_by_loads()
        document["states"] = {s.name: self._state(s) for s in m.states.values() if s.name not in made}
        document["memories"] = {i.name: self._memory(i) for i in m.memories.values() if i.name not in m.point_memories}
        document["unknowns"] = {i.name: self._unknown(i) for i in m.unknowns.values()}
        document["structures"] = self.structures.tables
        document["ground"] = self._body(m.ground)
        document["bodies"] = {b.name: self._body(b) for b in m.bodies.values()}
        document["joints"] = {j.name: self._joint(j) for j in m.joints.values()}
        document |= self._prescribed()
        document["sensors"] = {s.name: self._sensor(s) for s in m.sensors.values() if s.name not in made}
        document["loads"] = {load.name: load_table(load, self) for load in m.loads.values() if not load.of_body}
        document["constraints"] = {c.name: self._constraint(c) for c in m.constraints.values()}
        document["materials"] = {name: asdict(material) for name, material in m.materials.items()}
        document["contacts"] = {c.name: self._contact(c) for c in m.contacts.values()}
        document["stops"] = {name: law_table(law, self) for name, law in m.rigid_stops.items()}
        document["ropes"] = {
            r.name: {"a": self.frame(r.a), "b": self.frame(r.b), "length": self.value(r.length), **law_table(r.law, self)}
            for r in m.ropes.values()
        }
        document["outputs"] = {
            o.name: _short({"expression": self.value(o.expression), "unit": o.unit}, "expression") for o in m.outputs.values()
        }
        document["events"] = {e.name: self._event(e) for e in m.events.values()}
        bending = {n for b in m.bodies.values() if isinstance(b, FlexibleBody) for c in b.modes for n in (*c.names, *c.velocity_names)}
        document["initial"] = {n: x for n, x in m.initial.items() if n not in bending or x != 0.0}
        for key in ("analyses", "criteria", "problems"):
            document[key] = {n: dict(a) for n, a in getattr(m, key).items()}
        return document

    def _gravity(self) -> tuple[list[Any], set[str]]:
        """Gravity by numbers where it is as the model itself makes it, with the names of those parameters."""
        m = self.model
        own = {p.symbol: p for p in m.parameter_set.listed}
        standard, numbers = [], []
        for c, e in zip("xyz", m.gravity, strict=True):
            p = own.get(e)
            if p is not None and p.name == f"gravity_{c}" and p.unit == "m/s²" and p.bounds == (None, None) and p.description == "gravity":
                standard.append(p.name)
                numbers.append(p.value)
            elif e is ZERO:
                numbers.append(0.0)
        if (
            len(numbers) == 3
            and all(numbers[i] or m.gravity[i] is ZERO for i in range(3))
            and m.parameter_set.names[: len(standard)] == standard
        ):
            return numbers, set(standard)
        return [self.value(e) for e in m.gravity], set()

    def _parameter(self, p: Any) -> Any:
        item: dict[str, Any] = {"value": float(p.value), "unit": p.unit}
        if p.bounds != (None, None):
            item["bounds"] = _limits(p.bounds)
        item["description"] = p.description
        return _short(item, "value")

    def _state(self, s: Any) -> dict[str, Any]:
        item: dict[str, Any] = {"initial": float(s.initial)}
        if s.rate is not None:
            item["rate"] = self.value(s.rate)
        return item | ({"unit": s.unit} if s.unit else {})

    def _memory(self, memory: Any) -> dict[str, Any]:
        item: dict[str, Any] = {"initial": self.value(memory.initial)}
        if memory.update is not None:
            item["update"] = self.value(memory.update)
        return item | ({"unit": memory.unit} if memory.unit else {})

    def _contact(self, contact: Contact) -> dict[str, Any]:
        item: dict[str, Any] = {}
        for key, side in (("a", contact.a), ("b", contact.b)):
            if side is None or (key == "a" and contact.b is None and set(side) == set(self.model.shapes())):
                continue
            item[key] = list(dict.fromkeys(s.body.name for s in side))
            if len(side) != sum(len(s.body.surfaces) for s in {s.body.name: s for s in side}.values()):
                raise ModelError(f"contact '{contact.name}': a file names bodies, and it is of some shapes of '{side[0].body.name}' only")
        item |= law_table(contact.law, self)
        return item | ({"exclude": sorted(sorted(pair) for pair in contact.exclude)} if contact.exclude else {})

    def _unknown(self, unknown: Any) -> dict[str, Any]:
        item: dict[str, Any] = {"guess": float(unknown.guess)}
        if unknown.equation is not None:
            item["equation"] = self.value(unknown.equation)
        return item | ({"unit": unknown.unit} if unknown.unit else {})

    def vector(self, v: Iterable[Any]) -> list[Any]:
        """Components as values."""
        return [self.value(e) for e in v]

    # -- bodies and frames ----------------------------------------------------------------------------------------

    def _body(self, body: Body) -> dict[str, Any]:
        item: dict[str, Any] = {}
        massive = None if isinstance(body, FlexibleBody) else self._replayed(body)
        if isinstance(body, PartBody):
            item["flexible"] = self.structures.flexible(body)
        elif massive is None:
            item |= {"mass": self.value(body.mass), "moment": self.vector(body.moment), "inertia": self.vector(body.inertia.entries)}
        else:
            given = [self._mass(c) for c in massive]
            item |= given[0] if given else {}
            if given[1:]:
                item["masses"] = given[1:]
        if body.shapes:
            item["shapes"] = [self._shape(shape, body, massive is not None) for shape in body.shapes]
        if body.collision:
            item["collision"] = [self._shape(shape, body, False) for shape in body.collision]
            item["collision_names"] = list(body.collision_names)
            if isinstance(body, FlexibleBody):
                item["collision_nodes"] = list(body.collision_nodes)
        frames = {name: self._placed(f) for name, f in body.frames.items() if name not in body.nodes}
        if frames:
            item["frames"] = frames
        if body.colour is not None:
            item["colour"] = body.colour
        return item

    def _replayed(self, body: Body) -> list[MassGiven] | None:
        """The masses given, if they and the shapes make up the body's mass properties in the order of the file."""
        given = [c for c in body.contributions if isinstance(c, MassGiven)]
        solids = [s for s in body.shapes if any(s is c for c in body.contributions)]
        again = Body(self.model, body.name)
        for entry in given:
            again.add_given(entry)
        for solid in solids:
            shape_mass(again, solid)
        same = again.mass is body.mass and all(a is b for a, b in zip(again.moment, body.moment, strict=True))
        same = same and all(a is b for a, b in zip(again.inertia.entries, body.inertia.entries, strict=True))
        return given if same else None

    def _mass(self, given: MassGiven) -> dict[str, Any]:
        item: dict[str, Any] = {"mass": self.value(given.mass)}
        if not given.com.is_zero:
            item["com"] = self.vector(given.com)
        if not given.inertia.is_zero:
            entries = given.inertia.entries
            item["inertia"] = self.vector(entries[:3] if all(e is ZERO for e in entries[3:]) else entries)
        if given.about != "com":
            item["about"] = given.about
        if not given.rotation.is_identity:
            item["axes"] = self.rotation(given.axes, given.rotation)
        return item

    def _shape(self, shape: Any, body: Body, counted: bool) -> dict[str, Any]:
        item = table_of(shape, self.value, self.folder)
        try:
            shape.mass  # noqa: B018
        except JourdainError:
            return item
        if not counted or not any(shape is c for c in body.contributions):
            item["massless"] = True
        return item

    def _placed(self, frame: Frame) -> dict[str, Any]:
        item: dict[str, Any] = {}
        if not frame.position.is_zero:
            item["position"] = self.vector(frame.position)
        if not frame.rotation.is_identity:
            item["rotation"] = self.rotation(frame.turn, frame.rotation)
        return item

    def frame(self, frame: Frame) -> Any:
        """A frame by its path, or by body and placement."""
        body = frame.body
        if frame.name is not None and body.frames.get(frame.name) is frame:
            is_clear = frame.path not in self.model.bodies and self.model.frame(frame.path) is frame
            return frame.path if is_clear else {"body": body.name, "frame": frame.name}
        if frame.node is not None and frame.base is not None and frame.base[0].name == frame.node:
            _, step, turn = frame.base
            item = {} if step.is_zero else {"position": self.vector(step)}
            if turn is not None:
                item["rotation"] = self.rotation(turn, parse_rotation(turn, ""))
            return {"body": body.name, "frame": frame.node, **item}
        return body.name if frame.is_origin else {"body": body.name, **self._placed(frame)}

    def rotation(self, given: Any, R: Matrix) -> Any:
        """A rotation as given, if that gives the same matrix; otherwise the matrix."""
        try:
            if given is not None and all(a is b for a, b in zip(parse_rotation(given, "").entries, R.entries, strict=True)):
                return self._turn(given)
        except JourdainError:
            pass
        return [self.vector(row) for row in R.rows]

    def _turn(self, given: Any) -> Any:
        if isinstance(given, Matrix):
            return [self.vector(row) for row in given.rows]
        if isinstance(given, dict):
            return {k: [self.vector(row) for row in v] if k == "matrix" else self.vector(v) for k, v in given.items()}
        items = list(given)
        if len(items) == 2 and not isinstance(items[1], (list, tuple, np.ndarray)):
            return [self.axis(items[0]), self.value(items[1])]
        if len(items[0]) == 3 and not isinstance(items[0], str) and len(items) == 3:
            return [self.vector(row) for row in items]
        return [[self.axis(axis), self.value(angle)] for axis, angle in items]

    def axis(self, given: Any) -> Any:
        """An axis by letter or components."""
        return given if isinstance(given, str) else self.vector(given)

    # -- joints ---------------------------------------------------------------------------------------------------

    def _joint(self, joint: Joint) -> dict[str, Any]:
        item: dict[str, Any] = {"kind": joint.kind, "parent": self.frame(joint.parent), "child": self.frame(joint.child)}
        given = joint.options
        for key in ("axis", "axes", "pitch", "plane", "orientation", "sequence"):
            if key in given:
                item[key] = self._option(key, given[key])
        if joint.limits != (None, None):
            same = "limits" in given and parse_limits(given["limits"], "", _unit(joint)) == joint.limits
            item["limits"] = _limits(given["limits"] if same else joint.limits)
        for name, e in vars(joint.drive).items():
            if e is not getattr(Drive(), name):
                item[name] = self.value(e)
        if joint.cut is not None:
            item["cut"] = joint.cut
        if given.get("mimic") is not None:
            item["mimic"] = self._mimic(given["mimic"])
        return item

    def _option(self, key: str, given: Any) -> Any:
        if key == "axis":
            return self.axis(given)
        if key == "axes":
            return [self.axis(e) for e in given]
        if key == "sequence":
            return [str(e) for e in given]
        return self.value(given) if key == "pitch" else given

    def _mimic(self, given: Any) -> Any:
        leader, *rest = given if isinstance(given, tuple) else (given,)
        item = {"joint": leader.name} | {k: self.value(e) for k, e in zip(("ratio", "offset"), rest, strict=False)}
        return item if rest else leader.name

    def _prescribed(self) -> dict[str, Any]:
        drives: dict[str, Any] = {}
        locks: dict[str, Any] = {}
        for joint in self.model.joints.values():
            for c in joint.coordinates:
                if c.motion is not None and c.names[0] not in drives and c.names[0] not in locks:
                    (locks if c.nature == "locked" else drives)[c.names[0]] = self.value(c.motion)
        return {"drives": drives, "locks": locks}

    def _sensor(self, sensor: Any) -> dict[str, Any]:
        item = {"frame": self.frame(sensor.frame)}
        if not (sensor.reference.body.is_ground and sensor.reference.is_origin):
            item["relative_to"] = self.frame(sensor.reference)
        return item

    # -- loads, constraints, events -------------------------------------------------------------------------------

    def _made_by_loads(self) -> set[str]:
        """Sensors and states that loads of a known kind bring with them."""
        ending = {"lugre": ".bristle", "bushing": ".sensor", "contact": ".sensor", "drag": ".sensor"}
        return {load.name + ending[load.kind] for load in self.model.loads.values() if load.kind in ending and self.known(load)}

    def known(self, load: Any) -> dict[str, Any]:
        """The constants of a load that is written by its kind; a ground of varying height is written as a law."""
        height = load.given.get("height", ZERO)
        level = not any(s in self.model._readings for s in topological([height]))
        dry = load.kind == "friction" and load.given.get("smoothing") is ZERO  # no law of the load says it
        return load.given if dry or (not self.general and level) else {}

    def constants(self, known: Mapping[str, Any]) -> dict[str, Any]:
        rows = {k: self.vector(e) for k, e in known.items() if isinstance(e, list) and any(x is not ZERO for x in e)}
        needed = ("stiffness", "length", "coulomb", "static", "smoothing", "coefficient", "lower", "upper")
        return {k: self.value(e) for k, e in known.items() if not isinstance(e, list) and (e is not ZERO or k in needed)} | rows

    def _constraint(self, item: Any) -> dict[str, Any]:
        if not isinstance(item, Closure):
            return {"kind": "nonholonomic" if item.nonholonomic else "equation", "expression": self.value(item.expression)}
        options = item.options
        found: dict[str, Any] = {"kind": item.kind, "a": self.frame(item.a), "b": self.frame(item.b)}
        if "axis" in options:
            found["axis"] = self.axis(options["axis"])
        if "axes" in options:
            found["axes"] = [self.axis(e) for e in options["axes"]]
        found |= {k: self.value(options[k]) for k in ("length", "mass", "centre", "inertia") if k in options}
        if "ignore" in options:
            found["ignore"] = list(options["ignore"])
        return found | {k: options[k] for k in ("convention",) if k in options}

    def _event(self, event: Any) -> dict[str, Any]:
        item: dict[str, Any] = {"guard": self.value(event.guard)}
        if event.direction:
            item["direction"] = event.direction
        if event.terminal:
            item["terminal"] = True
        switched = {f"{name}.engaged" for name in event.switches}
        jump = {target.name: self.value(e) for target, e in event.jump.items() if target.name not in switched}
        names = {
            "release": [n for n, holds in event.switches.items() if not holds],
            "engage": [n for n, holds in event.switches.items() if holds],
        }
        return item | {key: given for key, given in {"jump": jump, **names}.items() if given}


def _plain(given: Any, writer: ExpressionWriter) -> Any:
    """A value as TOML has it: a number, a text with a unit as given, or the text of an expression."""
    if isinstance(given, str):
        return given
    if isinstance(given, Expr):
        return float(given) if given.is_number else writer.text(given)
    return float(given)


def _short(item: dict[str, Any], key: str) -> Any:
    """Only what says something; the value alone where that is all."""
    item = {k: v for k, v in item.items() if k == key or v not in ("", None)}
    return item[key] if len(item) == 1 else item


def _limits(given: Any) -> list[Any]:
    low, high = given
    ends = [-float("inf") if low is None else low, float("inf") if high is None else high]
    return [e if isinstance(e, str) else float(e) for e in ends]


def _unit(joint: Joint) -> str | None:
    return {"revolute": "rad", "helical": "rad", "prismatic": "m"}.get(joint.kind)


# --- tables ----------------------------------------------------------------------------------------------------------


def _table_names(nodes: Iterable[Expr]) -> dict[Table, str]:
    names: dict[Table, str] = {}
    for e in nodes:
        if e.op != "table" or e.data[0] in names:
            continue
        base = e.data[0].name if e.data[0].name.isidentifier() else "table"
        name, count = base, 1
        while name in names.values():
            count += 1
            name = f"{base}{count}"
        names[e.data[0]] = name
    return names


def _table_data(t: Table) -> dict[str, Any]:
    """A table by its points where these give it again, otherwise by its polynomials."""
    if len(t.breaks) == 1:
        grid, pieces = t.breaks[0], t.coefficients
        h = grid[-1] - grid[-2]
        last = float(((pieces[-1, 3] * h + pieces[-1, 2]) * h + pieces[-1, 1]) * h + pieces[-1, 0])
        near = [float(f"{last:.{n}g}") for n in (6, 9, 12, 15)] + [
            last,
            float(np.nextafter(last, np.inf)),
            float(np.nextafter(last, -np.inf)),
        ]
        for kind in ("spline", "linear"):
            for end in near:
                values = [*map(float, pieces[:, 0]), end]
                if number_table(grid, values, kind=kind, extrapolate=t.extrapolate).key == t.key:
                    item = {"x": [float(x) for x in grid], "y": values, "kind": kind, "extrapolate": t.extrapolate}
                    defaults = {"kind": "spline", "extrapolate": "hold"}
                    return {k: v for k, v in item.items() if defaults.get(k) != v}
    item = {"breaks": [b.tolist() for b in t.breaks], "coefficients": t.coefficients.tolist()}
    return item if t.extrapolate == "hold" else item | {"extrapolate": t.extrapolate}


# --- text ------------------------------------------------------------------------------------------------------------


def layout(document: Mapping[str, Any]) -> str:
    """Plain keys, then sections: small objects in a line each, others as tables of their own."""
    top = [pair_text(k, v) for k, v in document.items() if not isinstance(v, dict) and v != []]
    parts = ["".join(top)]
    for section, items in document.items():
        if not isinstance(items, dict) or not items:
            continue
        if section in _LINES:
            parts.append(table_text((section,), items))
        elif section == "ground":
            parts.append(_object_text((section,), items))
        else:
            parts += [_object_text((section, name), item) for name, item in items.items()]
    return "\n".join(parts)


def _object_text(path: tuple[str, ...], item: Mapping[str, Any]) -> str:
    own = {k: v for k, v in item.items() if k != "frames"}
    text = table_text(path, own) if own or "frames" not in item else ""
    if "frames" in item:
        text += ("\n" if own else "") + table_text((*path, "frames"), item["frames"])
    return text


__all__ = ["ModelWriter", "layout"]
