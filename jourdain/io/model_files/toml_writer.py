"""Nested data to TOML text: one way to write everything, so that equal data give equal bytes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from .expression_writer import number_text

WIDTH = 118
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def key_text(key: str) -> str:
    """A key, in quotes where TOML needs them.

    >>> key_text("crank"), key_text("hinge.angle")
    ('crank', '"hinge.angle"')
    """
    return key if _BARE.match(key) else string_text(key)


def string_text(text: str) -> str:
    """A text in quotes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the text {text!r} is not valid Unicode and cannot be written") from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value_text(value: Any, indent: int = 0) -> str:
    """A value in line; lists that are too long for a line are broken."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            raise InputError("a file cannot hold a number that is not a number (nan)")
        return number_text(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in value.items()) + "}"
    items = [value_text(v) for v in value]
    line = "[" + ", ".join(items) + "]"
    if len(line) + indent <= WIDTH or len(items) < 2:
        return line
    return "[\n" + _filled(items) + "]"


def _filled(items: list[str]) -> str:
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH and line.strip():
            lines.append(line)
            line = "   "
        line += f" {item},"
    lines.append(line)
    return "\n".join(lines) + "\n"


def pair_text(key: str, value: Any) -> str:
    """A line "key = value"."""
    left = f"{key_text(key)} = "
    return left + value_text(value, len(left)) + "\n"


def table_text(path: tuple[str, ...], table: Mapping[str, Any]) -> str:
    """A table with its header."""
    return f"[{'.'.join(key_text(p) for p in path)}]\n" + "".join(pair_text(k, v) for k, v in table.items())


__all__ = ["key_text", "pair_text", "string_text", "table_text", "value_text"]
