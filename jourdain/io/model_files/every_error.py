"""All that is wrong with a model file, told at once.

Reading ends an object at its first error.  What a first reading found is therefore set right in a copy of the data, as far as an entry can be
(an unknown key is left out, a quantity of the wrong unit is its number), and read again, until nothing new comes; what cannot be
set right is left out, and what others say about its absence is not told.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .reader import is_quantity, speaks_of
from .toml_source import MOST_ERRORS, ModelFileError, Path_, Source

#: Most readings of a file that is wrong.
MOST_READINGS = 40
#: What stands for a value that is no quantity.
NEUTRAL = 1.0

Read = TypeVar("Read")


def read_telling_all(source: Source, data: dict[str, Any], read: Callable[[dict[str, Any]], Read]) -> Read:
    """What ``read(data)`` gives; if it fails, one error with all that is wrong, in the order of the file."""
    try:
        return read(data)
    except ModelFileError as error:
        found = _Findings(source, copy.deepcopy(data))
        found.take(error)
    for _ in range(MOST_READINGS):
        try:
            read(found.data)
        except ModelFileError as error:
            if found.take(error):
                continue
        break
    raise ModelFileError.together(sorted(found.told, key=lambda e: source.line(e.path) if e.source is source else 0))


class _Findings:
    """Errors told so far, and the data without what they are about."""

    def __init__(self, source: Source, data: dict[str, Any]) -> None:
        self.source = source
        self.data = data
        self.told: list[ModelFileError] = []
        self.texts: set[str] = set()
        self.mended: set[Path_] = set()
        self.lost: list[str] = []

    def take(self, error: ModelFileError) -> bool:
        """Takes note of what is new, and sets it right; whether the data have changed."""
        changed = False
        for one in error.errors or [error]:
            own = one.source is self.source
            new = (not own or one.path not in self.mended) and str(one) not in self.texts and not self._follows(one)
            if new:
                self.told.append(one)
                self.texts.add(str(one))
            if own and len(self.told) < MOST_ERRORS:
                changed |= self._mend(one)
        return changed

    def _follows(self, error: ModelFileError) -> bool:
        """Whether an error speaks of an object that is not there for another one, or of one that had something set right."""
        path = error.path
        gone = speaks_of(str(error), self.lost)
        return gone or any(len(p) > len(path) and p[: len(path)] == path for p in self.mended)

    def _mend(self, error: ModelFileError) -> bool:
        """Sets the entry right that an error is about, or leaves it out."""
        path = error.path
        entry = _entry(self.data, path)
        if not path or entry is None:
            return False
        wrong = _wrong_name(entry, str(error))
        if wrong:
            return _replace(self.data, path, re.sub(rf"(?<![\w.]){re.escape(wrong)}(?![\w.])", "1.0", entry))
        again = path in self.mended
        self.mended.add(path)
        if not again and isinstance(entry, str) and len(path) > 1 and "unknown key" not in str(error):
            return _replace(self.data, path, _number(entry) if is_quantity(entry) else NEUTRAL)
        while isinstance(_entry(self.data, path[:-1]), list):  # entries of a list are found by their number: it is left out as a whole
            path = path[:-1]
        if len(path) <= 2:
            self.lost.append(str(path[-1]))
        return _leave_out(self.data, path)


def _wrong_name(entry: Any, message: str) -> str:
    """The name in an expression that a message quotes."""
    found = re.search(r"nothing called '([^']+)'", message) if isinstance(entry, str) else None
    return found.group(1) if found and found.group(1) != entry.strip() and found.group(1) in entry else ""


def _number(text: str) -> float:
    """The number in front of a unit."""
    for end in range(len(text), 0, -1):
        try:
            return float(text[:end])
        except ValueError:
            continue
    return NEUTRAL


def _entry(data: Any, path: Path_) -> Any:
    for key in path:
        inside = (isinstance(data, Mapping) and key in data) or (isinstance(data, list) and isinstance(key, int) and key < len(data))
        if not inside:
            return None
        data = data[key]
    return data


def _replace(data: dict[str, Any], path: Path_, value: Any) -> bool:
    _entry(data, path[:-1])[path[-1]] = value
    return True


def _leave_out(data: dict[str, Any], path: Path_) -> bool:
    around = _entry(data, path[:-1])
    if not isinstance(around, dict) or path[-1] not in around:
        return False
    del around[path[-1]]
    return True


__all__ = ["read_telling_all"]
