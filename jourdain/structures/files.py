"""Structures from files and to files: NPZ, Matrix Market, CalculiX decks.  Files are only read: nothing in them is run."""

from __future__ import annotations

import json
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..errors import InputError
from .field import MassField
from .parts.dofs import Array
from .parts.sections import Material
from .parts.solids import solid
from .reduced import Point, ReducedStructure
from .second_order import Fields
from .structure import Interface, Structure

#: No file larger than this is read.
MOST_BYTES = 8 * 1024**3
#: No matrix has more rows.
MOST_ROWS = 10**8
FORMAT = "jourdain structure 1"
#: Cells of meshes that become elements, with their numbers of nodes.
CELLS = {"tetra": 4, "tetra10": 10, "hexahedron": 8, "hexahedron20": 20}
LENGTHS = {"m": 1.0, "mm": 1e-3}


def read(
    path: str | Path,
    matrices: str | Path | None = None,
    nodes: str | Path | ArrayLike | None = None,
    dofs: object = None,
    material: Material | None = None,
    units: str | None = None,
    name: str | None = None,
) -> Structure:
    """A structure from a file.

    Args:
        path: ``.npz`` (of :meth:`Structure.save`), ``.inp`` (CalculiX, Abaqus), the stiffness matrix as Matrix Market ``.mtx``, or a mesh that
            meshio knows.
        matrices: ``.inp``: the job whose ``.sti``, ``.mas`` and ``.dof`` to take (without, elements of our own are made of the mesh);
            ``.mtx``: the mass matrix.
        nodes: ``.mtx``: positions, an array or a text or ``.npy`` file of them. dofs: ``.mtx``: as of :class:`Structure`.
        material: of a mesh, or of an ``.inp`` without one. units: "m" (SI) or "mm" (millimetre, tonne, second, newton); asked where a deck looks like millimetres.
    """
    file = existing(path)
    suffix = file.suffix.lower()
    title = name or file.stem
    if suffix == ".npz":
        return read_npz(file, title)
    if suffix == ".inp":
        from .calculix import read_calculix

        return read_calculix(file, matrices, material, units, title)
    if suffix == ".mtx":
        return read_matrix_market(file, matrices, nodes, dofs, title)
    return read_mesh(file, material, units, title)


def read_mesh(path: Path, material: Material | None, units: str | None, name: str) -> Structure:
    """Elements of our own on a mesh in any format that meshio knows."""
    try:
        import meshio  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise InputError(
            f"{path}: a structure is read from .npz, .inp or .mtx; for meshes such as '{path.suffix}' install meshio (pip install meshio)"
        ) from None
    if material is None:
        raise InputError(f"{path}: a mesh has no material; give material=")
    if units not in (None, *LENGTHS):
        raise InputError(f"{path}: units = '{units}' are unknown; there are {', '.join(LENGTHS)}")
    try:
        mesh = meshio.read(path)
    except (meshio.ReadError, SystemExit, ValueError, KeyError, IndexError, OSError) as error:
        raise InputError(f"{path}: meshio cannot read it ({first_line(error)})") from None
    kinds = [kind for kind in CELLS if kind in mesh.cells_dict]
    if len(kinds) != 1:
        raise InputError(f"{path}: it has {', '.join(mesh.cells_dict) or 'no cells'}; exactly one of {', '.join(CELLS)} is needed")
    used, table = np.unique(mesh.cells_dict[kinds[0]], return_inverse=True)
    return solid(LENGTHS[units or "m"] * mesh.points[used], table.reshape(-1, CELLS[kinds[0]]), material, name=name)


def existing(path: str | Path) -> Path:
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if file.stat().st_size > MOST_BYTES:
        raise InputError(f"{file}: it has {file.stat().st_size / 1024**3:.1f} GB, more than the {MOST_BYTES // 1024**3} GB that are read")
    return file


# Matrix Market


def read_matrix_market(path: Path, mass: str | Path | None, nodes: Any, dofs: object, name: str) -> Structure:
    """K from a Matrix Market file, M and the nodes' positions from others."""
    if mass is None or nodes is None:
        raise InputError(f"{path}: a stiffness matrix alone is no structure; give matrices= (the mass matrix, .mtx) and nodes= (positions)")
    return Structure(positions_from(nodes), matrix_market(existing(mass)), matrix_market(path), dofs, name=name)


def matrix_market(path: Path) -> sp.csc_array:
    """A real sparse or dense matrix in Matrix Market's text; written out here, because a reader in C must not see files of strangers unchecked."""
    with path.open(errors="replace") as file:
        head = file.readline(200).lower().split()
        if (
            head[:2] != ["%%matrixmarket", "matrix"]
            or len(head) != 5
            or head[2] not in ("coordinate", "array")
            or head[3] not in ("real", "integer")
        ):
            raise InputError(f"{path}: it is no Matrix Market file of a real matrix")
        line = "%"
        while line.startswith("%"):
            line = file.readline(1000)
        rows, columns, *rest = counts(line, path)
        symmetric = head[4] == "symmetric"
        if head[2] == "coordinate":
            found = table(file, path, 3)
            if len(rest) != 1 or len(found) != rest[0]:
                raise InputError(
                    f"{path}: it has {len(found)} entries, but its head says {rest[0] if rest else 'nothing'}; was the file cut off?"
                )
            i, j, value = found[:, 0], found[:, 1], found[:, 2]
        else:
            column, row = (
                np.meshgrid(np.arange(1, columns + 1), np.arange(1, rows + 1), indexing="ij")
                if rows * columns < 1e8
                else (np.zeros(0), np.zeros(0))
            )
            keep = (row >= column).ravel() if symmetric else np.ones(row.size, dtype=bool)
            i, j = row.ravel()[keep], column.ravel()[keep]
            value = table(file, path, 1)[:, 0]
            if len(value) != len(i):
                raise InputError(f"{path}: it has {len(value)} entries, but its head asks for {len(i)}; was the file cut off?")
    return sparse_from_triples(path, i, j, value, (rows, columns), symmetric)


def digits(text: str) -> bool:
    """Whether a text is a whole number in plain figures."""
    return text.isascii() and text.isdigit() and len(text) < 19


def counts(line: str, path: Path) -> list[int]:
    words = line.split()
    if len(words) not in (2, 3) or not all(digits(w) and len(w) < 10 for w in words):
        raise InputError(f"{path}: '{line.strip()[:60]}' is no size of a matrix")
    return [int(w) for w in words]


def table(source: Any, path: Path, columns: int) -> Array:
    """Rows of numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an empty table is refused below
            found = np.loadtxt(source, ndmin=2)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: its rows are not {columns} numbers each ({first_line(error)}); was the file cut off?") from None
    if found.size == 0 or found.shape[1] != columns:
        raise InputError(f"{path}: its rows are not {columns} numbers each; was the file cut off?")
    return found


def sparse_from_triples(path: Path, i: Array, j: Array, value: Array, shape: tuple[int, int], symmetric: bool) -> sp.csc_array:
    """A matrix from rows, columns (from 1) and values; of a symmetric one a triangle is given."""
    if len(i) and not (
        np.isfinite(i).all() and np.isfinite(j).all() and i.min() >= 1 and j.min() >= 1 and i.max() <= shape[0] and j.max() <= shape[1]
    ):
        raise InputError(f"{path}: it has entries outside its {shape[0]} rows and {shape[1]} columns; are the files of one run?")
    row, column = i.astype(np.int64) - 1, j.astype(np.int64) - 1
    given = sp.csc_array(sp.coo_array((value, (row, column)), shape=shape))
    if not symmetric:
        return given
    off = row != column
    return sp.csc_array(given + sp.coo_array((value[off], (column[off], row[off])), shape=shape[::-1]))


def positions_from(nodes: Any) -> Array:
    if not isinstance(nodes, str | Path):
        return np.asarray(nodes, float)
    file = existing(nodes)
    try:
        return (
            np.load(file, allow_pickle=False)
            if file.suffix == ".npy"
            else np.loadtxt(file, delimiter="," if file.suffix == ".csv" else None, ndmin=2)
        )
    except (ValueError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: it is no table of positions ({first_line(error)})") from None


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# NPZ


def save_npz(part: Structure, path: str | Path) -> None:
    """Writes a structure with its field of mass, names, sets and interfaces; element types are not kept."""
    arrays, words = structure_arrays(part)
    write_npz(path, arrays, words)


def write_npz(path: str | Path, arrays: dict[str, Any], words: dict[str, Any]) -> None:
    from ..results.whole_file import make_whole

    named = path if str(path).endswith(".npz") else f"{path}.npz"
    make_whole(named, lambda file: np.savez_compressed(file, words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8), **arrays))


def structure_arrays(part: Structure) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of a structure by name, and its words."""
    arrays: dict[str, Any] = {"nodes": part.nodes, "dofs": np.column_stack([part.dofs.nodes, part.dofs.components])}
    for key, matrix in (("M", part.M), ("K", part.K), ("C", part.damping)):
        if matrix is not None:
            arrays |= sparse_arrays(key, matrix)
    if part.field_known:
        arrays |= {"field.positions": part.field.positions}
        for key, matrix in (("shape", part.field.shape), ("weights", part.field.weights), ("remainder", part.field.remainder)):
            if matrix is not None:
                arrays |= sparse_arrays(f"field.{key}", matrix)
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


# reduced structures

#: Arrays of a reduced structure, with their shapes in m coordinates.
RECORD = {
    "s0": "3", "s1": "3m", "J0": "33", "J1": "m33", "J2": "mm33", "D0": "3m", "D1": "m3m",
    "M_ee": "mm", "stiffness": "mm", "damping": "mm",
}  # fmt: skip
#: Arrays of a point, and of bodies and points with terms of second order.
POINT = {"position": "3", "rotation": "33", "phi_t": "3m", "phi_r": "3m"}
FIELDS = {"c": "k", "rho0": "k3", "rho1": "k3m", "rho2": "k3mm"}
SECOND, POINT_SECOND = {"s2": "3mm", "M1": "mmm"}, {"psi_t": "3mm", "psi_r": "3mm"}


def save_reduced(body: ReducedStructure, path: str | Path) -> None:
    """Writes a reduced structure with the part it comes from; element types are not kept."""
    arrays, words = structure_arrays(body.part)
    words["reduced"] = {"frame": body.frame, "kind": body.kind, "names": body.names, "mass": body.mass, "points": []}
    for key in (*RECORD, *(k for k in SECOND if getattr(body, k) is not None), "shapes", "conditions"):
        arrays[f"reduced.{key}"] = getattr(body, key)
    if body.fields is not None:
        arrays |= {f"fields.{key}": getattr(body.fields, key) for key in FIELDS}
    for k, p in enumerate(body.points.values()):
        words["reduced"]["points"].append({"name": p.name, "turns": bool(p.turns)})
        arrays |= {f"point{k}.{key}": x for key in (*POINT, *POINT_SECOND) if (x := getattr(p, key)) is not None}
    write_npz(path, arrays, words)


def read_reduced(path: str | Path) -> ReducedStructure:
    """A reduced structure from a file of :meth:`ReducedStructure.save`."""
    file = existing(path)
    with opened(file) as found:
        part = structure_from(found, file, file.stem)
        words = json.loads(bytes(found["words"]).decode()).get("reduced") if "words" in found else None
        if words is None:
            raise InputError(f"{file}: it is a structure that is not reduced; read it by jd.structures.read and reduce it")
        m, n = len(words["names"]), len(part.dofs)

        def arrays(of: str, letters: dict[str, str]) -> dict[str, Array]:
            for key, letter in letters.items():
                shape = tuple({"m": m, "n": n, "k": len(found["fields.c"]) if "fields.c" in found else 0}.get(c, 3) for c in letter)
                if found[f"{of}.{key}"].shape != shape:
                    raise InputError(f"{file}: '{of}.{key}' has the shape {found[f'{of}.{key}'].shape}, not {shape}")
            return {key: found[f"{of}.{key}"] for key in letters}

        def kept(of: str, letters: dict[str, str]) -> dict[str, str]:
            return {key: letter for key, letter in letters.items() if f"{of}.{key}" in found}

        points = {}
        for k, p in enumerate(words["points"]):
            data = arrays(f"point{k}", POINT | kept(f"point{k}", POINT_SECOND))
            points[str(p["name"])] = Point(name=str(p["name"]), turns=bool(p["turns"]), **data)  # type: ignore[arg-type]
        record = arrays("reduced", RECORD | {"shapes": "nm"} | kept("reduced", SECOND)) | {"conditions": found["reduced.conditions"]}
        return ReducedStructure(
            name=part.name,
            frame=str(words["frame"]),
            kind=str(words["kind"]),
            names=[str(x) for x in words["names"]],
            mass=float(words["mass"]),
            points=points,
            part=part,
            fields=Fields(**arrays("fields", FIELDS)) if "fields.c" in found else None,
            **record,
        )


def sparse_arrays(key: str, matrix: sp.sparray) -> dict[str, Array]:
    coo = sp.coo_array(matrix)
    return {f"{key}.row": coo.coords[0], f"{key}.column": coo.coords[1], f"{key}.value": coo.data, f"{key}.shape": np.array(coo.shape)}


def sparse_from(found: Any, key: str) -> sp.csc_array:
    shape = tuple(int(n) for n in found[f"{key}.shape"])
    if len(shape) != 2 or max(shape) > MOST_ROWS:
        raise ValueError(f"'{key}' of shape {shape}")
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
        RuntimeError,  # of an archive that damage has made encrypted or of an unknown kind
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
    field = field_from(found, path, len(pairs)) if "field.positions" in found else None
    part = Structure(
        nodes,
        sparse_from(found, "M"),
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


def field_from(found: Any, path: Path, size: int) -> MassField:
    """Where the mass is."""
    positions = found["field.positions"]
    shape, weights = sparse_from(found, "field.shape"), sparse_from(found, "field.weights")
    remainder = sparse_from(found, "field.remainder") if "field.remainder.row" in found else None
    fits = shape.shape == (3 * len(positions), size) and weights.shape == (len(positions),) * 2 and positions.shape == (len(positions), 3)
    if not fits or (remainder is not None and remainder.shape != (size, size)):
        raise InputError(f"{path}: its field of mass does not fit its degrees of freedom")
    return MassField(positions, sp.csr_array(shape), weights, remainder)


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
