"""The motion of a flexible body for ParaView: a series of VTU files (VTK's unstructured grids) with its list of times (.pvd).

Points are the nodes of the structure where they are in the world at each time.  They carry the elastic displacement and, where nodes have
them, rotations (world axes); elements carry what their operators give: section forces, stresses (the share of the modes).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import numpy as np

from ..errors import InputError
from ..model.elastic.flexible import FlexibleBody
from ..results.whole_file import write_whole

if TYPE_CHECKING:
    from ..results.solution import Solution
    from ..structures import ReducedStructure, Structure
    from ..systems.assembled.flexible.parts import Part

#: VTK's numbers of cells by the nodes of an element, in the plane and in space.
PLANE = {2: 3, 3: 5, 4: 9, 6: 22, 8: 23, 9: 28}
SPACE = {2: 3, 3: 5, 4: 10, 8: 12, 10: 24, 20: 25, 27: 29}
_TYPES = {"f8": "Float64", "i8": "Int64", "u1": "UInt8"}


def save_vtu(solution: Solution, path: str | Path, body: str, times: Any = None) -> Path:
    """Writes ``path.pvd`` and a file ``path_0000.vtu`` … for each instant, beside each other; returns the list's path.

    times: instants in s, or a number of equal steps; None for the samples of the solution.
    """
    wanted = _times(solution, times)
    sample = solution if wanted is None else solution.resample(wanted)
    t = solution.t if wanted is None else wanted
    if found := {p.name: p for p in getattr(solution.system, "parts", ())}:
        if body not in found:
            raise InputError(f"save_vtu: '{body}' is no flexible body of '{solution.system.model.name}'; there is {', '.join(found)}")
        return _series(Path(path), t, _texts_of_part(found[body], sample))
    part, frame = _flexible(solution, body)
    e = np.column_stack([np.atleast_1d(sample[c.names[0]]) for c in frame.modes])
    q = np.column_stack([np.atleast_1d(sample[n]) for n in solution.system.coordinate_names])
    p, R = solution.system.function("poses")(t[:, None], q)
    k = list(solution.system.model.bodies).index(body)
    grid, shares = Grid(part), _static_shares(sample, frame)
    return _series(Path(path), t, (grid.text(e[i], p[i, k], R[i, k], [share[i] for share in shares]) for i in range(len(t))))


def _series(path: Path, t: np.ndarray, texts: Iterable[str]) -> Path:
    """A file for each instant, and their list."""
    target = path.with_suffix("")
    digits = max(4, len(str(len(t) - 1)))
    names = [f"{target.name}_{i:0{digits}d}.vtu" for i in range(len(t))]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for name, text in zip(names, texts, strict=True):
            write_whole(target.parent / name, text)
    except OSError as error:
        raise InputError(f"the series {str(path)!r} could not be written: {error.strerror or error}") from error
    entries = "".join(f'  <DataSet timestep="{float(x)!r}" part="0" file={quoteattr(n)}/>\n' for x, n in zip(t, names, strict=True))
    listed = f'<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0" byte_order="LittleEndian">\n<Collection>\n{entries}</Collection>\n</VTKFile>\n'
    return write_whole(target.with_name(target.name + ".pvd"), listed)


def _texts_of_part(part: Part, sample: Solution) -> Iterator[str]:
    """A part of large deformation at all instants: nodes where they are, displacements from the first, stresses at nodes or of elements."""
    from ..systems.assembled.flexible.beam_parts import BeamPart
    from ..systems.assembled.flexible.cable_parts import CablePart
    from ..systems.assembled.flexible.parts import SolidPart
    from .scenes.default_shapes import Numbers
    from .scenes.from_parts import beam_stresses, node_places, solid_stress

    assert sample.system is not None
    index = np.arange(len(sample.t))
    number = Numbers(sample.system.model, sample.system.parameters)
    x = node_places(part, sample, index, number)[:, :, :3]
    whole = part.body.part.part
    cells, kinds = _cells_of(whole, part.name)
    for i in index:
        fields: dict[str, np.ndarray] = {"displacement": x[i] - x[0]}
        of_cells: dict[str, np.ndarray] = {}
        if isinstance(part, SolidPart):
            fields["von mises"] = solid_stress(part, x[i : i + 1])[0]
        elif isinstance(part, BeamPart):
            of_cells["stress"] = beam_stresses(part, sample, index[i : i + 1])[0]
        if isinstance(part, CablePart):
            of_cells["N"] = np.array([sample[f"{part.name}.e{k}.N"][i] for k in range(len(cells))])
        yield _grid_text(x[i], fields, of_cells, cells, kinds)


def _cells_of(whole: Structure, name: str) -> tuple[list[Sequence[int]], list[int]]:
    """Nodes of the elements, and VTK's numbers of their kinds."""
    kinds = PLANE if whole.dofs.planar else SPACE
    cells: list[Sequence[int]] = []
    numbers: list[int] = []
    for group in whole.elements:
        count = group.nodes.shape[1]
        if count not in kinds:
            raise InputError(f"{name}: elements of {count} nodes have no counterpart in VTU files")
        cells += group.nodes.tolist()
        numbers += [kinds[count]] * len(group.nodes)
    return (
        (cells, numbers) if cells else ([[i] for i in range(len(whole.nodes))], [1] * len(whole.nodes))
    )  # matrices alone: a vertex a node


def _grid_text(
    points: np.ndarray,
    fields: Mapping[str, np.ndarray],
    of_cells: Mapping[str, np.ndarray],
    cells: Sequence[Sequence[int]],
    kinds: Sequence[int],
) -> str:
    """An unstructured grid with data of points and cells."""
    parts = [
        _block("PointData", fields),
        _block("CellData", of_cells),
        _block("Points", {"points": points}),
        _block(
            "Cells",
            {
                "connectivity": np.concatenate([np.asarray(c, dtype="<i8") for c in cells]),
                "offsets": np.cumsum([len(c) for c in cells]).astype("<i8"),
                "types": np.array(kinds, dtype="u1"),
            },
        ),
    ]
    size = f'NumberOfPoints="{len(points)}" NumberOfCells="{len(kinds)}"'
    head = '<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
    return f"{head}<UnstructuredGrid>\n<Piece {size}>\n{''.join(parts)}</Piece>\n</UnstructuredGrid>\n</VTKFile>\n"


def _flexible(solution: Solution, body: str) -> tuple[ReducedStructure, FlexibleBody]:
    if solution.system is None:
        raise InputError(
            "save_vtu: this solution was read from a file, which holds no model; simulate again, or load the run with its model"
        )
    bodies = {b.name: b for b in solution.system.model.bodies.values() if isinstance(b, FlexibleBody)}
    if body not in bodies:
        raise InputError(
            f"save_vtu: '{body}' is no flexible body of '{solution.system.model.name}'; there is {', '.join(bodies) or 'none'}"
        )
    return bodies[body].part, bodies[body]


def _static_shares(sample: Solution, body: FlexibleBody) -> list[np.ndarray]:
    """For each group of elements what loads add to its channels beyond the modes (times, elements, channels); see :mod:`jourdain.analysis.recover`."""
    from ..analysis.recover import load_amplitudes
    from .scenes.static_share import has_share

    system = sample.system
    if not has_share(body) or system is None or system.model.contacts:
        return []
    found = [body.part.recovery(group, body.used_nodes) for group in range(len(body.part.part.elements))]
    amplitudes = load_amplitudes(system, sample, body, found[0].cases)
    return [np.einsum("ecl,tl->tec", r.static, amplitudes) for r in found]


def _times(solution: Solution, given: Any) -> np.ndarray | None:
    if given is None:
        return None
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 1:
            raise InputError(f"save_vtu: {given} steps; at least one is needed")
        return np.linspace(solution.t[0], solution.t[-1], given + 1)
    return np.atleast_1d(np.asarray(given, dtype=float))


class Grid:
    """The nodes and elements of a part as an unstructured grid, whose state is written again and again."""

    def __init__(self, part: ReducedStructure) -> None:
        self.part = part
        whole = part.part
        self.cells, self.kinds = _cells_of(whole, part.name)
        self.operators = [(g.channels, g.recovery() @ part.shapes[g.rows]) for g in whole.elements]

    def text(self, e: np.ndarray, position: np.ndarray, R: np.ndarray, shares: Sequence[np.ndarray] = ()) -> str:
        """The file at amplitudes e with the body's frame at a pose; ``shares`` are added to the channels of the groups of elements."""
        whole = self.part.part
        table = whole.dofs.table
        u = np.where(table >= 0, self.part.displacement(e)[table], 0.0)
        points = (whole.nodes + u[:, :3]) @ R.T + position
        fields: dict[str, np.ndarray] = {"displacement": u[:, :3] @ R.T}
        if whole.dofs.rotations:
            fields["rotation"] = u[:, 3:] @ R.T
        return _grid_text(points, fields, self._cells(e, shares), self.cells, self.kinds)

    def _cells(self, e: np.ndarray, shares: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Channels of the elements; of groups that lack one it is not a number there."""
        names = dict.fromkeys(n for channels, _ in self.operators for n in channels)
        found = {}
        for name in names:
            columns = []
            for g, (channels, rows) in enumerate(self.operators):
                if name not in channels:
                    columns.append(np.full(len(rows), np.nan))
                    continue
                c = channels.index(name)
                columns.append(rows[:, c] @ e + (shares[g][:, c] if len(shares) else 0.0))
            found[name] = np.concatenate(columns)
        return found


def _block(tag: str, arrays: Mapping[str, np.ndarray]) -> str:
    return f"<{tag}>\n" + "".join(_array(n, x) for n, x in arrays.items()) + f"</{tag}>\n"


def _array(name: str, values: np.ndarray) -> str:
    """An array in base 64: its bytes behind their number."""
    kind = values.dtype.str[1:]
    plain = np.ascontiguousarray(values, dtype="<" + kind if kind != "u1" else "u1").tobytes()
    width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
    data = base64.b64encode(struct.pack("<Q", len(plain)) + plain).decode()
    return f'<DataArray type="{_TYPES[kind]}" Name={quoteattr(name)}{width} format="binary">{data}</DataArray>\n'


__all__ = ["Grid", "save_vtu"]
