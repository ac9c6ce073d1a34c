"""What kernels know of constraints before any number: sizes, independent groups of rows, and the compiled functions by their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...native.record import Address, Floats, Integers, Record, Table
from ..linear.fronts import Groups, Part, groups, make_fronts


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

    Where there are fronts, ``columns_of_mass[begin_of_mass[j] : begin_of_mass[j + 1]]`` are the entries of row j of M that may differ from zero.
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
    begin_of_mass: Integers
    columns_of_mass: Integers


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


def blocks(pattern: np.ndarray) -> list[Part]:
    """Independent groups of a constraint Jacobian's pattern: rows and columns that touch each other."""
    m, n = pattern.shape
    label = np.arange(m)
    for j in range(n):
        rows = np.flatnonzero(pattern[:, j])
        if len(rows) > 1:
            target = label[rows].min()
            for old in set(label[rows].tolist()):
                label[label == old] = target
    found = []
    for value in sorted(set(label.tolist())):
        rows = np.flatnonzero(label == value)
        columns = np.flatnonzero(pattern[rows].any(axis=0))
        if len(columns):
            found.append((rows.tolist(), columns.tolist()))
    return found


def block_table(parts: Sequence[Part], ranks: Sequence[int]) -> Table[Block]:
    """Blocks with the ranks that they have."""
    found, row, column, factors = [], 0, 0, 0
    for (rows, columns), rank in zip(parts, ranks, strict=True):
        found.append((len(rows), row, len(columns), column, rank, factors))
        row, column, factors = row + len(rows), column + len(columns), factors + len(rows) * len(columns)
    return Block.table(found)


def make_plan(
    nq: int, nv: int, nz: int, holonomic: int, pattern: np.ndarray, redundant: Sequence[int] = (),
    mass: Callable[[], np.ndarray] | None = None,
) -> Plan:  # fmt: skip
    """The plan that the kernels read.

    ``redundant`` rows follow from the others wherever the mechanism moves: the rank of their block is limited by their number.  ``mass`` is
    asked, where there are fronts, for the entries of M that may differ from zero, counted row by row.
    """
    parts = blocks(pattern)
    ranks = [len(rows) - len(set(rows) & set(redundant)) for rows, _ in parts]
    fronts = make_fronts(pattern, parts, [rank < len(rows) for rank, (rows, _) in zip(ranks, parts, strict=True)])
    listed = groups(parts)
    entries = mass() if mass and fronts else np.zeros(0, dtype=np.int64)
    begin = np.searchsorted(entries, nv * np.arange(nv + 1)) if entries.size else np.zeros(0, dtype=np.int64)
    return Plan(
        nq=nq, nv=nv, nz=nz, m=pattern.shape[0], holonomic=holonomic, blocks=block_table(parts, ranks), rows=listed.rows,
        columns=listed.columns, fronts=groups(fronts), begin_of_mass=begin.astype(np.int64), columns_of_mass=entries % max(1, nv),
    )  # fmt: skip


__all__ = ["Block", "Compiled", "Plan", "block_table", "blocks", "make_plan"]
