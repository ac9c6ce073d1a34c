"""A model file as text that can be changed in place: values, tables and comments that are not concerned stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import ModelError
from .toml_source import Source, Span
from .toml_writer import key_text, pair_text, table_text, value_text

Path = tuple[str | int, ...]


class TextEditor:
    """Edits of a TOML text by path; each returns the new text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text

    def get(self, path: Path) -> Any:
        """The value at a path."""
        data: Any = self.source.data
        for key in path:
            data = data[key]
        return data

    def has(self, path: Path) -> bool:
        """Whether there is something at a path."""
        data: Any = self.source.data
        for key in path:
            inside = key in data if isinstance(data, dict) else isinstance(data, list) and isinstance(key, int) and key < len(data)
            if not inside:
                return False
            data = data[key]
        return True

    def put(self, path: Path, value: Any) -> str:
        """Sets the value of a key, which may be new."""
        if self.has(path):
            return self._replace(path, value)
        parent = path[:-1]
        if self._has_header(parent):
            return self._insert_line(parent, str(path[-1]), value)
        if not parent or not self.has(parent):
            return self._new_table(parent, {str(path[-1]): value})
        table = self.get(parent)
        if not isinstance(table, dict) or parent not in self.source.spans:
            raise self._by_hand(path)
        return self._replace(parent, {**table, path[-1]: value})

    def add_table(self, path: Path, table: Mapping[str, Any]) -> str:
        """A new table with a header of its own, after the last of its section."""
        return self._new_table(path, table)

    def remove(self, path: Path) -> str:
        """Takes away a key or a table."""
        bounds = self._block(path)
        if bounds is not None:
            start, end = bounds
            return _joined(self.text[:start], self.text[end:])
        span = self._span(path)
        parent = path[:-1]
        if not self._is_line(span):
            table = self.get(parent)
            if isinstance(table, dict):
                return self._replace(parent, {k: v for k, v in table.items() if k != path[-1]})
            entries = [self.source.spans.get((*parent, i)) for i in range(len(table))]
            if len(table) < 2 or None in entries:
                return self._replace(parent, [v for i, v in enumerate(table) if i != path[-1]])
            i = int(path[-1])
            places = [e for e in entries if e is not None]
            first, last = (span.start, places[i + 1].start) if i + 1 < len(places) else (places[i - 1].end, span.end)
            return self.text[:first] + self.text[last:]
        start = self.text.rfind("\n", 0, span.start) + 1
        end = self.text.find("\n", span.end)
        return self.text[:start] + ("" if end < 0 else self.text[end + 1 :])

    # -- inside ---------------------------------------------------------------------------------------------------

    def _span(self, path: Path) -> Span:
        if path not in self.source.spans:
            raise self._by_hand(path)
        return self.source.spans[path]

    def _by_hand(self, path: Path) -> ModelError:
        place = ".".join(map(str, path))
        return self.source.error(path, f"'{place}' is written in a way that is not changed by command; edit the file by hand")

    def _has_header(self, path: Path) -> bool:
        return any(p == path for p, _ in self.source.headers)

    def _is_line(self, span: Span) -> bool:
        """Whether a pair stands alone on its lines."""
        before = self.text[self.text.rfind("\n", 0, span.start) + 1 : span.start]
        end = self.text.find("\n", span.end)
        after = self.text[span.end : len(self.text) if end < 0 else end]
        return not before.strip() and (not after.strip() or after.strip().startswith("#"))

    def _replace(self, path: Path, value: Any) -> str:
        if self._has_header(path):
            raise self._by_hand(path)
        text = self.text
        for start, end, new in sorted(self._edits(path, self.get(path), value), reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def _edits(self, path: Path, old: Any, new: Any) -> Iterator[tuple[int, int, str]]:
        """Pieces of the text to replace, as few as possible: comments between the entries of an array stay."""
        span = self._span(path)
        entries = [(*path, i) for i in range(len(old))] if isinstance(old, list) else []
        if not (isinstance(old, list) and isinstance(new, list) and old and new and all(p in self.source.spans for p in entries)):
            if old != new or type(old) is not type(new):
                yield span.value, span.end, value_text(new)
            return
        ends = [self.source.spans[p].end for p in entries]
        for place, before, after in zip(entries, old, new, strict=False):
            yield from self._edits(place, before, after)
        if len(new) < len(old):
            yield ends[len(new) - 1], ends[-1], ""
        elif len(new) > len(old):
            yield ends[-1], ends[-1], "".join(f", {value_text(x)}" for x in new[len(old) :])

    def _insert_line(self, table: Path, key: str, value: Any) -> str:
        """A new line after the last pair of a table."""
        starts = [at for p, at in self.source.headers if p == table]
        end = self.source.spans[table].end
        after = min((at for _, at in self.source.headers if at > starts[-1]), default=len(self.text))
        for path, span in self.source.spans.items():
            if path[:-1] == table and starts[-1] < span.start < after:
                end = max(end, span.end)
        stop = self.text.find("\n", end)
        stop = len(self.text) if stop < 0 else stop
        return self.text[:stop] + "\n" + pair_text(key, value).rstrip("\n") + self.text[stop:]

    def _new_table(self, path: Path, table: Mapping[str, Any]) -> str:
        keys = tuple(str(p) for p in path)
        if not keys:
            first = min((at for _, at in self.source.headers), default=len(self.text))
            lines = "".join(pair_text(k, v) for k, v in table.items())
            head = self.text[:first].rstrip("\n")
            return (head + "\n" if head else "") + lines + ("\n" if self.text[first:] else "") + self.text[first:]
        if isinstance(path[-1], int):
            text = f"[[{'.'.join(key_text(k) for k in keys[:-1])}]]\n" + "".join(pair_text(k, v) for k, v in table.items())
        else:
            text = table_text(keys, table)
        blocks = [self._block(p) for p, _ in self.source.headers if p[0] == path[0]]
        at = max((b[1] for b in blocks if b is not None), default=len(self.text))
        return _joined(_joined(self.text[:at], text), self.text[at:])

    def _block(self, path: Path) -> tuple[int, int] | None:
        """Bounds of a table with its header and the comment right above it."""
        found = self.source.block(path)
        if found is None:
            return None
        start, end = self._above(found[0]), found[1]
        return start, self._above(end) if end < len(self.text) else end

    def _above(self, place: int) -> int:
        """The start of the comment lines directly above a place."""
        start = self.text.rfind("\n", 0, place) + 1
        while start > 0:
            before = self.text.rfind("\n", 0, start - 1) + 1
            if not self.text[before : start - 1].strip().startswith("#"):
                break
            start = before
        return start


def _joined(head: str, tail: str) -> str:
    """Two pieces of a file with one empty line between them."""
    head, tail = head.rstrip("\n"), tail.lstrip("\n")
    if not head or not tail:
        return (head or tail).rstrip("\n") + "\n"
    return f"{head}\n\n{tail}"


__all__ = ["TextEditor"]
