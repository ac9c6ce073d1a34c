"""XML read as plain data: elements that know their line, no entities, no document types, bounded in size."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ..errors import InputError
from ..reals import written

#: Largest file read, in bytes.
MAX_BYTES = 64 * 2**20
#: Largest number of elements in a file.
MAX_ELEMENTS = 1_000_000
#: Deepest nesting of elements.
MAX_DEPTH = 150
#: Largest number taken for a quantity; products of several stay finite.
LARGEST = 1e40


@dataclass
class Element:
    """An element of a file: tag, attributes, children, text, and where it stands."""

    tag: str
    attributes: dict[str, str]
    source: str
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""
    #: The folder of an included file in which it stands.
    folder: Path | None = None
    #: Rules of the file by which its values are read, where they are not those of the file around it.
    settings: Any = None

    # ---- finding --------------------------------------------------------------------------------------------

    def all(self, *tags: str) -> Iterator[Element]:
        """The children with one of the tags, in order."""
        return (c for c in self.children if c.tag in tags)

    def first(self, tag: str) -> Element | None:
        """The first child with a tag."""
        return next(self.all(tag), None)

    def need(self, tag: str) -> Element:
        """The first child with a tag, or an error."""
        found = self.first(tag)
        if found is None:
            raise self.error(f"it has no <{tag}>; add one")
        return found

    # ---- values ---------------------------------------------------------------------------------------------

    def get(self, name: str, default: str | None = None) -> str | None:
        """An attribute as text."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> str:
        """An attribute that must be there and not be empty."""
        found = self.attributes.get(name, "")
        if not found.strip():
            raise self.error(f"the attribute '{name}' is missing or empty")
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute as a finite number."""
        return float(self.numbers(name, 1, None if default is None else (default,))[0])

    def numbers(self, name: str, count: int | None = None, default: Any = None) -> np.ndarray:
        """An attribute as ``count`` finite numbers separated by blanks (any number of them if None)."""
        given = self.attributes.get(name)
        if given is None:
            if default is None:
                raise self.error(f"the attribute '{name}' is missing")
            return np.array(default, dtype=float)
        values = self._parse(given, f'{name}="{given}"')
        if count is not None and len(values) != count:
            raise self.error(f'{name}="{_short(given)}" has {len(values)} numbers; {count} are needed')
        return values

    def content(self) -> str:
        """The text of the element without surrounding blanks."""
        return self.text.strip()

    @property
    def xml(self) -> str:
        """The element as it stands in a file, in one line."""
        attributes = "".join(f" {name}={quoteattr(text)}" for name, text in self.attributes.items())
        return f"<{self.tag}{attributes}>{escape(self.content())}{''.join(c.xml for c in self.children)}</{self.tag}>"

    def value(self) -> float:
        """The text of the element as one finite number."""
        values = self._parse(self.text, f"the content '{_short(self.text.strip())}'")
        if len(values) != 1:
            raise self.error(f"one number is needed, got '{_short(self.text.strip())}'")
        return float(values[0])

    def _parse(self, text: str, what: str) -> np.ndarray:
        try:
            values = np.array([plain_float(word) for word in text.split()], dtype=float)
        except ValueError:
            raise self.error(f"{_short(what)} is not a list of finite numbers (up to {LARGEST:g})") from None
        return values

    # ---- errors ---------------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The element as it is called in messages."""
        name = self.attributes.get("name")
        return f"<{self.tag}>" if name is None else f'<{self.tag} name="{_short(name)}">'

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.source}, line {self.line}"

    @property
    def called(self) -> str:
        """The element in a list of several: its tag with its name, or with what it acts on, or with its line."""
        for key in _NAMING:
            if self.attributes.get(key):
                return f"{self.tag} '{_short(self.attributes[key])}'"
        return f"{self.tag} in line {self.line}"

    def error(self, message: str) -> InputError:
        """An error that names the place and the element."""
        return InputError(f"{self.place}: {self.label}: {message}")


#: Attributes by which an element is known, the first that is there.
_NAMING = ("name", "joint", "joint1", "tendon", "body", "body1", "geom1", "site", "reference", "objname", "class")


def listed(elements: Iterable[Element]) -> str:
    """Elements by name, each once: "motor 'hip', general 'knee'"."""
    return ", ".join(dict.fromkeys(e.called for e in elements))


def plain_float(word: str) -> float:
    """A finite number written in the usual way (no underscores, no nan, no inf, nothing beyond 1e40)."""
    number = written(word)
    if not abs(number) <= LARGEST:
        raise ValueError(word)
    return number


def _short(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[:length] + "…"


def read_xml(source: str | os.PathLike[str] | bytes, expected: tuple[str, ...] = ()) -> tuple[Element, Path | None]:
    """The root element of a file or of XML text, and the file's path (None for text).

    A string is taken for XML text if it begins with "<", otherwise for a path. Document types and entities are
    refused, so nothing outside the file is read and nothing in it can grow.
    """
    data, path = _load(source)
    text = data.lstrip(b" \t\r\n")  # the parser takes no blanks before <?xml …>
    root = _Builder(path.name if path is not None else "text", data[: len(data) - len(text)].count(b"\n")).parse(text)
    if expected and root.tag not in expected:
        raise root.error(f"the root element must be {' or '.join(f'<{t}>' for t in expected)}")
    return root, path


def one_root(reader: str, root: str | os.PathLike[str] | None, folder: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    """The folder that files may come from, whichever of its two words it is given by."""
    if root is not None and folder is not None:
        raise InputError(f"{reader}: folder = {str(folder)!r} is another word for root = {str(root)!r}; give one of them")
    return folder if root is None else root


def _load(source: str | os.PathLike[str] | bytes) -> tuple[bytes, Path | None]:
    if isinstance(source, bytes):
        return _bounded(source, "text"), None
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        try:
            return _bounded(source.lstrip("\ufeff").encode("utf-8"), "text"), None
        except UnicodeEncodeError as error:
            raise InputError(f"text: it cannot be written as UTF-8 ({error.reason})") from None
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"{source!r} is neither a path nor XML text")
    path = Path(source)
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for, a device has no end
            raise InputError(f"the file '{_short(str(source), 200)}' cannot be read (it is no plain file); check the path")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path.name}: the file has {path.stat().st_size} bytes; at most {MAX_BYTES} are read")
        return path.read_bytes(), path
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the file '{_short(str(source), 200)}' cannot be read ({reason}); check the path") from None


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise InputError(f"{name}: it has {len(data)} bytes; at most {MAX_BYTES} are read")
    return data


class _Builder:
    """Builds elements from the events of the parser."""

    def __init__(self, source: str, lines_before: int = 0) -> None:
        self.source, self.before = source, lines_before
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.texts: list[list[str]] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.forbidden
        self.parser.EntityDeclHandler = self.forbidden
        self.parser.ExternalEntityRefHandler = self.forbidden
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    @property
    def line(self) -> int:
        """Where the parser is."""
        return self.before + self.parser.CurrentLineNumber

    def parse(self, data: bytes) -> Element:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, str(error))
            raise InputError(f"{self.source}, line {self.before + error.lineno}: the XML is not well formed ({reason})") from None
        except (LookupError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.source}: the text encoding is not known ({error}); save it as UTF-8") from None
        assert self.root is not None
        return self.root

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        line = self.line
        if self.count > MAX_ELEMENTS:
            raise InputError(f"{self.source}, line {line}: more than {MAX_ELEMENTS} elements are not read")
        if len(self.stack) >= MAX_DEPTH:
            raise InputError(f"{self.source}, line {line}: elements are nested more than {MAX_DEPTH} deep")
        element = Element(tag, attributes, self.source, line)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        self.texts.append([])

    def end(self, tag: str) -> None:
        self.stack.pop().text = "".join(self.texts.pop())

    def characters(self, text: str) -> None:
        if self.texts:
            self.texts[-1].append(text)

    def forbidden(self, *_: Any) -> NoReturn:
        raise InputError(
            f"{self.source}, line {self.line}: document types and entities are refused; "
            "remove the <!DOCTYPE …> and <!ENTITY …> declarations"
        )


__all__ = ["LARGEST", "MAX_BYTES", "MAX_DEPTH", "MAX_ELEMENTS", "Element", "listed", "plain_float", "read_xml"]
