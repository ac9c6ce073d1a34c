"""Expressions as plain data: for pickling, for files, and for sending to other processes.

A symbol is known by the process that made it and its number there, so that symbols keep their identity: an
expression sent to a worker and back is the same object, and expressions pickled apart share their symbols.
"""

from __future__ import annotations

import itertools
import os
import uuid
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..errors import InputError
from .expr import Expr, _found_or_new, _node_ids, _symbols, constant, nary, symbol
from .function import Argument, Result, SymbolicFunction
from .graph import build, topological
from .tables import Table

Uid = tuple[str, int]
Packed = tuple[Any, ...]

_FORMAT = "jourdain expressions 1"

# Symbols numbered from _first[i] on were made under the name _process[i]; a fork starts a new name, so that symbols
# made after it on both sides are told apart while the inherited ones stay the same.
_first: list[int] = [0]
_process: list[str] = [uuid.uuid4().hex]
_foreign: WeakValueDictionary[Uid, Expr] = WeakValueDictionary()
_foreign_uid: WeakKeyDictionary[Expr, Uid] = WeakKeyDictionary()


def _after_fork() -> None:
    _first.append(_node_ids())
    _process.append(uuid.uuid4().hex)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _uid(e: Expr) -> Uid:
    found = _foreign_uid.get(e)
    if found is not None:
        return found
    return _process[bisect_right(_first, e.id) - 1], e.id


def _symbol(uid: Uid, name: str, kind: str) -> Expr:
    process, number = uid
    if process in _process:
        found = _symbols.get(number)
        if found is not None and _uid(found) == uid:
            return found
    found = _foreign.get(uid)
    if found is None:
        found = symbol(name, kind)
        _foreign[uid] = found
        _foreign_uid[found] = uid
    return found


def pack(expressions: Sequence[Expr]) -> Packed:
    """The expressions as a tuple of numbers, strings and arrays (tables by content), each shared node once.

    The nodes come in the order of their making, so that they are found or made again in the same form.
    """
    nodes = sorted(topological(expressions), key=lambda e: e.id)
    place = {e.id: i for i, e in enumerate(nodes)}
    tables: dict[Table, int] = {}
    rows: list[tuple[Any, ...]] = []
    for e in nodes:
        if e.op == "const":
            rows.append(("const", e.data))
        elif e.op == "symbol":
            rows.append(("symbol", *_uid(e), *e.data))
        elif e.op == "table":
            index = tables.setdefault(e.data[0], len(tables))
            rows.append(("table", index, e.data[1], *(place[a.id] for a in e.args)))
        else:
            rows.append((e.op, *(place[a.id] for a in e.args)))
    contents = tuple((t.name, t.breaks, t.coefficients, t.extrapolate) for t in tables)
    return _FORMAT, tuple(rows), contents, tuple(place[e.id] for e in expressions)


def unpack(packed: Packed, index: int | None = None) -> Any:
    """The expressions packed by :func:`pack` (a list), or the one at ``index``.

    >>> from jourdain.symbolic import sin, symbol
    >>> x = symbol("x")
    >>> unpack(pack([x * sin(x)]), 0) is x * sin(x)
    True
    """
    if not isinstance(packed, tuple) or len(packed) != 4 or packed[0] != _FORMAT:
        raise InputError(f"these data are not packed expressions of this version ('{_FORMAT}')")
    _, rows, contents, roots = packed
    tables = [Table(*content) for content in contents]
    nodes: list[Expr] = []
    for row in rows:
        op = row[0]
        if op == "const":
            e = constant(row[1])
        elif op == "symbol":
            e = _symbol((row[1], row[2]), row[3], row[4])
        elif op == "table":
            e = nary("table", [nodes[i] for i in row[3:]], (tables[row[1]], row[2]))
        else:
            e = _as_given(op, [nodes[i] for i in row[1:]])
        nodes.append(e)
    if index is not None:
        return nodes[roots[index]]
    return [nodes[i] for i in roots]


def _as_given(op: str, args: Sequence[Expr]) -> Expr:
    """The node of operands in their order.  Sums and products put what was made first in front, which may be another operand in this process: rounding
    of what is compiled from them would fall otherwise here than there."""
    if op not in ("add", "sub", "mul") or args[0].id < args[1].id:
        return build(op, args)
    a, b = args
    newest = _node_ids()
    e = build(op, args)
    if op == "sub" and e.op == "neg" and e.args[0].op == "sub" and e.args[0].args == (b, a):
        return _found_or_new(op, a, b, a, (op, b, "as given"))
    if e.id > newest and e.op == op and e.args == (b, a):
        e.args = (a, b)
    return e


def pack_function(f: SymbolicFunction) -> Packed:
    """A symbolic function as plain data with one common graph."""
    inputs = tuple((a.name, len(a.symbols), a.description) for a in f.inputs)
    outputs = tuple((r.name, len(r.expressions), r.shape, r.description) for r in f.outputs)
    packed = pack([*(s for a in f.inputs for s in a.symbols), *f.expressions])
    return f.name, inputs, outputs, f.title, f.notes, packed


def unpack_function(name: str, inputs: Any, outputs: Any, title: str, notes: Any, packed: Packed) -> SymbolicFunction:
    """The function packed by :func:`pack_function`."""
    items = iter(unpack(packed))
    arguments = tuple(Argument(n, tuple(itertools.islice(items, size)), text) for n, size, text in inputs)
    results = tuple(Result(n, tuple(itertools.islice(items, size)), shape, text) for n, size, shape, text in outputs)
    return SymbolicFunction(name, arguments, results, title, notes)
