"""From the tables of a model file to the model: every object by the public methods of :class:`jourdain.Model`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import JourdainError, ModelError, nearest
from ...model.bodies import Body, Frame
from ...model.joints import Joint
from ...model.load_sorts import LinkForce
from ...model.model import Model
from ...model.sensors import Sensor
from ...model.switches import Holding
from ...model.units import unbracketed, unit
from ...model.values import number, value
from ...symbolic.expr import Expr
from ...symbolic.graph import substitute
from ...symbolic.tables import Table, number_table
from ...symbolic.vectors import Vector
from ...told import as_written
from .body_tables import add_bodies
from .contact_tables import read_law, read_rigid
from .creation_order import Premade, entry_of
from .load_tables import add_constraint, add_load
from .names import ModelNames
from .schema import TIMES
from .toml_source import ModelFileError, Source

if TYPE_CHECKING:
    from ...structures import ReducedStructure, Structure

#: Largest file of a table, in bytes, and most numbers in one table.
MAX_TABLE = 50_000_000
MAX_POINTS = 4_000_000

#: So many errors end a reading: each is compared with those before it.
MOST_IN_A_READING = 500
_QUANTITY = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*(\S.*)?\Z", re.DOTALL)

Include = Callable[["ModelReader", Mapping[str, Any], int], None]


class ModelReader:
    """Builds a model from the checked data of a source; ``include`` brings in a sub-model."""

    def __init__(self, source: Source, data: Mapping[str, Any], include: Include | None = None) -> None:
        self.source = source
        self.data = data
        self.include = include
        #: What is wrong with the objects of the file, and names of those that are not there for it; errors inside an object are one.
        self._errors: list[ModelFileError] = []
        self._lost: list[str] = []
        self._depth = 1
        with self.at(("gravity",), "gravity"):
            gravity = data.get("gravity", (0.0, 0.0, -9.81))
            plain = all(not isinstance(e, str) or is_quantity(e) for e in gravity)
            self.model = Model(data.get("name", "model"), gravity if plain else (0.0, 0.0, 0.0))
        self.names = ModelNames(self.model)
        #: Symbols made before the objects they belong to.
        self.premade = Premade()
        self.names.premade = self.premade.symbols
        self.structures: dict[str, Structure | ReducedStructure] = {}

    def read(self) -> Model:
        """The model."""
        with as_written("creation" not in self.data):
            return self._read()

    def _read(self) -> Model:
        model, data = self.model, self.data
        self._depth = 0
        self._tables()
        self.names.texts = {n: self._definition(item) for n, item in data.get("expressions", {}).items()}
        if "creation" in data:
            self._prepared()
        self._parameters()
        model.parameter_set.premade = {name: made for (kind, name), made in self.premade.symbols.items() if kind == "parameter"}
        with self.at(("gravity",), "gravity"):
            if any(isinstance(e, str) and not is_quantity(e) for e in data.get("gravity", ())):
                model.gravity = Vector.of([self.expression(e) for e in data["gravity"]])
        self._channels()
        add_bodies(self)
        for i, item in enumerate(data.get("include", ())):
            with self.at(("include", i), f"include '{item['file']}'"):
                if self.include is None:
                    raise ModelError("sub-models can only be included by a file")
                self.include(self, item, i)
        self._joints()
        self._sensors()
        for name, item in data.get("loads", {}).items():
            with self.at(("loads", name), f"load '{name}'"):
                add_load(self, name, item)
        for name, item in data.get("constraints", {}).items():
            with self.at(("constraints", name), f"constraint '{name}'"):
                add_constraint(self, name, item)
        self._contacts()
        self._rates_and_outputs()
        self._events()
        for name in self.names.texts:
            with self.at(("expressions", name), f"expression '{name}'"):
                self.names.find(name, "expression")
        for key in ("notes", "keep", "unphysical", "guesses"):
            getattr(model, key).extend(data.get(key, []))
        model.initial |= data.get("initial", {})
        model.analyses, model.criteria, model.problems = (
            {n: dict(item) for n, item in data.get(key, {}).items()} for key in ("analyses", "criteria", "problems")
        )
        self._check_units()
        if self._errors:
            raise ModelFileError.together(self._errors)
        return model

    def _check_units(self) -> None:
        """Initial values and times of analyses are quantities of their dimension."""
        m = self.model
        units = {n: c.unit for c in m.coordinates for n in c.names} | {
            n: f"{c.unit or 'rad'}/s" for c in m.coordinates for n in c.velocity_names
        }
        units |= {n: item.unit for n, item in m.states.items()} | {n: item.unit for n, item in m.inputs.items()}
        units |= {j.name: j.coordinates[0].unit for j in m.joints.values() if len(j.coordinates) == 1}
        for name, given in self.data.get("initial", {}).items():
            with self.at(("initial", name), f"initial value of '{name}'"):
                joint = m.joints.get(name.rpartition(".")[0])
                plain = joint is not None and joint.coordinates and all(len(c.names) == 1 for c in joint.coordinates)
                if plain and name not in units and name not in m.memories and name not in m.unknowns:
                    near = nearest(name, units, 2)
                    told = (
                        f"did you mean {' or '.join(near)}?"
                        if near
                        else f"the joint has {', '.join(n for n in units if n.startswith(name.rpartition('.')[0] + '.'))}"
                    )
                    raise ModelError(f"there is no coordinate '{name}'; {told}")
                number(given, f"initial value of '{name}'", units.get(name) or None)
        for name, item in self.data.get("analyses", {}).items():
            for key in TIMES:
                with self.at(("analyses", name, key), f"analysis '{name}'"):
                    rows = item.get(key, ())
                    entries = (
                        rows if isinstance(rows, list) else [rows.get(k) for k in ("from", "to")] if isinstance(rows, dict) else [rows]
                    )
                    for x in entries:
                        if isinstance(x, str) and is_quantity(x):
                            number(x, f"analysis '{name}': {key}", "s")

    @contextmanager
    def at(self, path: tuple[str | int, ...], what: str) -> Iterator[None]:
        """Errors inside get the file and line of ``path`` and the object's name; the next object is read, too, before they are told."""
        self._depth += 1
        try:
            yield
        except JourdainError as error:
            self._failed(path, self.source.wrap(self._place(path, str(error)), what, error))
        except (RecursionError, MemoryError, OverflowError):
            self._failed(path, self.source.error(path, f"{what} is too large; make it smaller"))
        except (KeyError, AttributeError):
            if not self._errors:
                raise  # else it follows from what went wrong before
        finally:
            self._depth -= 1

    def _failed(self, path: tuple[str | int, ...], error: ModelFileError) -> None:
        """Takes note of an error, unless it follows from an object that is not there for another one."""
        if self._depth > 1:
            raise error from None
        if not speaks_of(str(error), [name for name in self._lost if name not in path]):
            self._errors.append(error)
            if len(self._errors) == MOST_IN_A_READING:
                raise ModelFileError.together(self._errors) from None
        self._lost.append(str(path[1] if len(path) > 1 else path[0]))

    def _place(self, path: tuple[str | int, ...], message: str) -> tuple[str | int, ...]:
        """The entry below ``path`` whose text a message quotes, to tell its line."""
        entry: Any = self.data
        for key in path:
            entry = entry.get(key) if isinstance(entry, Mapping) else None
        texts = [(place, text) for place, text in _texts(entry, path) if text not in path]
        quoted = sorted((pair for pair in texts if repr(pair[1]) in message), key=lambda pair: not is_quantity(pair[1]))
        names = re.findall(r"nothing called '([^']+)'", message)
        used = [pair for pair in texts if any(re.search(rf"(?<![\w.]){re.escape(n)}(?![\w.])", pair[1]) for n in names)]
        return next((place for place, _ in quoted + used), path)

    # -- values ---------------------------------------------------------------------------------------------------

    def value(self, given: Any) -> Any:
        """A number, a text with a unit (both as they are) or the expression a text means."""
        if isinstance(given, str):
            return given.strip() if is_quantity(given) else self.names.parse(given)
        return float(given)

    def expression(self, given: Any, expects: str | None = None) -> Expr:
        """An expression from a number or any text, of the dimension of the unit ``expects``."""
        return value(self.value(given), "value", expects, law=True)

    def vector(self, given: Any) -> list[Any]:
        """Three (or more) values."""
        return [self.value(e) for e in given]

    def axis(self, given: Any) -> Any:
        """An axis by letter or components."""
        return given if isinstance(given, str) else self.vector(given)

    def rotation(self, given: Any) -> Any:
        """A rotation in any of the forms of :func:`jourdain.model.values.rotation`."""
        if given is None:
            return None
        if isinstance(given, dict):
            (key, data), *_ = given.items()
            return {key: [self.vector(row) for row in data] if key == "matrix" else self.vector(data)}
        if len(given) == 2 and not isinstance(given[1], list):
            return self.axis(given[0]), self.value(given[1])
        if len(given[0]) == 3:
            return [self.vector(row) for row in given]
        return [(self.axis(axis), self.value(angle)) for axis, angle in given]

    def frame(self, given: Any) -> Frame:
        """A frame by its path, or on a body at a position."""
        name = given if isinstance(given, str) else given["body"]
        body = self.model.ground if name == "ground" else self.model.bodies.get(name)
        if body is None or isinstance(given, str):
            return self.model.frame(name) if body is None else body.origin
        base: Body | Frame | None = body.find(given["frame"]) if "frame" in given else body
        if base is None:
            raise ModelError(f"body '{body.name}' has no frame '{given['frame']}'")
        if "position" not in given and "rotation" not in given:
            return base.origin if isinstance(base, Body) else base
        x, y, z = self.vector(given.get("position", (0, 0, 0)))
        return base.at(x, y, z, self.rotation(given.get("rotation")))

    def joint(self, name: Any) -> Joint:
        """A joint by name."""
        if name in self.model.joints:
            return self.model.joints[name]
        near = nearest(str(name), self.model.joints, 3)
        raise ModelError(f"there is no joint '{name}'" + (f"; did you mean {', '.join(near)}?" if near else ""))

    def file(self, name: str) -> Path:
        """A file in the model's folder or below; nothing outside is ever opened."""
        return file_inside(self.source.folder, name)

    # -- sections -------------------------------------------------------------------------------------------------

    def _definition(self, item: Any) -> str:
        given = item["expression"] if isinstance(item, dict) else item
        return given if isinstance(given, str) and not is_quantity(given) else repr(float(self.expression(given)))

    def _parameters(self) -> None:
        for name, item in self.data.get("parameters", {}).items():
            with self.at(("parameters", name), f"parameter '{name}'"):
                given = item if isinstance(item, dict) else {"value": item}
                bounds = _limits(given.get("bounds", (None, None)))
                self.model.parameter(name, given["value"], given.get("unit", ""), bounds, given.get("description", ""))
        old = {p.symbol: p for p in self.model.parameter_set}
        for p in old.values():
            self._adopt("parameter", p.name, p)
        self.model.gravity = Vector(*(old[e].symbol if e in old else e for e in self.model.gravity))
        self.model.time = self.premade.symbols.get(("time", "t"), self.model.time)

    def _tables(self) -> None:
        for name, item in self.data.get("tables", {}).items():
            with self.at(("tables", name), f"table '{name}'"):
                self.names.tables[name] = self._table(name, item)

    def _table(self, name: str, item: Mapping[str, Any]) -> Table:
        options = {k: item[k] for k in ("kind", "extrapolate") if k in item}
        if "file" in item:
            path = self.file(item["file"])
            if path.stat().st_size > MAX_TABLE:
                raise ModelError(f"its file has {path.stat().st_size} bytes, more than {MAX_TABLE}")
            return number_table(path, name=name, **options)
        if "breaks" in item:
            return _raw_table(name, item)
        if "x" not in item or "y" not in item:
            raise ModelError(f"table '{name}' needs x and y (and z over both), or a file")
        if len(item["x"]) * len(item["y"]) > MAX_POINTS and "z" in item:
            raise ModelError(f"table '{name}' has more than {MAX_POINTS} points")
        return number_table(item["x"], item["y"], item.get("z"), name=name, **options)

    def _prepared(self) -> None:
        """Symbols and expressions in the order of the file's "order"."""
        for i, text in enumerate(self.data["creation"].get("order", ())):
            with self.at(("creation", "order", i), "order"):
                entry = entry_of(text)
                if entry is None:
                    self.names.parse(text)
                else:
                    self.premade.make(*entry)

    def adopt_link(self, load: LinkForce) -> None:
        """Gives a link of a known kind the symbols made for it."""
        made = self.link_symbols(load.name)
        if made is not None:
            old = {load.length: made[0], load.rate: made[1]}
            load.tension, load.potential = substitute([load.tension, load.potential], old)
            load.length, load.rate = made

    def link_symbols(self, name: str) -> tuple[Expr, Expr] | None:
        """Symbols made early for a link."""
        made = [self.premade.symbols.get(("link", f"{name}.{s}")) for s in ("length", "rate")]
        return (made[0], made[1]) if made[0] is not None and made[1] is not None else None

    def _adopt(self, kind: str, name: str, item: Any) -> None:
        """Gives a parameter, input or state the symbol made for it."""
        made = self.premade.symbols.get((kind, name))
        if made is not None:
            item.symbol = made

    def _channels(self) -> None:
        for name, item in self.data.get("inputs", {}).items():
            given = item if isinstance(item, dict) else {"value": item}
            with self.at(("inputs", name), f"input '{name}'"):
                self.model.input(name, given.get("value", 0.0), given.get("unit", ""))
                self._adopt("input", name, self.model.inputs[name])
        for name, item in self.data.get("states", {}).items():
            with self.at(("states", name), f"state '{name}'"):
                self.model.state(name, item.get("initial", 0.0), item.get("unit", ""))
                self._adopt("state", name, self.model.states[name])
        for name, item in self.data.get("memories", {}).items():
            with self.at(("memories", name), f"memory '{name}'"):
                self.model.memory(name, self.value(item.get("initial", 0.0)), unit=item.get("unit", ""))
                self._adopt("input", name, self.model.inputs[name])
                self.model.memories[name].symbol = self.model.inputs[name].symbol
        for name, item in self.data.get("unknowns", {}).items():
            with self.at(("unknowns", name), f"unknown '{name}'"):
                self.model.unknown(name, item.get("guess", 0.0), unit=item.get("unit", ""))
                self._adopt("input", name, self.model.inputs[name])
                self.model.unknowns[name].symbol = self.model.inputs[name].symbol
        # Memories and unknowns are inputs, too, and a program may have declared them first.
        self.model.inputs = dict(sorted(self.model.inputs.items(), key=lambda item: item[1].symbol.id))

    def _joints(self) -> None:
        for name, item in self.data.get("joints", {}).items():
            with self.at(("joints", name), f"joint '{name}'"):
                self.add_joint(name, item)
        for key, method in (("drives", self.model.drive), ("locks", self.model.lock)):
            for name, item in self.data.get(key, {}).items():
                given = next(iter(item.values())) if isinstance(item, dict) else item
                with self.at((key, name), f"{key[:-1]} of '{name}'"):
                    joint, coordinate = self._owner(name)
                    method(joint, self.value(given), coordinate)

    def add_joint(self, name: str, item: Mapping[str, Any]) -> None:
        """A joint with its options."""
        options: dict[str, Any] = {}
        for key, given in item.items():
            if key in ("kind", "parent", "child"):
                continue
            options[key] = self._option(key, given)
        joint = self.model.joint(item["kind"], name, self.frame(item["parent"]), self.frame(item["child"]), **options)
        for c in joint.coordinates:
            made = self.premade.coordinates.get(c.names[0].removesuffix(".e0") if c.is_quaternion else c.names[0])
            if made is not None and len(made.q) == len(c.q):
                c.q, c.v, c.a = made.q, made.v, made.a

    def _option(self, key: str, given: Any) -> Any:
        if key == "axis":
            return self.axis(given)
        if key == "axes":
            return tuple(self.axis(e) for e in given)
        if key == "limits":
            return _limits(given)
        if key == "sequence":
            return tuple(given)
        if key == "mimic":
            follow = given if isinstance(given, dict) else {"joint": given}
            return (self.joint(follow["joint"]), self.value(follow.get("ratio", 1.0)), self.value(follow.get("offset", 0.0)))
        return given if key in ("plane", "orientation", "cut") else self.value(given)

    def _owner(self, path: str) -> tuple[Joint, str | None]:
        if path in self.model.joints:
            return self.model.joints[path], None
        for joint in self.model.joints.values():
            for c in joint.coordinates:
                if path in c.names and c.names[0].startswith(joint.name + "."):
                    return joint, path.removeprefix(joint.name + ".")
        raise ModelError(f"there is no coordinate '{path}'; give a joint, or a joint's coordinate such as 'hinge.angle'")

    def _sensors(self) -> None:
        for name, item in self.data.get("sensors", {}).items():
            with self.at(("sensors", name), f"sensor '{name}'"):
                relative = self.frame(item["relative_to"]) if "relative_to" in item else None
                self._adopt_readings(self.model.sensor(name, self.frame(item["frame"]), relative))

    def _adopt_readings(self, sensor: Sensor) -> None:
        for (kind, path), made in self.premade.symbols.items():
            if kind == "sensor" and path.rsplit(".", 2)[0] == sensor.name:
                place = self.names._place(path)
                if place is not None and place[0] is sensor:
                    sensor._readings[place[1:]] = made
                    self.model._readings[made] = place

    def _rates_and_outputs(self) -> None:
        model = self.model
        for name, item in self.data.get("states", {}).items():
            with self.at(("states", name, "rate"), f"state '{name}'"):
                if "rate" in item:
                    model.rate(model.states[name].symbol, self.value(item["rate"]))
        for name, item in self.data.get("memories", {}).items():
            with self.at(("memories", name, "update"), f"memory '{name}'"):
                if "update" in item:
                    model.update(model.memories[name].symbol, self.value(item["update"]))
        for name, item in self.data.get("unknowns", {}).items():
            with self.at(("unknowns", name, "equation"), f"unknown '{name}'"):
                if "equation" in item:
                    model.equation(model.unknowns[name].symbol, self.value(item["equation"]))
        for name, item in self.data.get("outputs", {}).items():
            given = item if isinstance(item, dict) else {"expression": item}
            with self.at(("outputs", name), f"output '{name}'"):
                model.output(name, self.value(given["expression"]), given.get("unit", ""))

    def _contacts(self) -> None:
        for name, item in self.data.get("materials", {}).items():
            with self.at(("materials", name), f"material '{name}'"):
                self.model.material(name, **{k: self.value(x) for k, x in item.items()})
        for name, item in self.data.get("contacts", {}).items():
            with self.at(("contacts", name), f"contact '{name}'"):
                self.model.contact(name, item.get("a"), item.get("b"), read_law(self, item), item.get("exclude", ()))
        for name, item in self.data.get("stops", {}).items():
            with self.at(("stops", name), f"stop '{name}'"):
                self.model.stops(law=read_rigid(self, item), joints=[self.joint(name)])
        for name, item in self.data.get("ropes", {}).items():
            with self.at(("ropes", name), f"rope '{name}'"):
                ends = self.frame(item["a"]), self.frame(item["b"])
                self.model.rope(name, *ends, length=self.value(item["length"]), law=read_rigid(self, item))

    def _events(self) -> None:
        for name, item in self.data.get("events", {}).items():
            with self.at(("events", name), f"event '{name}'"):
                jump = {self._target(target): self.value(e) for target, e in item.get("jump", {}).items()}
                release, engage = ([self._held(n) for n in item.get(key, ())] for key in ("release", "engage"))
                self.model.event(
                    name, self.value(item["guard"]), item.get("direction", 0), item.get("terminal", False), jump, release, engage
                )
        self.model.adopt_switches()

    def _held(self, name: str) -> Holding:
        """A joint or constraint that may let go."""
        found = self.model.constraints.get(name)
        return self.joint(name) if found is None else found

    def _target(self, name: str) -> Expr:
        kinds = [k for k in ("joint", "state", "input") if self.names._of_kind(k, name) is not None]
        return self.names.find(name, kinds[0]) if kinds else self.names.parse(name)


def _texts(entry: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """All texts in an entry, with their paths."""
    if isinstance(entry, str):
        yield path, entry
    parts = entry.items() if isinstance(entry, Mapping) else enumerate(entry) if isinstance(entry, list) else ()
    for key, part in parts:
        yield from _texts(part, (*path, key))


def file_inside(folder: Path | None, name: str) -> Path:
    """The path of a file in ``folder`` or below; an error for any other."""
    if folder is None:
        raise ModelError(f"'{name}': a model read from text has no folder; load it from a file")
    if Path(name).is_absolute() or "\\" in name or ":" in name or "\0" in name or ".." in Path(name).parts:
        raise ModelError(f"'{name}' is not a file below the model's folder; give a relative path without '..'")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ModelError(f"'{name}' leads outside the model's folder; copy the file into it")
    if not path.is_file():
        raise ModelError(f"there is no file '{name}' in the model's folder")
    return path


def speaks_of(message: str, names: Sequence[str]) -> bool:
    """Whether a message is about an object of some names; one about a unit is not, though a unit may be called as an object is."""
    return ": quantity '" not in message and any(f"'{name}'" in message or f"'{name}." in message for name in names)


def is_quantity(text: str) -> bool:
    """Whether a text is a number with (or without) a unit."""
    match = _QUANTITY.match(text) if len(text) <= 100 else None
    if match is None:
        return False
    try:
        unit(unbracketed((match.group(1) or "").strip()))
    except JourdainError:
        return False
    return True


def _limits(given: Any) -> tuple[Any, Any]:
    low, high = (None if isinstance(e, float) and math.isinf(e) else e for e in given)
    return low, high


def _raw_table(name: str, item: Mapping[str, Any]) -> Table:
    breaks = [np.asarray(b, dtype=float) for b in item["breaks"]]
    try:
        coefficients = np.asarray(item.get("coefficients", ()), dtype=float)
    except ValueError:
        raise ModelError(f"table '{name}': coefficients are not a regular array") from None
    shape = (*(len(b) - 1 for b in breaks), *(4,) * len(breaks))
    if len(breaks) not in (1, 2) or coefficients.shape != shape or any(len(b) < 2 or np.any(np.diff(b) <= 0) for b in breaks):
        raise ModelError(f"table '{name}': breaks must increase and coefficients have the shape (pieces, 4) or (pieces, pieces, 4, 4)")
    extrapolate = item.get("extrapolate", "hold")
    if extrapolate not in ("hold", "extend"):
        raise ModelError(f"table '{name}': extrapolate '{extrapolate}' is unknown; use 'hold' or 'extend'")
    return Table(name, tuple(breaks), coefficients, extrapolate)


__all__ = ["ModelReader", "file_inside", "is_quantity", "speaks_of"]
