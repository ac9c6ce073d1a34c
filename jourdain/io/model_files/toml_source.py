"""A TOML text with the place of every key: strict reading by the standard library, lines and spans by a light scan.

The scan is linear, never recurses deeper than :data:`MAX_DEPTH`, and runs first, so that no text can exhaust the reader.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import JourdainError, ModelError

#: Largest model file, in characters.
MAX_SIZE = 8_000_000
#: Deepest nesting of arrays and inline tables, and most parts of a dotted key.
MAX_DEPTH = 24
#: Most keys, tables and entries of arrays whose places are looked up: so many take seconds.
MOST_PLACES = 1_000_000
#: Characters of an array of plain numbers whose entries are not told apart in messages.
LONG_ARRAY = 20_000

Path_ = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\s#]+(?: \d{2}:\d{2}[^,\]}\s#]*)?")
_NUMBERS = re.compile(r"\[[0-9eE+\-._,\s]*\]")
_STRINGS = (
    re.compile(r'"""(?:[^"\\]|\\.|"(?!"")){0,}"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'(?!'')){0,}'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


#: Errors of a file that are told at once.
MOST_ERRORS = 50


class ModelFileError(ModelError):
    """A model file is not what it should be; the message names file, line, object and remedy."""

    #: Where it is in which text, and the single errors where it stands for several.
    source: Source | None = None
    path: Path_ = ()
    errors: Sequence[ModelFileError] = ()

    @staticmethod
    def together(errors: Sequence[ModelFileError]) -> ModelFileError:
        """Several errors of a file as one, a line each."""
        told = [str(e) for e in errors]
        rest = [f"… and {len(told) - MOST_ERRORS} more"] if len(told) > MOST_ERRORS else []
        if len(errors) == 1:
            return errors[0]
        all_of_them = ModelFileError("\n".join([*told[:MOST_ERRORS], *rest]))
        all_of_them.errors = [one for e in errors for one in (e.errors or [e])]
        return all_of_them


@dataclass(frozen=True)
class Span:
    """Where something stands in the text: its key or header from ``start``, its value from ``value`` to ``end``."""

    start: int
    value: int
    end: int


class _Stop(Exception):
    """The scan meets something that is not TOML; the strict reader will say what."""


class Source:
    """A TOML text: ``data`` as the standard library reads it, and the place of every key and table."""

    def __init__(self, text: str, name: str = "model", folder: Path | None = None) -> None:
        self.name = name
        self.folder = folder
        self.text = text
        self.spans: dict[Path_, Span] = {}
        #: Headers of tables in order: path and start.
        self.headers: list[tuple[Path_, int]] = []
        if len(text) > MAX_SIZE:
            raise ModelFileError(
                f"{name}: the file has {len(text)} characters, more than {MAX_SIZE}; move tables and meshes to files of their own"
            )
        self._arrays: dict[Path_, int] = {}
        with contextlib.suppress(_Stop):
            self._scan()
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise ModelFileError(f"{name}{_decode_message(str(error), text)}") from None

    @staticmethod
    def read(path: Path) -> Source:
        """The source in a file."""
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for, a device has no end
                raise ModelFileError(f"{path}: the file cannot be read (it is no plain file); check the path")
            if path.stat().st_size > 4 * MAX_SIZE:
                raise ModelFileError(f"{path}: the file has {path.stat().st_size} bytes, more than a model file may have")
            text = path.read_bytes().decode("utf-8")
        except OSError as error:
            raise ModelFileError(f"{path}: the file cannot be read ({error.strerror}); check the path") from None
        except UnicodeDecodeError as error:
            raise ModelFileError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
        return Source(text.replace("\r\n", "\n"), str(path), path.parent)

    # -- places ---------------------------------------------------------------------------------------------------

    def line(self, path: Sequence[str | int]) -> int:
        """The line of the key at ``path``, or of the nearest table around it."""
        p = tuple(path)
        while p and p not in self.spans:
            p = p[:-1]
        return self.text.count("\n", 0, self.spans[p].start) + 1 if p else 1

    def error(self, path: Sequence[str | int], message: str) -> ModelFileError:
        """An error at the place of a key."""
        error = ModelFileError(f"{self.name}, line {self.line(path)}: {message}")
        error.source, error.path = self, tuple(path)
        return error

    def wrap(self, path: Sequence[str | int], what: str, error: JourdainError) -> ModelFileError:
        """An error from deeper down, with its place in front; one that has a place already stays as it is."""
        if isinstance(error, ModelFileError):
            return error
        message, name = str(error), what[what.find("'") :] if "'" in what else what
        return self.error(path, message if not what or what in message or f"{name}:" in message else f"{what}: {message}")

    def block(self, path: Path_) -> tuple[int, int] | None:
        """Start and end of the table at ``path`` with its sub-tables, if it has a header of its own."""
        inside = [(p, at) for p, at in self.headers if p[: len(path)] == path]
        if not inside or inside[0][0] != path:
            return None
        last = self.headers.index(inside[-1])
        end = self.headers[last + 1][1] if last + 1 < len(self.headers) else len(self.text)
        return inside[0][1], end

    # -- the scan -------------------------------------------------------------------------------------------------

    def _scan(self) -> None:
        table: Path_ = ()
        place = self._skip(_BLANK, 0)
        while place < len(self.text):
            if self.text[place] == "[":
                table, place = self._header(place)
            else:
                place = self._pair(place, table, 0)
            place = self._skip(_BLANK, place)

    def _keep(self, path: Path_, span: Span) -> None:
        self.spans.setdefault(path, span)
        if len(self.spans) > MOST_PLACES:
            raise ModelFileError(
                f"{self.name}: the file has more than {MOST_PLACES} keys and entries; move tables and meshes to files of their own"
            )

    def _skip(self, pattern: re.Pattern[str], place: int) -> int:
        match = pattern.match(self.text, place)
        return match.end() if match else place

    def _header(self, start: int) -> tuple[Path_, int]:
        double = self.text.startswith("[[", start)
        keys, place = self._key(start + 1 + double)
        if not self.text.startswith("]]" if double else "]", place):
            raise _Stop
        path: Path_ = ()
        for key in keys[:-1]:
            path = self._inside((*path, key))
        path = (*path, keys[-1])
        if double:
            index = self._arrays.get(path, 0)
            self._arrays[path] = index + 1
            path = (*path, index)
        end = place + 1 + double
        self._keep(path, Span(start, start, end))
        self.headers.append((path, start))
        return path, end

    def _inside(self, path: Path_) -> Path_:
        """An array of tables stands for its last table."""
        return (*path, self._arrays[path] - 1) if path in self._arrays else path

    def _key(self, place: int) -> tuple[list[str], int]:
        keys: list[str] = []
        while True:
            place = self._skip(_SPACE, place)
            if self.text[place : place + 1] in ('"', "'"):
                match = (_STRINGS[2] if self.text[place] == '"' else _STRINGS[3]).match(self.text, place)
                if match is None:
                    raise _Stop
                keys.append(_unquoted(match.group()))
            else:
                match = _BARE.match(self.text, place)
                if match is None:
                    raise _Stop
                keys.append(match.group())
            if len(keys) > MAX_DEPTH:
                line = self.text.count("\n", 0, place) + 1
                raise ModelFileError(f"{self.name}, line {line}: a key of more than {MAX_DEPTH} parts; put names with dots in quotes")
            place = self._skip(_SPACE, match.end())
            if self.text[place : place + 1] != ".":
                return keys, place
            place += 1

    def _pair(self, start: int, table: Path_, depth: int) -> int:
        keys, place = self._key(start)
        if self.text[place : place + 1] != "=":
            raise _Stop
        path = (*table, *keys)
        place = self._skip(_SPACE, place + 1)
        end = self._value(place, path, depth)
        for n in range(len(table) + 1, len(path)):
            self.spans.setdefault(path[:n], Span(start, place, end))
        self._keep(path, Span(start, place, end))
        return end

    def _value(self, place: int, path: Path_, depth: int) -> int:
        if depth > MAX_DEPTH:
            line = self.text.count("\n", 0, place) + 1
            raise ModelFileError(f"{self.name}, line {line}: arrays or tables nested deeper than {MAX_DEPTH}; use fewer levels")
        mark = self.text[place : place + 1]
        if mark == "[":
            return self._array(place, path, depth)
        if mark == "{":
            return self._inline(place, path, depth)
        patterns = _STRINGS if mark in ('"', "'") else (_SCALAR,)
        for pattern in patterns:
            match = pattern.match(self.text, place)
            if match:
                return match.end()
        raise _Stop

    def _array(self, place: int, path: Path_, depth: int) -> int:
        numbers = _NUMBERS.match(self.text, place)
        if numbers is not None and numbers.end() - place > LONG_ARRAY:  # the places of its numbers are not kept
            return numbers.end()
        place = self._skip(_BLANK, place + 1)
        index = 0
        while self.text[place : place + 1] != "]":
            end = self._value(place, (*path, index), depth + 1)
            self._keep((*path, index), Span(place, place, end))
            place = self._skip(_BLANK, end)
            if self.text[place : place + 1] == ",":
                place = self._skip(_BLANK, place + 1)
            elif self.text[place : place + 1] != "]":
                raise _Stop
            index += 1
        return place + 1

    def _inline(self, place: int, path: Path_, depth: int) -> int:
        place = self._skip(_SPACE, place + 1)
        while self.text[place : place + 1] != "}":
            place = self._skip(_SPACE, self._pair(place, path, depth + 1))
            if self.text[place : place + 1] == ",":
                place = self._skip(_SPACE, place + 1)
            elif self.text[place : place + 1] != "}":
                raise _Stop
        return place + 1


def _unquoted(text: str) -> str:
    if text[0] == "'":
        return text[1:-1]
    try:
        return str(tomllib.loads(f"k = {text}")["k"])
    except tomllib.TOMLDecodeError:
        raise _Stop from None


def _decode_message(message: str, text: str) -> str:
    """The strict reader's message with its line in front."""
    match = re.match(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", message, re.DOTALL)
    if match is None:
        return f": this is not TOML: {message}"
    if match.group(2) is None:
        return f", line {text.count(chr(10)) + 1}: this is not TOML: {match.group(1)} (at the end)"
    return f", line {match.group(2)}: this is not TOML: {match.group(1)} (column {match.group(3)})"


__all__ = ["MAX_DEPTH", "MAX_SIZE", "ModelFileError", "Source", "Span"]
