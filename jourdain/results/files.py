"""Solutions in files: NumPy .npz, Parquet, HDF5, CSV and MATLAB .mat, all without loss.

Every file holds the same header (JSON text): format name and version, metadata, statistics, which channel is whose
derivative, the events, and for each channel its unit, description, sample shape and type. The arrays are stored in the format's own
way, so other programs can read them without Jourdain. No format here can run code when it is read.

The header ends with a digest of itself and of every number, so that a damaged file is never read as other numbers.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jourdain.errors import InputError
from jourdain.results import metadata
from jourdain.results.channel import Array, Channel
from jourdain.results.events import EventTable
from jourdain.results.exchange import assemble, columns, need
from jourdain.results.solution import Solution
from jourdain.results.whole_file import unwritten, whole_file

FORMAT = "jourdain-solution"
#: Version 2 has a digest.
VERSION = 2
#: Numbers of a .npz above which they are stored as they are.
LARGE = 1_000_000
_HEADER = "jourdain_header"
_DAMAGED = "not a complete Jourdain result: cut short or another kind of file; write it again with sol.save(…)"
_CHANGED = f"{_DAMAGED} (it was changed since it was written)"
_TYPES = ("float64", "int64", "bool")
#: Kinds of NumPy types that a file may keep numbers in.
_KINDS = "fiub"
#: The largest header of a .npz (of the whole file and of one array, bytes).
_MOST_HEADER, _MOST_NPY_HEADER = 2**29, 2**16

Header = dict[str, Any]
Arrays = Mapping[str, Array]


class ResultFileError(InputError):
    """A result file is damaged, cut short, of another kind, or of a newer version."""


class ResultFileNotFoundError(ResultFileError, FileNotFoundError):
    """There is no result file at that path."""


def header(sol: Solution) -> Header:
    """What a file says about the solution, besides the arrays."""
    described = []
    for name in sol.names:
        channel = sol.channel(name)
        described.append({
            "name": name, "unit": channel.unit, "description": channel.description,
            "shape": list(channel.values.shape[1:]), "type": str(channel.values.dtype),
        })  # fmt: skip
    head = {
        "format": FORMAT, "version": VERSION, "samples": len(sol), "channels": described,
        "derivatives": sol.derivatives, "metadata": sol.metadata, "statistics": sol.statistics, "events": sol.events.plain(),
    }  # fmt: skip
    return head | {"digest": _digest_of(head, sol)}


def _digest_of(head: Header, sol: Solution) -> str:
    """SHA-256 of the header's text and of all numbers; every NaN counts as the same."""
    digest = hashlib.sha256(metadata.dumps({key: value for key, value in head.items() if key != "digest"}).encode())
    for values in (sol.t, *(sol[name] for name in sol.names)):
        plain = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        if plain.dtype.kind == "f" and np.isnan(plain).any():
            plain = np.where(np.isnan(plain), np.nan, plain)
        digest.update(plain.tobytes())
    return digest.hexdigest()


def check_header(head: Any) -> Header:
    """The header if it is one that this version understands."""
    if not isinstance(head, dict) or head.get("format") != FORMAT or not isinstance(head.get("version"), int):
        raise ResultFileError(f"{_DAMAGED} (no header)")
    if head["version"] > VERSION:
        raise ResultFileError(f"written in format version {head['version']}, newer than {VERSION}: pip install --upgrade jourdain")
    for channel in head["channels"]:
        name, kind, shape = channel["name"], channel["type"], channel["shape"]
        if kind not in _TYPES or not all(isinstance(n, int) and 0 <= n < 2**31 for n in shape):
            raise ResultFileError(f"{_DAMAGED} (channel {name!r} has type {kind!r} and shape {shape})")
    if not isinstance(head["samples"], int) or head["samples"] < 0:
        raise ResultFileError(f"{_DAMAGED} ({head['samples']!r} samples)")
    check_room(sum(_sizes(head).values()))
    return head


def build(head: Header, t: Array, arrays: Callable[[str], Array]) -> Solution:
    """The solution described by a header, with the arrays fetched by channel name."""
    samples = head["samples"]
    times = _numbers("t", t).astype(float).reshape(-1)
    if times.size != samples:
        raise ResultFileError(f"{_DAMAGED} ({times.size} of {samples} samples)")
    channels = {}
    for channel in head["channels"]:
        values = _numbers(channel["name"], arrays(channel["name"])).reshape(samples, *channel["shape"]).astype(channel["type"])
        channels[channel["name"]] = Channel(values, channel["unit"], channel["description"])
    sol = Solution(
        times, channels, head["metadata"], head["statistics"], derivatives=head["derivatives"], events=EventTable.of(head.get("events", {}))
    )
    if (head["version"] > 1 or "digest" in head) and head.get("digest") != _digest_of(head, sol):
        raise ResultFileError(_CHANGED)
    return sol


def _numbers(name: str, values: Any) -> Array:
    """An array of a file if it holds real numbers: NumPy would make some of texts, too, and lose imaginary parts."""
    found = np.asarray(values)
    if found.dtype.kind not in _KINDS:
        raise ResultFileError(f"{_DAMAGED} ({name!r} holds no real numbers but {found.dtype})")
    return found


def check_room(size: int) -> None:
    """Refuses what is larger than the machine's memory before any of it is read."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**40
    if size > most:
        raise ResultFileError(f"its arrays take {size / 2**30:.3g} GB, more than the {most / 2**30:.3g} GB of memory of this machine")


# -- npz -------------------------------------------------------------------------------------------------------------


def _write_npz(sol: Solution, path: Path) -> None:
    text = np.frombuffer(metadata.dumps(header(sol)).encode(), np.uint8)
    large = len(sol) * len(sol.names) > LARGE  # numbers hardly shrink, and that takes longer than many a run
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if large else zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, values in ({_HEADER: text, "t": sol.t} | {name: sol[name] for name in sol.names}).items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(values), allow_pickle=False)


def _read_npz(path: Path) -> Solution:
    with zipfile.ZipFile(path) as archive:
        sizes = {member.filename.removesuffix(".npy"): member.file_size for member in archive.infolist()}
    check_room(sum(sizes.values()))
    if sizes[_HEADER] > _MOST_HEADER:
        raise ResultFileError(f"{_DAMAGED} (a header of {sizes[_HEADER]} bytes)")
    with np.load(path, allow_pickle=False) as archive:
        head = check_header(metadata.loads(archive[_HEADER].tobytes().decode()))
        for name, size in _sizes(head).items():
            if sizes[name] > size + _MOST_NPY_HEADER:  # zeros shrink to a thousandth
                raise ResultFileError(f"{_DAMAGED} ('{name}' takes {sizes[name]} bytes, and {size} by the header)")
        return build(head, archive["t"], archive.__getitem__)


def _sizes(head: Header) -> dict[str, int]:
    """Bytes of all arrays by name, as the header tells them."""
    samples = head["samples"]
    return {"t": 8 * samples} | {c["name"]: samples * math.prod(c["shape"]) * np.dtype(c["type"]).itemsize for c in head["channels"]}


# -- Parquet ---------------------------------------------------------------------------------------------------------


def _write_parquet(sol: Solution, path: Path) -> None:
    pa, pq = need("pyarrow", "files", ".parquet"), need("pyarrow.parquet", "files", ".parquet")
    table = {"t": sol.t} | columns(sol)
    fields = [
        pa.field(name, pa.from_numpy_dtype(values.dtype), nullable=False, metadata={"unit": sol.channel(name).unit})
        for name, values in table.items()
    ]
    schema = pa.schema(fields, metadata={_HEADER: metadata.dumps(header(sol))})
    arrays = [pa.array(np.ascontiguousarray(values), from_pandas=False) for values in table.values()]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, compression="zstd", write_page_checksum=True)


def _read_parquet(path: Path) -> Solution:
    pq = need("pyarrow.parquet", "files", ".parquet")
    promised = pq.read_metadata(path)
    check_room(8 * promised.num_rows * promised.num_columns)
    for field in promised.schema.to_arrow_schema():  # a text that is there once may be said a million times
        if str(field.type) not in ("double", "int64", "bool"):
            raise ResultFileError(f"{_DAMAGED} ({field.name!r} holds no numbers but {field.type})")
    table = pq.read_table(path, memory_map=False, page_checksum_verification=True)
    known = {**(promised.metadata or {}), **(table.schema.metadata or {})}  # what grew in pieces has it behind its rows
    head = check_header(metadata.loads(known[_HEADER.encode()].decode()))
    flat = {name: table[name].to_numpy() for name in table.column_names}
    return build(head, flat["t"], _assembler(head, flat))


def _assembler(head: Header, flat: Arrays) -> Callable[[str], Array]:
    shapes = {channel["name"]: tuple(channel["shape"]) for channel in head["channels"]}
    return lambda name: assemble(flat, name, shapes[name], head["samples"])


# -- HDF5 ------------------------------------------------------------------------------------------------------------


_HDF5_PACKING: dict[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
#: Size of the block before the HDF5 data that holds their digest: HDF5's own library can run forever on damaged files.
_HDF5_BLOCK = 512
_HDF5_MARK = b"jourdain sha256 "


def _write_hdf5(sol: Solution, path: Path) -> None:
    h5py = need("h5py", "files", ".h5")
    # in memory: HDF5's own library crashes when a disk is full
    with h5py.File(path.name, "w", driver="core", backing_store=False) as file:
        file.attrs["format"], file.attrs["version"] = FORMAT, VERSION
        file.create_dataset(_HEADER, data=metadata.dumps(header(sol)))
        file.create_dataset("t", data=sol.t).attrs["unit"] = "s"
        group = file.create_group("channels")
        for name in sol.names:
            channel = sol.channel(name)
            packing = _HDF5_PACKING if channel.values.size > 1000 else {}
            data = group.create_dataset(name, data=channel.values, **packing)
            data.attrs["unit"], data.attrs["description"] = channel.unit, channel.description
        file.flush()
        image = file.id.get_file_image()
    digest = hashlib.sha256(image).hexdigest().encode()
    path.write_bytes((_HDF5_MARK + digest).ljust(_HDF5_BLOCK, b"\0") + image)


def _digest(file: io.BufferedReader | io.BufferedRandom) -> bytes:
    """Digest of all that follows the first block; the file is left at its start."""
    file.seek(_HDF5_BLOCK)
    found = hashlib.file_digest(file, "sha256").hexdigest().encode()
    file.seek(0)
    return found


def _read_hdf5(path: Path) -> Solution:
    h5py = need("h5py", "files", ".h5")
    with open(path, "rb") as file:
        expected = _HDF5_MARK + _digest(file)
        if file.read(_HDF5_BLOCK).rstrip(b"\0") != expected:
            raise ResultFileError(_CHANGED)
    with h5py.File(path, "r") as file:
        head = check_header(metadata.loads(_own(h5py, file, _HEADER).asstr()[()]))
        sizes = {c["name"]: head["samples"] * math.prod(c["shape"]) for c in head["channels"]}
        t = _own(h5py, file, "t", head["samples"])[()]
        return build(head, t, lambda name: _own(h5py, file, f"channels/{name}", sizes[name])[()])


#: Filters of HDF5 itself (gzip, shuffle, checksum): others would be looked for in shared libraries.
_HDF5_FILTERS = (1, 2, 3)


def _own(h5py: Any, file: Any, path: str, size: int = 1) -> Any:
    """A dataset of the file with so many entries, unless it or what leads to it is in another file: a result never reads what it does not
    contain.
    """
    place = file
    for word in path.split("/"):
        if not isinstance(place, h5py.Group) or not isinstance(place.get(word, getlink=True), h5py.HardLink):
            raise ResultFileError(f"{_DAMAGED} ({path!r} points elsewhere, perhaps to another file)")
        place = place[word]
    if not isinstance(place, h5py.Dataset) or place.external or place.is_virtual:
        raise ResultFileError(f"{_DAMAGED} ({path!r} has its numbers in another file)")
    created = place.id.get_create_plist()
    if any(created.get_filter(i)[0] not in _HDF5_FILTERS for i in range(created.get_nfilters())):
        raise ResultFileError(f"{_DAMAGED} ({path!r} is packed by a filter that results do not use)")
    if place.size != size:
        raise ResultFileError(f"{_DAMAGED} ({path!r} has {place.size} entries instead of {size})")
    if path == _HEADER:
        if h5py.check_string_dtype(place.dtype) is None or place.dtype.itemsize > _MOST_HEADER:
            raise ResultFileError(f"{_DAMAGED} (its header is no text)")
    elif place.dtype.kind not in _KINDS:
        raise ResultFileError(f"{_DAMAGED} ({path!r} holds no real numbers but {place.dtype})")
    elif size and not place.id.get_storage_size():
        raise ResultFileError(f"{_DAMAGED} ({path!r} has a size and no numbers)")
    return place


# -- CSV -------------------------------------------------------------------------------------------------------------

_CSV_END = "# end"


def _write_csv(sol: Solution, path: Path) -> None:
    table = {"t": sol.t} | columns(sol)
    # repr of a float is the shortest text that reads back to the same bits
    texts = [map(repr, (x.astype(np.int64) if x.dtype.kind == "b" else x).tolist()) for x in table.values()]
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {FORMAT} {VERSION}\n# {metadata.dumps(header(sol))}\n")
        csv.writer(file, lineterminator="\n").writerow(table)
        file.writelines(",".join(row) + "\n" for row in zip(*texts, strict=True))
        file.write(_CSV_END + "\n")


def _read_csv(path: Path) -> Solution:
    with open(path, newline="", encoding="utf-8") as file:
        first, second = file.readline(), file.readline()
        if not first.startswith(f"# {FORMAT}"):
            raise ResultFileError(f"{_DAMAGED} (no header)")
        head = check_header(metadata.loads(second[1:]))
        names = next(csv.reader([file.readline()]))
        body = file.read()
    if not body.endswith(_CSV_END + "\n"):
        raise ResultFileError(f"{_DAMAGED} (the last line is missing)")
    kinds = {channel["name"]: channel["type"] for channel in head["channels"]} | {"t": "float64"}
    types = [np.float64 if kinds[name.partition("[")[0]] == "float64" else np.int64 for name in names]
    rows = body[: -len(_CSV_END) - 1]
    record = np.dtype([(f"f{i}", kind) for i, kind in enumerate(types)])
    data = np.loadtxt(io.StringIO(rows), record, delimiter=",", ndmin=1) if rows else np.zeros(0, record)
    flat = {name: data[f"f{i}"] for i, name in enumerate(names)}
    return build(head, flat["t"], _assembler(head, flat))


# -- MATLAB ----------------------------------------------------------------------------------------------------------


def _matlab_names(names: list[str]) -> dict[str, str]:
    """Names that MATLAB accepts: letters, digits, underscores, beginning with a letter, unique, at most 63 long."""
    given: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^0-9A-Za-z_]", "_", name)[:50]
        stem = stem if stem[:1].isalpha() and stem.lower() not in ("t", _HEADER) else f"c_{stem}"
        short, count = stem, 1
        while short in given.values():
            count += 1
            short = f"{stem}_{count}"
        given[name] = short
    return given


#: The 116 letters with which a .mat file begins are free text; they hold the digest of what follows, for SciPy's reader can crash on damaged files.
_MAT_TEXT = 116
_MAT_MARK = b"MATLAB 5.0 MAT-file, jourdain sha256 "


def _write_mat(sol: Solution, path: Path) -> None:
    from scipy.io import savemat

    short = _matlab_names(list(sol.names))
    contents: dict[str, Any] = {_HEADER: metadata.dumps(header(sol)), "t": sol.t}
    contents |= {short[name]: sol[name] for name in sol.names}
    image = io.BytesIO()
    savemat(image, contents, long_field_names=True, do_compression=True, oned_as="column")
    path.write_bytes(_mat_text(image.getvalue()) + image.getvalue()[_MAT_TEXT:])


def _mat_text(image: bytes) -> bytes:
    return (_MAT_MARK + hashlib.sha256(image[_MAT_TEXT:]).hexdigest().encode()).ljust(_MAT_TEXT)


def _read_mat(path: Path) -> Solution:
    from scipy.io import loadmat, whosmat

    image = path.read_bytes()
    if image[:_MAT_TEXT] != _mat_text(image):
        raise ResultFileError(_CHANGED)
    promised = whosmat(io.BytesIO(image))
    check_room(sum(8 * math.prod(shape) for _, shape, _ in promised))
    for name, _, kind in promised:
        if kind not in (("char",) if name == _HEADER else ("double", "int64", "logical")):
            raise ResultFileError(f"{_DAMAGED} ({name!r} holds no numbers but {kind})")
    contents = loadmat(io.BytesIO(image))
    head = check_header(metadata.loads(str(contents[_HEADER].item())))
    short = _matlab_names([channel["name"] for channel in head["channels"]])
    return build(head, contents["t"], lambda name: contents[short[name]])


# -- by suffix -------------------------------------------------------------------------------------------------------

_FORMATS: dict[str, tuple[Callable[[Solution, Path], None], Callable[[Path], Solution]]] = {
    ".npz": (_write_npz, _read_npz),
    ".parquet": (_write_parquet, _read_parquet),
    ".h5": (_write_hdf5, _read_hdf5),
    ".hdf5": (_write_hdf5, _read_hdf5),
    ".csv": (_write_csv, _read_csv),
    ".mat": (_write_mat, _read_mat),
}


def _format(path: Path) -> tuple[Callable[[Solution, Path], None], Callable[[Path], Solution]]:
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        known = ", ".join(_FORMATS)
        raise InputError(f"file {str(path)!r}: suffix {path.suffix!r} is unknown; use one of {known}") from None


def _path(given: str | os.PathLike[str]) -> Path:
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"{given!r} is no file name; give one such as 'run.npz'")
    return Path(given)


def save_solution(sol: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution to a file whose suffix says the format; an interrupted write leaves an older file untouched."""
    target = _path(path)
    write = _format(target)[0]
    if not target.parent.is_dir():
        raise InputError(f"file {str(target)!r}: folder {str(target.parent)!r} does not exist; create it first")
    try:
        with whole_file(target) as temporary:
            write(sol, temporary)
    except OSError as error:
        raise ResultFileError(str(unwritten(target, error))) from error


def load_solution(path: str | os.PathLike[str]) -> Solution:
    """Read a solution written by ``sol.save(path)``: .npz, .parquet, .h5, .csv or .mat.

    The dense output and frame provider of the run are not in files: keep frames with ``sol.with_frames(…)``.
    """
    source = _path(path)
    read = _format(source)[1]
    if not source.is_file():
        raise ResultFileNotFoundError(f"file {str(source)!r} does not exist in {os.getcwd()!r}; check the path")
    try:
        return read(source)
    except ImportError:
        raise
    except PermissionError as error:
        raise ResultFileError(f"file {str(source)!r} cannot be read ({error.strerror or error}); check the rights to it") from error
    except MemoryError as error:
        raise ResultFileError(f"file {str(source)!r}: its arrays do not fit into memory ({error or 'no memory left'})") from error
    except ResultFileError as error:
        raise ResultFileError(f"file {str(source)!r}: {error}") from None
    except Exception as error:  # each library has its own errors for damaged files, down to bare TypeError
        raise ResultFileError(f"file {str(source)!r}: {_DAMAGED} ({str(error) or type(error).__name__})") from error
