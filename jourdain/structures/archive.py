"""A structure in one file of arrays (.npz): written by :func:`save`, read by :func:`load`; nothing in it is ever run."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from .beams import BeamElements
from .dofs import Dofs
from .field import MassField
from .sections import Material, Section
from .structure import Interface, Structure

FORMAT = "jourdain structure 1"
#: Most bytes of a file, unpacked.
LARGEST = 4_000_000_000
_BEAM = tuple(f.name for f in fields(BeamElements) if f.name not in ("sections", "material"))

Arrays = dict[str, Any]


def save(part: Structure, path: str | Path) -> Path:
    """Writes nodes, degrees of freedom, matrices, where the mass is, names, sets, interfaces and beam elements."""
    target = Path(path)
    if target.suffix != ".npz":
        raise InputError(f"{part.name}: a structure is kept in a file of the kind .npz, not '{target.name}'")
    data: Arrays = {"format": FORMAT, "name": part.name, "nodes": part.nodes, "dofs": np.stack([part.dofs.nodes, part.dofs.components])}
    f = part.field
    matrices = {"M": part.M, "K": part.K, "damping": part.damping}
    matrices |= {"field.shape": f.shape, "field.weights": f.weights, "field.remainder": f.remainder}
    for name, matrix in matrices.items():
        if matrix is not None:
            data |= _taken_apart(name, sp.csc_array(matrix))
    data["field.positions"] = f.positions
    data["names"] = np.array(list(part.names), dtype=str)
    data["names.nodes"] = np.array(list(part.names.values()), dtype=np.int64)
    for group, items in (("sets", part.sets), ("interfaces", part.interfaces)):
        data[group] = np.array(list(items), dtype=str)
    data |= {f"sets.{i}": nodes for i, nodes in enumerate(part.sets.values())}
    for i, interface in enumerate(part.interfaces.values()):
        data |= {f"interfaces.{i}.{k}": getattr(interface, k) for k in ("nodes", "kind", "position", "rotation", "weights")}
    beams = [g for g in part.elements if isinstance(g, BeamElements)]
    if len(beams) < len(part.elements):
        strange = next(type(g).__name__ for g in part.elements if not isinstance(g, BeamElements))
        raise InputError(f"{part.name}: elements of the type {strange} cannot be kept in a file yet; describe the part by its generator")
    data["beams"] = len(beams)
    for i, bars in enumerate(beams):
        data |= {f"beams.{i}.{k}": getattr(bars, k) for k in _BEAM}
        data[f"beams.{i}.sections"] = np.array([[astuple(s) for s in pair] for pair in bars.sections], dtype=float)
        data[f"beams.{i}.material"] = np.array(astuple(bars.material))
    with target.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **data)
    part.recipe = {"kind": "file", "file": target, "digest": digest(target)}
    return target


def load(path: str | Path) -> Structure:
    """Reads what :func:`save` wrote."""
    source = Path(path)
    try:
        with zipfile.ZipFile(source) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > LARGEST:
            raise InputError(f"'{source.name}' holds {size} bytes, more than {LARGEST}")
        with np.load(source, allow_pickle=False) as file:
            data = {name: file[name] for name in file.files}
        if str(data.get("format")) != FORMAT:
            raise InputError(f"'{source.name}' is no structure of this program; its format is {str(data.get('format'))[:40]!r}")
        part = _structure(data)
    except OSError as error:
        raise InputError(f"'{source.name}' cannot be read ({error.strerror or error})") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, KeyError, ValueError, IndexError, TypeError, EOFError) as error:
        raise InputError(f"'{source.name}' is no file of a structure ({error}); write it with part.save(...)") from None
    part.recipe = {"kind": "file", "file": source, "digest": digest(source)}
    return part


def digest(path: str | Path) -> str:
    """A hash of a file's content."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def _structure(data: Mapping[str, Any]) -> Structure:
    nodes, size = data["nodes"], len(data["dofs"][0])
    field = MassField(
        np.asarray(data["field.positions"], dtype=float),
        sp.csr_array(_put_together("field.shape", data)),
        _put_together("field.weights", data),
        _put_together("field.remainder", data) if "field.remainder.data" in data else None,
    )
    if field.shape.shape != (3 * len(field.positions), size):
        raise ValueError("where the mass is does not fit the degrees of freedom")
    rows, components = np.asarray(data["dofs"], dtype=np.int64)
    dofs = Dofs(rows, components, len(nodes))
    if size and (dofs.nodes.min() < 0 or dofs.nodes.max() >= len(nodes) or dofs.components.min() < 0 or dofs.components.max() > 5):
        raise ValueError("degrees of freedom name nodes or components that there are not")
    part = Structure(
        nodes, _put_together("M", data), _put_together("K", data), dofs,
        damping=_put_together("damping", data) if "damping.data" in data else None, field=field,
        elements=[_beams(data, i) for i in range(int(data["beams"]))],
        names={str(n): int(i) for n, i in zip(data["names"], data["names.nodes"], strict=True)},
        sets={str(n): data[f"sets.{i}"] for i, n in enumerate(data["sets"])}, name=str(data["name"]),
    )  # fmt: skip
    for i, name in enumerate(map(str, data["interfaces"])):
        numbers, kind, position, rotation, weights = (
            data[f"interfaces.{i}.{k}"] for k in ("nodes", "kind", "position", "rotation", "weights")
        )
        part.interfaces[name] = Interface(name, numbers, str(kind), position, rotation, weights)
    used = [*part.names.values(), *np.concatenate([[0], *part.sets.values(), *(i.nodes for i in part.interfaces.values())]).tolist()]
    if min(used) < 0 or max(used) >= len(nodes):
        raise ValueError("names, sets or interfaces name nodes that there are not")
    return part


def _beams(data: Mapping[str, Any], i: int) -> BeamElements:
    sections = tuple((_section(a), _section(b)) for a, b in data[f"beams.{i}.sections"])
    material = Material(*(float(x) for x in data[f"beams.{i}.material"]))
    return BeamElements(**{k: data[f"beams.{i}.{k}"] for k in _BEAM}, sections=sections, material=material)


def _section(numbers: Any) -> Section:
    given: dict[str, Any] = {f.name: float(x) for f, x in zip(fields(Section), numbers, strict=True)}
    return Section(**given | {"round": bool(given["round"])})


def _taken_apart(name: str, matrix: sp.csc_array) -> Arrays:
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name}.{k}": v for k, v in parts.items()}


def _put_together(name: str, data: Mapping[str, Any]) -> sp.csc_array:
    values, indices, indptr, shape = (data[f"{name}.{k}"] for k in ("data", "indices", "indptr", "shape"))
    matrix = sp.csc_array((values, indices, indptr), shape=tuple(int(n) for n in shape))
    matrix.check_format(full_check=True)
    return matrix


__all__ = ["digest", "load", "save"]
