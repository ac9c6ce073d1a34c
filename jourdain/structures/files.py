"""Structures from files and to files (NPZ).  Files are only read: nothing in them is run."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from .dofs import Array
from .field import MassField
from .structure import Interface, Structure

#: No file larger than this is read.
MOST_BYTES = 8 * 1024**3
FORMAT = "jourdain structure 1"


def read(path: str | Path, name: str | None = None) -> Structure:
    """A structure from a file ``.npz`` (of :meth:`Structure.save`)."""
    file = existing(path)
    if file.suffix.lower() != ".npz":
        raise InputError(f"{path}: a structure is read from .npz")
    return read_npz(file, name or file.stem)


def existing(path: str | Path) -> Path:
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if file.stat().st_size > MOST_BYTES:
        raise InputError(f"{file}: it has {file.stat().st_size / 1024**3:.1f} GB, more than the {MOST_BYTES // 1024**3} GB that are read")
    return file


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def save_npz(part: Structure, path: str | Path) -> None:
    """Writes a structure with its field of mass, names, sets and interfaces; element types are not kept."""
    arrays, words = structure_arrays(part)
    write_npz(path, arrays, words)


def write_npz(path: str | Path, arrays: dict[str, Any], words: dict[str, Any]) -> None:
    np.savez_compressed(path, words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8), **arrays)


def structure_arrays(part: Structure) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of a structure by name, and its words."""
    arrays: dict[str, Any] = {"nodes": part.nodes, "dofs": np.column_stack([part.dofs.nodes, part.dofs.components])}
    for key, matrix in (("M", part.M), ("K", part.K), ("C", part.damping)):
        if matrix is not None:
            arrays |= sparse_arrays(key, matrix)
    arrays |= (
        {"field.positions": part.field.positions}
        | sparse_arrays("field.shape", part.field.shape)
        | sparse_arrays("field.weights", part.field.weights)
    )
    if part.field.remainder is not None:
        arrays |= sparse_arrays("field.remainder", part.field.remainder)
    words: dict[str, Any] = {"format": FORMAT, "name": part.name, "names": part.names, "sets": sorted(part.sets), "interfaces": []}
    for k, key in enumerate(sorted(part.sets)):
        arrays[f"set{k}"] = part.sets[key]
    for k, i in enumerate(part.interfaces.values()):
        words["interfaces"].append({"name": i.name, "kind": i.kind})
        arrays |= {
            f"interface{k}.nodes": i.nodes,
            f"interface{k}.position": i.position,
            f"interface{k}.rotation": i.rotation,
            f"interface{k}.weights": i.weights,
        }
    return arrays, words


def sparse_arrays(key: str, matrix: sp.sparray) -> dict[str, Array]:
    coo = sp.coo_array(matrix)
    return {f"{key}.row": coo.coords[0], f"{key}.column": coo.coords[1], f"{key}.value": coo.data, f"{key}.shape": np.array(coo.shape)}


def sparse_from(found: Any, key: str) -> sp.csc_array:
    shape = tuple(int(n) for n in found[f"{key}.shape"])
    return sp.csc_array(sp.coo_array((found[f"{key}.value"], (found[f"{key}.row"], found[f"{key}.column"])), shape=shape))


def read_npz(path: Path, name: str) -> Structure:
    """A structure that :meth:`Structure.save` wrote, or arrays "nodes", "M", "K" (dense) and perhaps "dofs" of one's own."""
    with opened(path) as found:
        return structure_from(found, path, name)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The arrays of a file, without pickles; whatever goes wrong on the way is an error of the file."""
    try:
        with np.load(path, allow_pickle=False) as found:
            yield found
    except InputError:
        raise
    except (
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        MemoryError,
    ) as error:
        missing = f"{error.args[0]}" if isinstance(error, KeyError) and error.args else first_line(error)
        raise InputError(f"{path}: it is no file of a structure ({missing})") from None


def structure_from(found: Any, path: Path, name: str) -> Structure:
    if "words" not in found:
        return Structure(found["nodes"], found["M"], found["K"], found["dofs"].tolist() if "dofs" in found else None, name=name)
    words = json.loads(bytes(found["words"]).decode())
    if words.get("format") != FORMAT:
        raise InputError(f"{path}: its format is '{words.get('format')}'; this version reads '{FORMAT}'")
    nodes, pairs = found["nodes"], found["dofs"].astype(np.int64)
    M = sparse_from(found, "M")
    remainder = sparse_from(found, "field.remainder") if "field.remainder.row" in found else None
    field = MassField(
        found["field.positions"], sp.csr_array(sparse_from(found, "field.shape")), sparse_from(found, "field.weights"), remainder
    )
    if field.shape.shape != (3 * len(field.positions), len(pairs)) or field.weights.shape[0] != len(field.positions):
        raise InputError(f"{path}: its field of mass does not fit its degrees of freedom")
    part = Structure(
        nodes,
        M,
        sparse_from(found, "K"),
        [(int(i), int(c)) for i, c in pairs],
        damping=sparse_from(found, "C") if "C.row" in found else None,
        field=field,
        names={str(k): int(v) for k, v in words["names"].items()},
        sets={key: found[f"set{k}"] for k, key in enumerate(words["sets"])},
        name=str(words["name"]),
    )
    for k, i in enumerate(words["interfaces"]):
        data = [found[f"interface{k}.{x}"] for x in ("nodes", "position", "rotation", "weights")]
        part.interfaces[i["name"]] = Interface(i["name"], data[0].astype(np.int64), i["kind"], *data[1:])
    check_numbers(part, path)
    return part


def check_numbers(part: Structure, path: Path) -> None:
    """Names, sets and interfaces must speak of nodes that there are."""
    known = len(part.nodes)
    told = {f"name '{n}'": np.array([i]) for n, i in part.names.items()} | {f"set '{n}'": s for n, s in part.sets.items()}
    for what, numbers in told.items():
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= known):
            raise InputError(f"{path}: {what} speaks of node {int(numbers.max())}, but nodes go from 0 to {known - 1}")
    for i in part.interfaces.values():
        if (
            not len(i.nodes)
            or i.nodes.min() < 0
            or i.nodes.max() >= known
            or i.kind not in ("rigid", "average")
            or i.weights.shape != i.nodes.shape
        ):
            raise InputError(f"{path}: interface '{i.name}' does not fit the nodes")
