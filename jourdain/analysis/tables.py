"""Writing small tables of analyses: columns of numbers under names, as CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

File = str | os.PathLike[str]


def write_columns(path: File, columns: Mapping[str, Any]) -> None:
    """Columns of equal length as CSV with a header; complex ones become two, ``name.re`` and ``name.im``."""
    flat: dict[str, Any] = {}
    for name, column in columns.items():
        values = np.asarray(column)
        if np.iscomplexobj(values):
            flat[f"{name}.re"], flat[f"{name}.im"] = values.real, values.imag
        else:
            flat[name] = values
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(flat)
        writer.writerows(zip(*(list(c.tolist()) for c in flat.values()), strict=True))
