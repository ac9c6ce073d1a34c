"""Solutions to and from other libraries' tables, and to the flat table of scalar columns that CSV and Parquet hold."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.errors import InputError, JourdainError, short
from jourdain.results.channel import Array, component_names
from jourdain.results.events import EventTable
from jourdain.results.solution import Solution

if TYPE_CHECKING:
    import pandas
    import xarray


class MissingExtraError(JourdainError, ImportError):
    """A library that this file format or table needs is not installed; the message says how to install it."""


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """The imported module, or an error that names the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        remedy = f'pip install "jourdain[{extra}]"'
        raise MissingExtraError(f"{purpose} needs {package}, which is not installed: {remedy}") from error


def columns(sol: Solution, *patterns: str) -> dict[str, Array]:
    """Scalar columns (nt,) by name, vector channels split into components "rod.force[0]" …"""
    table: dict[str, Array] = {}
    for name in sol.names(*patterns):
        values = sol[name]
        flat = values.reshape(len(sol), int(np.prod(values.shape[1:])))
        table |= dict(zip(component_names(name, values.shape[1:]), flat.T, strict=True))
    return table


def assemble(table: Mapping[str, Array], name: str, shape: tuple[int, ...], length: int) -> Array:
    """The channel (nt, *shape) whose scalar components are columns of ``table``."""
    parts = [np.asarray(table[column]) for column in component_names(name, shape)]
    return np.stack(parts, axis=1).reshape(length, *shape) if parts else np.zeros((length, *shape))


def to_pandas(sol: Solution, *patterns: str) -> pandas.DataFrame:
    """A DataFrame indexed by time "t" with scalar columns; ``.attrs`` holds units and metadata."""
    pd = need("pandas", "files", "to_pandas")
    frame = pd.DataFrame(columns(sol, *patterns), index=pd.Index(sol.t, name="t"))
    units = {column: sol.channel(column).unit for column in frame.columns}
    frame.attrs = {"units": units, "metadata": sol.metadata, "statistics": sol.statistics, "events": sol.events.plain()}
    return frame


def from_pandas(frame: pandas.DataFrame, units: Mapping[str, str] | None = None) -> Solution:
    """A solution from a table indexed by time (s) or with a column "t"; units by column name."""
    if not hasattr(frame, "columns") or not hasattr(frame, "index"):
        raise InputError(f"from_pandas: {short(frame)} is no table; give a pandas.DataFrame")
    if "t" in frame.columns:
        frame = frame.set_index("t")
    known = dict(frame.attrs.get("units", {})) | dict(units or {})
    scalars = [str(name) for name in frame.columns if "[" not in str(name)]
    channels = {name: (frame[name].to_numpy(), known.get(name, "")) for name in scalars}
    for name in sorted({str(name).partition("[")[0] for name in frame.columns} - set(scalars)):
        parts = [str(column) for column in frame.columns if str(column).startswith(f"{name}[")]
        indices = [tuple(map(int, part[len(name) + 1 : -1].split(","))) for part in parts]
        shape = tuple(max(axis) + 1 for axis in zip(*indices, strict=True))
        channels[name] = (assemble(frame, name, shape, len(frame)), known.get(parts[0], ""))
    return Solution(
        frame.index.to_numpy(float),
        channels,
        frame.attrs.get("metadata"),
        frame.attrs.get("statistics"),
        events=EventTable.of(frame.attrs.get("events", {})),
    )


def to_xarray(sol: Solution, *patterns: str) -> xarray.Dataset:
    """A Dataset over the coordinate "t"; vector channels get dimensions "name_0", "name_1"; units are attributes."""
    xr = need("xarray", "files", "to_xarray")
    variables: dict[str, Any] = {}
    for name in sol.names(*patterns):
        channel = sol.channel(name)
        dimensions = ("t", *(f"{name}_{axis}" for axis in range(channel.values.ndim - 1)))
        variables[name] = (dimensions, channel.values, {"units": channel.unit, "long_name": channel.description})
    return xr.Dataset(variables, {"t": ("t", sol.t, {"units": "s"})}, attrs=dict(sol.metadata))
