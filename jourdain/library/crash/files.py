"""Scenarios from files: devices, trains and what happens to them as a table of data."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, nearest
from ...model.model import Model
from ...model.values import number
from .buffers import contact_device, draft_gear, hydraulic_buffer
from .crush import crush_device
from .device import Device
from .scenarios import SCENARIOS
from .trains import Train, train

#: Kinds of devices in files.
KINDS = {"crush": crush_device, "hydraulic": hydraulic_buffer, "draft_gear": draft_gear, "contact": contact_device}
#: What of a scenario is a train or a device.
TRAINS, DEVICES = ("train", "first", "second", "moving", "standing"), ("stop", "front")
LARGEST = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """A model, how long it runs (s), and how it is measured."""

    model: Model
    duration: float
    window: Any = "30 ms"
    seat: Any = 0.75


def crash_scenario(source: str | Path | Mapping[str, Any]) -> Scenario:
    """A scenario from a TOML file or from its table.

    ``[devices.NAME]`` has the options of a kind (``kind = "crush"`` unless given, "hydraulic", "draft_gear", "contact"), ``[trains.NAME]`` those of
    :func:`train` with devices by name, and ``[scenario]`` a ``kind`` ("head_on", "truck", "buffer_stop", "wagon_into_wagons", "barrier"), its options
    with trains and devices by name, ``duration``, ``window`` and ``seat``.
    """
    name, data = ("scenario", source) if isinstance(source, Mapping) else _read(Path(source))
    _known(data, ("devices", "trains", "scenario"), name)
    devices: dict[str, Device] = {}
    for key, row in _tables(data, "devices", name):
        given = dict(row)
        kind = given.pop("kind", "crush")
        if kind not in KINDS:
            raise InputError(f"{name}: device '{key}': kind '{kind}' is unknown; there are {', '.join(KINDS)}")
        devices[key] = _call(KINDS[kind], {"name": key, **given}, f"{name}: device '{key}'")
    trains: dict[str, Train] = {}
    for key, row in _tables(data, "trains", name):
        given = {"name": key, **row}
        for word in ("front", "inside"):
            if word in given:
                given[word] = _named(devices, given[word], f"{name}: train '{key}': {word}")
        if "couplers" in given:
            couplers = given["couplers"]
            found = [
                _named(devices, d, f"{name}: train '{key}': couplers") for d in ([couplers] if isinstance(couplers, str) else couplers)
            ]
            given["couplers"] = found[0] if isinstance(couplers, str) else found
        trains[key] = _call(train, given, f"{name}: train '{key}'")
    given = dict(data.get("scenario", {}))
    kind = given.pop("kind", None)
    if kind not in SCENARIOS:
        raise InputError(f"{name}: [scenario] kind = {kind!r} is unknown; there are {', '.join(SCENARIOS)}")
    run = {word: given.pop(word) for word in ("window", "seat") if word in given}
    duration = number(given.pop("duration", 0.8), f"{name}: duration", "s")
    for word in [w for w in given if w in TRAINS]:
        given[word] = _named(trains, given[word], f"{name}: [scenario] {word}")
    for word in [w for w in given if w in DEVICES]:
        given[word] = _named(devices, given[word], f"{name}: [scenario] {word}")
    return Scenario(_call(SCENARIOS[kind], given, f"{name}: [scenario]"), duration, **run)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: a scenario of more than {LARGEST} bytes is not read")
        return path.name, tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from None


def _tables(data: Mapping[str, Any], word: str, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    rows = data.get(word, {})
    if not isinstance(rows, Mapping) or not all(isinstance(row, Mapping) for row in rows.values()):
        raise InputError(f"{name}: [{word}] must be tables [{word}.NAME]")
    return list(rows.items())


def _named(there: Mapping[str, Any], key: Any, what: str) -> Any:
    if key not in there:
        near = nearest(str(key), list(there), 1)
        raise InputError(
            f"{what}: '{key}' is not in the file; " + (f"did you mean '{near[0]}'?" if near else f"there are {', '.join(there) or 'none'}")
        )
    return there[key]


def _known(given: Mapping[str, Any], known: tuple[str, ...] | list[str], what: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(f"{what}: '{key}' is unknown; there are {', '.join(known)}")


def _call(function: Any, given: Mapping[str, Any], what: str) -> Any:
    """A function with options from a file: those that it has, and all that it needs."""
    parameters = inspect.signature(function).parameters
    _known(given, list(parameters), what)
    lacking = [p.name for p in parameters.values() if p.default is p.empty and p.name not in given]
    if lacking:
        raise InputError(f"{what}: '{lacking[0]}' is missing")
    try:
        return function(**given)
    except TypeError as error:
        raise InputError(f"{what}: {error}") from None


__all__ = ["Scenario", "crash_scenario"]
