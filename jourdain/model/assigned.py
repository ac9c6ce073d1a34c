"""Names that users get wrong: of attributes (which would be kept without acting, and be taken for a setting) and of parts of a model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

from ..errors import ModelError, nearest
from ..spelling import british

T = TypeVar("T")
_PACKAGE = __name__.partition(".")[0]


class Assigned:
    """An object whose attributes are those that it has; classes that users derive have what they like."""

    #: How an object is called in messages, and where what people assign elsewhere is given here.
    called: ClassVar[str] = "object"
    instead: ClassVar[Mapping[str, str]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not _of_the_package(sys._getframe(1).f_globals) and _of_the_package(vars(type(self)), "__module__"):
            name = self._assignable(name, value)
        object.__setattr__(self, name, value)

    def _assignable(self, name: str, value: Any) -> str:
        """The name as the package spells it, if it is there and the value is of its kind."""
        known = [n for n in (*vars(self), *dir(type(self))) if not n.startswith("_")]
        own = british(name, known)
        if own in known:
            now = vars(self).get(own)
            if not _of_the_package(vars(type(now)), "__module__") or isinstance(value, type(now)):
                return own
            told = self.instead.get(own, "it is given where the object is declared")
        else:
            near = [] if isinstance(value, Assigned) else nearest(name, known, 1)  # a part is no setting that was misspelt
            own_words = f"keep it in a variable, {name} = …, or in a class of your own from {type(self).__name__}"
            told = self.instead.get(name, f"did you mean '{near[0]}'?" if near else f"nothing would read it; {own_words}")
        raise ModelError(f"{self.called} '{vars(self).get('name', '')}': '{name}' cannot be assigned; {told}")


class UnknownNameError(ModelError, KeyError):
    """A model has no part of that name; the message lists the nearest names."""

    def __str__(self) -> str:
        return str(self.args[0])


class Named(dict[str, T]):
    """Parts of a model by name; one that is not there is told with the nearest names."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __missing__(self, name: Any) -> T:
        near = nearest(str(name), self, 3)
        there = f"did you mean {', '.join(map(repr, near))}?" if near else f"there are {', '.join(list(self)[:8]) or 'none'}"
        raise UnknownNameError(f"there is no {self.kind} {name!r}; {there}")


def _of_the_package(names: Mapping[str, Any], where: str = "__name__") -> bool:
    return _belongs(str(names.get(where, "")))


@cache
def _belongs(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


__all__ = ["Assigned", "Named", "UnknownNameError"]
