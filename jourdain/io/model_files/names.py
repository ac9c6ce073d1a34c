"""Names of a model's symbols in expressions: what a name in a file stands for, and how a symbol is spelled."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import nearest
from ...model.model import Model
from ...model.sensors import QUANTITIES, Sensor
from ...symbolic.expr import Expr, nary
from ...symbolic.tables import Table
from .expression_language import ExpressionError, names_in, parse_expression, spelled

#: Named expressions that refer to each other are read when met down to this depth, and one after the other below it.
MAX_CHAIN = 3

_COMPONENTS = ("x", "y", "z")
_ENTRIES = tuple(a + b for a in _COMPONENTS for b in _COMPONENTS)
_KINDS = ("parameter", "time", "joint", "link", "input", "state", "sensor", "expression")


class ModelNames:
    """The scope of a model's expressions: parameters, time, coordinates, links, sensors, inputs, states, tables.

    Coordinates are ``joint.angle`` with ``joint.angle_rate`` and ``joint.angle_acc`` (of a joint of one freedom also
    ``joint.position``, ``joint.velocity``), links ``link.length`` and ``link.rate``, sensors ``hub.position.z``,
    ``hub.velocity.x``, ``hub.angular_velocity.y``, ``hub.rotation.xy`` (also ``hub.z``).  A name that means several
    things is written with its kind, ``state:x``.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tables: dict[str, Table] = {}
        #: Texts of named expressions not yet needed.
        self.texts: dict[str, str] = {}
        self.local: dict[str, Expr] = {}
        #: Symbols of objects still to be made, by kind and name.
        self.premade: dict[tuple[str, str], Expr] = {}
        self._chain: list[str] = []
        self._coordinates: dict[str, Expr] = {}
        self._counted = 0

    # -- from name to symbol --------------------------------------------------------------------------------------

    def parse(self, text: str) -> Expr:
        """The expression written as ``text``."""
        return parse_expression(text, self)

    def find(self, name: str, kind: str | None = None) -> Expr:
        """What a name stands for; an error suggests others."""
        if kind == "self":
            if name in self.local:
                return self.local[name]
            known = ", ".join(self.local) or "nothing here"
            raise ExpressionError(f"'{name}' is not known; self stands for {known}")
        if kind is not None:
            if kind not in _KINDS:
                raise ExpressionError(f"'{kind}:{name}': the kind '{kind}' is unknown; use one of {', '.join(_KINDS)}")
            found = self._of_kind(kind, name)
            if found is None:
                raise ExpressionError(f"there is no {kind} '{name}'" + self._near(name))
            return found
        kinds = self._kinds(name)
        if not kinds:
            raise ExpressionError(f"there is nothing called '{name}' here" + self._near(name))
        if len(kinds) > 1:
            raise ExpressionError(f"'{name}' is ambiguous; write {' or '.join(f'{k}:{spelled(name)}' for k in kinds)}")
        return self._of_kind(kinds[0], name)  # type: ignore[return-value]

    def _kinds(self, name: str) -> list[str]:
        """The kinds of things that are called so; nothing is made by asking."""
        found = [k for k in _KINDS[:-2] if self._of_kind(k, name) is not None]
        if ("sensor", name) in self.premade or self._place(name) is not None:
            found.append("sensor")
        if name in self.texts or name in self.model.expressions:
            found.append("expression")
        return found

    def function(self, name: str) -> Callable[..., Expr] | None:
        """The table called ``name``, or a derivative of it: ``gas.d1`` the first, ``map.d01`` by the second variable."""
        if name in self.tables:
            return self.tables[name]
        head, dot, tail = name.rpartition(".d")
        if not dot or head not in self.tables or not (tail.isdecimal() and tail.isascii()):
            return None
        table, orders = self.tables[head], tuple(map(int, tail))
        if len(orders) != len(table.breaks):
            raise ExpressionError(f"'{name}': the table '{head}' has {len(table.breaks)} variable(s); give an order for each")

        def derivative(*x: Expr) -> Expr:
            if len(x) != len(orders):
                raise ExpressionError(f"'{name}' takes {len(orders)} argument(s), got {len(x)}")
            return nary("table", x, (table, orders)) if any(orders) else table(*x)

        return derivative

    def _of_kind(self, kind: str, name: str) -> Expr | None:
        model = self.model
        if (kind, name) in self.premade:
            return self.premade[kind, name]
        if kind == "parameter":
            return model.parameter_set.symbol(name)
        if kind == "time":
            return model.time if name == "t" else None
        if kind == "joint":
            return self._coordinate(name)
        if kind == "link":
            head, _, tail = name.rpartition(".")
            return model.loads[head].readings.get(tail) if head in model.loads else None
        if kind == "input":
            return model.inputs[name].symbol if name in model.inputs else None
        if kind == "state":
            return model.states[name].symbol if name in model.states else None
        if kind == "sensor":
            place = self._place(name)
            return None if place is None else place[0].reading(*place[1:])
        return self._expression(name)

    def _coordinate(self, name: str) -> Expr | None:
        if self._counted != len(self.model.joints) + len(self.model.bodies):
            self._coordinates = {s.name: s for c in self.model.coordinates for s in (*c.q, *c.v, *c.a)}
            self._counted = len(self.model.joints) + len(self.model.bodies)
        found = self._coordinates.get(name)
        if found is not None:
            return found
        head, _, tail = name.rpartition(".")
        owner = self.model.joints.get(head)
        if owner is None or tail not in ("position", "velocity", "acceleration") or len(owner.coordinates) != 1:
            return None
        c = owner.coordinates[0]
        return None if c.is_quaternion else {"position": c.q, "velocity": c.v, "acceleration": c.a}[tail][0]

    def _place(self, name: str) -> tuple[Sensor, str, int] | None:
        """The sensor, quantity and entry that a name such as hub.position.z means."""
        head, _, component = name.rpartition(".")
        sensors = self.model.sensors
        if head in sensors and component in _COMPONENTS:
            return sensors[head], "position", _COMPONENTS.index(component)
        owner, _, quantity = head.rpartition(".")
        if owner not in sensors or quantity not in QUANTITIES:
            return None
        entries = _ENTRIES if quantity == "rotation" else _COMPONENTS
        return (sensors[owner], quantity, entries.index(component)) if component in entries else None

    def _expression(self, name: str) -> Expr | None:
        if name in self.model.expressions:
            return self.model.expressions[name]
        if name not in self.texts:
            return None
        if name in self._chain:
            raise ExpressionError(f"the expressions {' → '.join([*self._chain, name])} refer to each other in a circle")
        if len(self._chain) == MAX_CHAIN:
            self._read_before(name)
        self._chain.append(name)
        local, self.local = self.local, {}
        try:
            found = self.parse(self.texts[name])
        except ExpressionError as error:
            raise ExpressionError(f"expression '{name}': {error}") from None
        finally:
            self._chain.pop()
            self.local = local
        self.model.expressions[name] = found
        return found

    def _read_before(self, name: str) -> None:
        """Reads all that a named expression needs, innermost first, without recursion."""
        stack, opened = [name], {*self._chain}
        while stack:
            top = stack[-1]
            if top in self.model.expressions:
                stack.pop()
            elif top in opened:
                if top != name:
                    self._expression(top)
                stack.pop()
            else:
                opened.add(top)
                needed = [n for n in dict.fromkeys(names_in(self.texts[top])) if n in self.texts and n not in self.model.expressions]
                circle = next((n for n in needed if n in opened), None)
                if circle is not None:
                    raise ExpressionError(f"the expressions {circle} and {top} refer to each other in a circle")
                stack += reversed(needed)

    def _near(self, name: str) -> str:
        model = self.model
        self._coordinate(name)
        known = [*(p.name for p in model.parameter_set.listed), *self._coordinates, *model.inputs, *model.states, *self.texts, "t"]
        known += [f"{n}.{key}" for n, load in model.loads.items() for key in load.readings]
        known += [f"{n}.position.{c}" for n in model.sensors for c in _COMPONENTS]
        near = nearest(name, known, 3)
        return f"; did you mean {', '.join(near)}?" if near else "; declare it before it is used, and mind capitals"

    # -- from symbol to name --------------------------------------------------------------------------------------

    def speller(self) -> Callable[[Expr], str]:
        """A function from the model's symbols to their names in the language."""
        model = self.model
        names: dict[Expr, tuple[str, str]] = {model.time: ("t", "time")}
        names.update((p.symbol, (p.name, "parameter")) for p in model.parameter_set)
        names.update((i.symbol, (i.name, "input")) for i in model.inputs.values())
        names.update((s.symbol, (s.name, "state")) for s in model.states.values())
        names.update((s, (s.name, "joint")) for c in model.coordinates for s in (*c.q, *c.v, *c.a))
        for load in model.loads.values():
            names.update((s, (f"{load.name}.{key}", "link")) for key, s in load.readings.items())
        names.update((reading, (reading_name(*place), "sensor")) for reading, place in model._readings.items())

        def spell(symbol: Expr) -> str:
            if symbol not in names:
                raise ExpressionError(
                    f"the symbol '{symbol.name}' does not belong to the model '{model.name}'; only its own symbols can be written"
                )
            name, kind = names[symbol]
            if self._kinds(name) == [kind]:
                return spelled(name)
            return f"{kind}:{spelled(name)}"

        return spell


def reading_name(sensor: Sensor, quantity: str, index: int) -> str:
    """The name of a sensor's reading in the language."""
    return f"{sensor.name}.{quantity}.{(_ENTRIES if quantity == 'rotation' else _COMPONENTS)[index]}"


__all__ = ["ModelNames", "reading_name"]
