"""Colours as they are written: "#rrggbb", or one of the common names."""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError, nearest

#: Muted as in the pictures' own palette: pure red beside grey steel dazzles.
NAMES = {
    "black": "#22262b", "white": "#f4f5f6", "grey": "#8a929b", "gray": "#8a929b", "silver": "#c3c9d0", "red": "#c8402f", "orange": "#e0853a",
    "yellow": "#e6c229", "gold": "#c9a227", "green": "#3f8f4f", "teal": "#2a8c8c", "cyan": "#3fb5c8", "blue": "#2f6fb5", "navy": "#23406e",
    "purple": "#7a4fa3", "violet": "#9a6fc0", "magenta": "#b8418f", "pink": "#dc8fa8", "brown": "#8a5a36", "beige": "#d8cfc0",
}  # fmt: skip


def colour_code(given: Any, what: str) -> str:
    """A colour as "#rrggbb"."""
    if isinstance(given, str):
        if re.fullmatch(r"#[0-9a-fA-F]{6}", given):
            return given
        if given.lower() in NAMES:
            return NAMES[given.lower()]
    near = nearest(str(given), NAMES)
    hint = f"did you mean '{near[0]}'?" if near else f"names are {', '.join(NAMES)}"
    raise InputError(f"{what}: colour {given!r} is not of the form '#rrggbb', e.g. '#3366cc', nor a known name; {hint}")
