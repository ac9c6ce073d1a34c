"""Tables as plain text: columns as wide as their widest cell."""

from __future__ import annotations

from collections.abc import Sequence


def in_columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of cells, one a line, columns apart by two spaces; those with a number in ``right`` stand at the right.

    >>> print(in_columns([("t [s]", "event"), ("0.5", "bounce")], right=[0]))
    t [s]  event
      0.5  bounce
    """
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(r, width, strict=True))).rstrip() for r in rows
    )


__all__ = ["in_columns"]
