"""What kernels know of constraints before any number: sizes, independent groups of rows, and the compiled functions by their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...native.record import Address, Floats, Integers, Record, Table
from ..linear.fronts import Entries, Groups, Part, entries_of, groups, make_fronts


class Block(Record):
    """Rows of J that share columns with each other and with no other rows: how many, and where they begin in the lists of the plan.

    ``rank`` is how many of its rows are independent wherever the mechanism moves; its factors begin at ``factors``.
    """

    rows: int
    row: int
    columns: int
    column: int
    rank: int
    factors: int


class Plan(Record):
    """Sizes of a constrained system, the blocks of its constraints, and their fronts where blocks are split.

    Where there are fronts, entries of J and M that may differ from zero are listed.
    """

    nq: int
    nv: int
    nz: int
    m: int
    holonomic: int
    blocks: Table[Block]
    rows: Integers  # of the blocks, one after the other
    columns: Integers
    fronts: Groups
    entries: Entries
    mass: Entries


class Compiled(Record):
    """A compiled function as kernels call it: its address, the pointers of its arguments, and its results by their names."""

    function: Address
    args: Integers
    M: Floats
    f: Floats
    J: Floats
    g: Floats
    rates: Floats
    h: Floats
    w: Floats


def blocks(pattern: Sequence[Sequence[int]]) -> list[Part]:
    """Independent groups of a constraint Jacobian, given by the columns of each row: rows and columns that touch each other."""
    with_column: dict[int, list[int]] = {}
    for i, columns in enumerate(pattern):
        for j in columns:
            with_column.setdefault(j, []).append(i)
    found, met = [], [False] * len(pattern)
    for first, own in enumerate(pattern):
        if met[first] or not len(own):
            continue
        rows, reached = [first], set[int]()
        met[first] = True
        for i in rows:
            for j in pattern[i]:
                if j not in reached:
                    reached.add(j)
                    new = [k for k in with_column[j] if not met[k]]
                    rows += new
                    for k in new:
                        met[k] = True
        found.append((sorted(rows), sorted(reached)))
    return found


def rows_of(places: np.ndarray, m: int, n: int) -> list[list[int]]:
    """The columns of each row of an m × n matrix, from the places of its entries counted row by row."""
    begin = np.searchsorted(places, n * np.arange(m + 1))
    return [(places[begin[i] : begin[i + 1]] - n * i).tolist() for i in range(m)]


def fronts_of(pattern: Sequence[Sequence[int]]) -> list[Part]:
    """The fronts of constraints that are all independent; none where every block is eliminated as a whole."""
    parts = blocks(pattern)
    return make_fronts(pattern, parts, [False] * len(parts))


def block_table(parts: Sequence[Part], ranks: Sequence[int]) -> Table[Block]:
    """Blocks with the ranks that they have."""
    found, row, column, factors = [], 0, 0, 0
    for (rows, columns), rank in zip(parts, ranks, strict=True):
        found.append((len(rows), row, len(columns), column, rank, factors))
        row, column, factors = row + len(rows), column + len(columns), factors + len(rows) * len(columns)
    return Block.table(found)


def make_plan(
    nq: int, nv: int, nz: int, holonomic: int, pattern: Sequence[Sequence[int]], redundant: Sequence[int] = (),
    mass: Callable[[], np.ndarray] | None = None, packed: bool = False,
) -> Plan:  # fmt: skip
    """The plan that the kernels read; ``pattern`` lists the columns of each constraint.

    ``redundant`` rows follow from the others wherever the mechanism moves: the rank of their block is limited by their number.  ``mass`` is
    asked, where there are fronts, for the places of entries of M that may differ from zero, counted row by row; ``packed`` where J and M
    hold nothing else, which only the elimination by fronts can read.
    """
    m, none = len(pattern), np.zeros(0, dtype=np.int64)
    parts = blocks(pattern)
    ranks = [len(rows) - len(set(rows) & set(redundant)) for rows, _ in parts]
    fronts = make_fronts(pattern, parts, [rank < len(rows) for rank, (rows, _) in zip(ranks, parts, strict=True)])
    if packed and parts and not fronts:
        raise ValueError("blocks that are eliminated as a whole are read from whole matrices")
    listed = groups(parts)
    places = np.array([i * nv + j for i, row in enumerate(pattern) for j in sorted(row)], dtype=np.int64) if fronts else none
    masses = mass() if mass and fronts else none
    return Plan(
        nq=nq, nv=nv, nz=nz, m=m, holonomic=holonomic, blocks=block_table(parts, ranks), rows=listed.rows, columns=listed.columns,
        fronts=groups(fronts), entries=entries_of(places, m, nv, packed), mass=entries_of(masses, nv if masses.size else -1, nv, packed),
    )  # fmt: skip


__all__ = ["Block", "Compiled", "Plan", "block_table", "blocks", "fronts_of", "make_plan", "rows_of"]
