"""Records of measurements: files, tables, arrays or solutions, as columns over time in SI units."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, JourdainError, nearest
from ...model.units import DimensionError, convert, unit
from ...reals import written
from ...results.solution import Solution

#: Names of the column of time; a unit in brackets may follow any name, "angle [deg]".
TIME = ("t", "time", "time_s", "t_s")
_UNIT = re.compile(r"^(.*?)\s*[\[(]([^\])]*)[\])]\s*$")
#: Units that the end of a name may mean, "angle_deg"; others ("x_in", "x_min") mean something else as often.
ENDINGS = ("deg", "mrad", "um", "mm", "cm", "km", "us", "ms", "mN", "kN", "MN", "rpm", "kPa", "MPa", "bar", "kg", "g")


@dataclass(frozen=True, eq=False)
class Record:
    """One experiment: for each column its own instants and values; gaps are left out."""

    name: str
    times: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]
    notes: Sequence[str] = ()

    @property
    def span(self) -> tuple[float, float]:
        """First and last instant."""
        return min(float(t[0]) for t in self.times.values()), max(float(t[-1]) for t in self.times.values())


def records_of(data: Any, columns: Mapping[str, str], units: Mapping[str, str], gaps: str) -> list[Record]:
    """Experiments: one, or a list of them.  ``units`` are those that columns must have, by column."""
    if gaps not in ("refuse", "skip"):
        raise InputError(f"identify: gaps = '{gaps}' is unknown; use 'refuse' or 'skip'")
    several = isinstance(data, Sequence) and not isinstance(data, (str, Solution))
    given = list(data) if several else [data]
    if not given:
        raise InputError("identify: there is no record; give a file, a table, arrays by name or a solution, or a list of these")
    return [_record(one, f"record {k}" if several else "the record", columns, units, gaps) for k, one in enumerate(given, 1)]


def _record(data: Any, what: str, columns: Mapping[str, str], units: Mapping[str, str], gaps: str) -> Record:
    name, table = _table(data, what)
    found = {}
    for key, values in table.items():
        match = _UNIT.match(key)
        short = match[1] if match else key
        if short in found and (short in columns or short.lower() in TIME):
            raise InputError(f"{name}: there are two columns '{short}'; give each a name of its own")
        found[short] = (_numbers(values), match[2] if match else None)
    clock = next((n for n in found if n.lower() in TIME), None) or next((n for n in found if _ending(n, "s") and n[:-3] in TIME), None)
    if clock is None:
        raise InputError(f"{name}: there is no column of time ({', '.join(TIME)}); it has {', '.join(found)}")
    notes: list[str] = []
    t = _in_unit(*_read_so(found.pop(clock), clock, "s", notes), "s", name, clock)
    times, values = {}, {}
    for column in columns:
        if column not in found:
            near = nearest(column, found, 1)
            raise InputError(
                f"{name}: there is no column '{column}'; " + (f"did you mean {near[0]}?" if near else f"it has {', '.join(found)}")
            )
        wanted = units.get(column, "")
        y = _in_unit(*_read_so(found[column], column, wanted, notes), wanted, name, column)
        times[column], values[column] = _checked(t, y, name, column, gaps)
    return Record(name, times, values, tuple(notes))


def _ending(name: str, wanted: str) -> str | None:
    """The unit at the end of a name, "angle_deg", where it is another one of what is wanted."""
    end = name.rpartition("_")[2]
    if end == name or end not in ENDINGS or not wanted:
        return None
    return end if unit(end).dimension == unit(wanted).dimension and unit(end).si != end else None


def _read_so(
    column: tuple[np.ndarray | None, str | None], name: str, wanted: str, notes: list[str]
) -> tuple[np.ndarray | None, str | None]:
    """A column with its unit; where it gives none, that at the end of its name."""
    values, own = column
    end = _ending(name, wanted) if own is None else None
    if end is not None:
        notes.append(f"column '{name}' is read in {end}, as its name ends; '{name.rpartition('_')[0]} [{wanted}]' would be in {wanted}")
    return values, own or end


def _numbers(values: Any) -> np.ndarray | None:
    """A column of numbers; None of notes and other texts."""
    try:
        return np.asarray(values, dtype=float).ravel()
    except (TypeError, ValueError):
        return None


def _in_unit(values: np.ndarray | None, own: str | None, wanted: str, name: str, column: str) -> np.ndarray:
    """Values in the unit that is wanted, in SI where none is known; a column without a unit is taken as it is."""
    if values is None:
        raise InputError(f"{name}: column '{column}' has entries that are no numbers")
    if own is None:
        return values
    try:
        return convert(values, own, wanted or unit(own).si)
    except DimensionError as error:
        raise InputError(
            f"{name}: column '{column}' is in {own}, which is no unit of what it is compared with ({wanted}): {error}"
        ) from None
    except (JourdainError, ValueError) as error:
        raise InputError(f"{name}: column '{column}' is in '{own}', which is no unit: {error}") from None


def _checked(t: np.ndarray, y: np.ndarray, name: str, column: str, gaps: str) -> tuple[np.ndarray, np.ndarray]:
    if t.shape != y.shape:
        raise InputError(f"{name}: column '{column}' has {y.size} values for {t.size} instants")
    whole = np.isfinite(t) & np.isfinite(y)
    if not whole.all() and gaps == "refuse":
        first = int(np.argmin(whole))
        raise InputError(
            f"{name}: column '{column}' has {int((~whole).sum())} gaps, the first at t = {t[first]:g} s; fill them, or leave them out with gaps='skip'"
        )
    t, y = t[whole], y[whole]
    if t.size < 2:
        raise InputError(f"{name}: column '{column}' has {t.size} values; a fit needs at least 2")
    back = np.flatnonzero(np.diff(t) <= 0)
    if back.size:
        raise InputError(f"{name}: time does not grow after t = {t[back[0]]:g} s (row {back[0] + 2}); sort the rows")
    return t, y


def _table(data: Any, what: str) -> tuple[str, dict[str, Any]]:
    """The name of a record and its columns."""
    if isinstance(data, (str, os.PathLike)):
        return f"record '{Path(data).name}'", _read(Path(data))
    if isinstance(data, Solution):
        return what, {"t": data.t, **{n: data[n] for n in data.names if np.ndim(data[n]) == 1}}
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        columns = {str(n): data[n] for n in (data if isinstance(data, Mapping) else data.columns)}
        if (
            not any(_UNIT.sub(r"\1", n).lower() in TIME for n in columns)
            and str(getattr(getattr(data, "index", None), "name", "")).lower() in TIME
        ):
            columns["t"] = data.index
        return what, columns
    raise InputError(f"identify: {what} is a {type(data).__name__}; give a csv file, a table (pandas), arrays by name, or a solution")


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(line for line in file if not line.startswith("#")) if row]
    except (OSError, UnicodeError) as error:
        raise InputError(f"identify: '{path}' cannot be read: {error}") from None
    if len(rows) < 3:
        raise InputError(f"record '{path.name}': a line of names and at least two of numbers are needed; it has {len(rows)} lines")
    head = [n.strip() for n in rows[0]]
    twice = [n for k, n in enumerate(head) if n in head[:k]]
    if any(twice):
        raise InputError(f"record '{path.name}': there are two columns '{next(filter(None, twice))}'; give each a name of its own")
    table = np.full((len(rows) - 1, len(head)), np.nan)
    for i, row in enumerate(rows[1:]):
        if len(row) != len(head):
            raise InputError(f"record '{path.name}': line {i + 2} has {len(row)} entries, the line of names {len(head)}")
        for j, text in enumerate(row):
            if text.strip() and text.strip().lower() not in ("nan", "na"):
                try:
                    table[i, j] = written(text)
                except ValueError:
                    raise InputError(f"record '{path.name}': line {i + 2}, column '{head[j]}': '{text}' is no number") from None
    return dict(zip(head, table.T, strict=True))


__all__ = ["Record", "records_of"]
