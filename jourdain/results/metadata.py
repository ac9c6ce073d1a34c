"""Metadata as plain JSON data: what may go in, and text that any language can read back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jourdain.errors import InputError

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MAX_DEPTH = 50


def plain(value: Any, where: str = "metadata", depth: int = 0) -> Any:
    """The value as plain data (dict, list, str, int, float, bool, None); arrays and tuples become lists.

    >>> plain({"rtol": np.float64(1e-6), "order": (2, 5)})
    {'rtol': 1e-06, 'order': [2, 5]}
    """
    if depth > _MAX_DEPTH:
        raise InputError(f"{where}: nested deeper than {_MAX_DEPTH} levels; flatten it")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist(), where, depth + 1)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        if bad := [key for key in value if not isinstance(key, str)]:
            raise InputError(f"{where}: key {bad[0]!r} is not text; metadata is kept as JSON, so use text keys")
        return {key: plain(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise InputError(f"{where}: {type(value).__name__} {value!r} is not plain data; give numbers, text, lists or dicts")


def dumps(value: Any, where: str = "metadata") -> str:
    """Strict JSON text (ASCII); numbers that JSON lacks are written {"$float": "nan" | "inf" | "-inf"}."""
    return json.dumps(_encode(plain(value, where)), allow_nan=False, ensure_ascii=True, separators=(",", ":"))


def loads(text: str) -> Any:
    """The plain data written by :func:`dumps`."""
    return json.loads(text, object_hook=_decode)


def _encode(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")}
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    return [_encode(item) for item in value] if isinstance(value, list) else value


def _decode(value: dict[str, Any]) -> Any:
    if list(value) == ["$float"] and isinstance(value["$float"], str):
        return _NOT_FINITE.get(value["$float"], value)
    return value
