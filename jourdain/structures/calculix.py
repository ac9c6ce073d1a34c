"""CalculiX and Abaqus decks: nodes, elements, sets and material from ``.inp``, matrices from ``.sti``, ``.mas``, ``.dof``.

CalculiX writes these three files for ``*FREQUENCY, SOLVER=MATRIXSTORAGE``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from ..errors import InputError
from .files import digits, existing, sparse_from_triples, table
from .parts.dofs import Array, dofs_of
from .parts.sections import Material
from .parts.solids import KINDS, SolidElements, elasticity, solid, stiffness_of
from .structure import Structure

#: Element types of which stresses are known, with their numbers of nodes and whether they have incompatible modes.
TYPES = {"C3D4": (4, 0), "C3D10": (10, 0), "C3D8": (8, 0), "C3D8I": (8, 3), "C3D20": (20, 0), "C3D20R": (20, 0)}
#: Below this density (kg/m³ or t/mm³) a deck is not in SI units.
LIGHT = 1e-6
UNITS = {"m": (1.0, 1.0), "mm": (1e-3, 1e3)}


@dataclass
class Deck:
    """What a deck says that a structure needs."""

    nodes: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    elements: dict[str, list[list[int]]] = field(default_factory=dict)
    sets: dict[str, list[int]] = field(default_factory=dict)
    E: float | None = None
    nu: float | None = None
    density: float | None = None
    materials: int = 0


def read_calculix(path: Path, matrices: str | Path | None, material: Material | None, units: str | None, name: str) -> Structure:
    deck = read_deck(path)
    if not deck.nodes:
        raise InputError(f"{path}: it has no *NODE")
    length, mass = scales(deck, units, path)
    if matrices is None:
        return meshed(deck, path, material, length, mass, name)
    job = Path(matrices)
    if not job.is_absolute() and not job.with_suffix(".dof").is_file():
        job = path.parent / job
    labels = read_labels(existing(job.with_suffix(".dof")))
    size = len(labels)
    K = mass * read_triangle(existing(job.with_suffix(".sti")), size)
    M = mass * read_triangle(existing(job.with_suffix(".mas")), size)
    inner = np.array([i > max(deck.nodes) for i, _ in labels])
    if inner.any() and "C3D8I" in deck.elements:
        K, M = without_inner_nodes(K, M, inner)
        labels = [label for label, gone in zip(labels, inner, strict=True) if not gone]
    used = sorted({i for i, _ in labels})
    unknown = [i for i in used if i not in deck.nodes]
    if unknown:
        raise InputError(f"{job.with_suffix('.dof')}: node {unknown[0]} is not in {path.name}; the matrices belong to another deck")
    number = {label: k for k, label in enumerate(used)}
    positions = length * np.array([deck.nodes[i] for i in used])
    part = Structure(positions, M, K, [(number[i], c - 1) for i, c in labels], sets=numbered(deck.sets, number), name=name)
    part.elements = tuple(groups(deck, number, positions, material_of(deck, material, length, mass), part, path))
    return part


def without_inner_nodes(K: sp.csc_array, M: sp.csc_array, inner: NDArray[np.bool_]) -> tuple[sp.csc_array, sp.csc_array]:
    """The matrices without the nodes that CalculiX gives to the incompatible modes of C3D8I: static shapes of the others (Guyan), element by element."""
    i, b = np.flatnonzero(inner), np.flatnonzero(~inner)
    own = sp.csr_array(K[i][:, i])
    _, element = csgraph.connected_components(own, directed=False)
    pieces = np.split(np.argsort(element, kind="stable"), np.cumsum(np.bincount(element))[:-1])
    inverse = sp.block_diag([np.linalg.inv(own[rows][:, rows].toarray()) for rows in pieces], format="csr")
    back = np.argsort(np.concatenate(pieces))
    follow = -sp.csc_array(inverse[back][:, back] @ K[i][:, b])
    T = sp.csc_array(sp.vstack([sp.eye_array(len(b)), follow]))
    order = np.concatenate([b, i])
    return tuple(sp.csc_array(T.T @ X[order][:, order] @ T) for X in (K, M))  # type: ignore[return-value]


def scales(deck: Deck, units: str | None, path: Path) -> tuple[float, float]:
    """Metres a unit of length, and what mass, stiffness and force scale with."""
    if units is None:
        if deck.density is not None and 0 < deck.density < LIGHT:
            raise InputError(
                f"{path}: density {deck.density:g} looks like tonnes and millimetres; say units='mm' (mm, t, s, N), or units='m' if it is in kg/m³"
            )
        units = "m"
    if units not in UNITS:
        raise InputError(f"{path}: units = '{units}' are unknown; there are {', '.join(UNITS)}")
    return UNITS[units]


def material_of(deck: Deck, given: Material | None, length: float, mass: float) -> Material | None:
    """The deck's material in SI: stress is mass/length/time², density mass/length³."""
    if given is not None or deck.E is None or deck.materials > 1:
        return given
    return Material(deck.E * mass / length, deck.nu or 0.0, (deck.density or 0.0) * mass / length**3)


def meshed(deck: Deck, path: Path, material: Material | None, length: float, mass: float, name: str) -> Structure:
    """Elements of our own on the deck's mesh."""
    found = material_of(deck, material, length, mass)
    if found is None:
        raise InputError(
            f"{path}: it has {deck.materials} materials; give material=, or matrices= of a CalculiX run with SOLVER=MATRIXSTORAGE"
        )
    if len(deck.elements) != 1 or next(iter(deck.elements)) not in TYPES:
        told = ", ".join(deck.elements) or "no elements"
        raise InputError(
            f"{path}: it has {told}; a mesh needs one of {', '.join(TYPES)}, or matrices= of a CalculiX run with SOLVER=MATRIXSTORAGE"
        )
    table = next(iter(deck.elements.values()))
    number = {label: k for k, label in enumerate(sorted({i for row in table for i in row}))}
    missing = [i for i in number if i not in deck.nodes]
    if missing:
        raise InputError(f"{path}: elements name node {missing[0]}, which is not there")
    positions = length * np.array([deck.nodes[i] for i in number])
    part = solid(positions, [[number[i] for i in row] for row in table], found, name=name)
    part.sets.update(numbered(deck.sets, number))
    return part


def numbered(sets: dict[str, list[int]], number: dict[int, int]) -> dict[str, Any]:
    return {name: np.array(sorted({number[i] for i in nodes if i in number}), dtype=np.int64) for name, nodes in sets.items()}


def groups(
    deck: Deck, number: dict[int, int], positions: Array, material: Material | None, part: Structure, path: Path
) -> Iterator[SolidElements]:
    """Elements for stresses and geometric stiffness, where type and material are known."""
    if material is None:
        return
    translations = dofs_of(len(positions), 3 * len(positions), None)
    if not np.array_equal(part.dofs.table, translations.table):
        return
    for kind, rows in deck.elements.items():
        if kind in TYPES and rows and all(i in number for row in rows for i in row):
            count, bubbles = TYPES[kind]
            table = np.array([[number[i] for i in row] for row in rows], dtype=np.int64)
            shape = replace(KINDS[count, 3], bubbles=bubbles)
            yield stiffness_of(positions, table, shape, part.dofs, elasticity(material, 3), 1.0, str(path))[0]


# matrices


def read_labels(path: Path) -> list[tuple[int, int]]:
    """``.dof``: a line "node.component" for each row."""
    labels = []
    for k, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        node, _, component = line.strip().partition(".")
        if not (digits(node) and component in ("1", "2", "3")):
            raise InputError(f"{path}, line {k}: '{line.strip()[:40]}' is no degree of freedom node.component with component 1, 2 or 3")
        labels.append((int(node), int(component)))
    if not labels:
        raise InputError(f"{path}: it is empty")
    return labels


def read_triangle(path: Path, size: int) -> sp.csc_array:
    """``.sti``, ``.mas``: lines "row column value" of one triangle."""
    found = table(path, path, 3)
    i, j, value = found.T
    matrix = sparse_from_triples(path, i, j, value, (size, size), True)
    diagonal = np.zeros(size, dtype=bool)
    diagonal[i[i == j].astype(np.int64) - 1] = True
    if not diagonal.all():
        raise InputError(f"{path}: row {int(np.argmin(diagonal)) + 1} of {size} has no diagonal; was the file cut off?")
    return matrix


# decks


def read_deck(path: Path) -> Deck:
    """The cards *NODE, *ELEMENT, *NSET, *MATERIAL, *ELASTIC and *DENSITY of a deck; all others are passed over."""
    deck = Deck()
    for word, options, rows in cards(path):
        if word == "NODE":
            labels = []
            for k, row in rows:
                label = whole(row[:1], path, k)[0]
                x, y, z = (*numbers(row[1:4], path, k), 0.0, 0.0, 0.0)[:3]
                deck.nodes[label] = (x, y, z)
                labels.append(label)
            if "NSET" in options:
                deck.sets.setdefault(options["NSET"], []).extend(labels)
        elif word == "ELEMENT":
            read_elements(deck, options, rows, path)
        elif word == "NSET":
            read_set(deck, options, rows, path)
        elif word == "MATERIAL":
            deck.materials += 1
        elif word in ("ELASTIC", "DENSITY") and rows:
            values = [*numbers(rows[0][1], path, rows[0][0]), 0.0]
            if word == "ELASTIC":
                deck.E, deck.nu = values[0], values[1]
            else:
                deck.density = values[0]
    return deck


def cards(path: Path) -> Iterator[tuple[str, dict[str, str], list[tuple[int, list[str]]]]]:
    """Keyword, options and data rows (line number, entries) of each card."""
    word, options, rows = "", dict[str, str](), list[tuple[int, list[str]]]()
    with path.open(errors="replace") as file:
        for k, line in enumerate(file, 1):
            text = line.strip()
            if not text or text.startswith("**"):
                continue
            if text.startswith("*"):
                if word:
                    yield word, options, rows
                head, *rest = [x.strip() for x in text[1:].split(",")]
                word, rows = head.upper(), []
                options = {a.strip().upper(): b.strip().upper() for a, _, b in (x.partition("=") for x in rest)}
                if word == "INCLUDE":
                    raise InputError(f"{path}, line {k}: *INCLUDE is not followed; put the file's text in its place")
            elif word:
                rows.append((k, [x.strip() for x in text.rstrip(",").split(",")]))
    if word:
        yield word, options, rows


def numbers(row: list[str], path: Path, line: int) -> list[float]:
    try:
        found = [float(x) for x in row if x]
    except ValueError:
        found = [np.nan]
    if not np.isfinite(found).all():
        raise InputError(f"{path}, line {line}: '{', '.join(row)[:60]}' are no numbers")
    return found


def whole(row: list[str], path: Path, line: int) -> list[int]:
    """Whole numbers that are not negative, at least one."""
    if not row or not all(digits(x) for x in row):
        raise InputError(f"{path}, line {line}: '{', '.join(row)[:60]}' are no numbers of nodes or elements")
    return [int(x) for x in row]


def read_elements(deck: Deck, options: dict[str, str], rows: list[tuple[int, list[str]]], path: Path) -> None:
    kind = options.get("TYPE", "?")
    table = deck.elements.setdefault(kind, [])
    if kind not in TYPES:
        return
    count = TYPES[kind][0] + 1
    flat: list[int] = []
    for k, row in rows:
        flat += whole(row, path, k)
    if len(flat) % count:
        raise InputError(
            f"{path}: elements {kind} have {count - 1} nodes, but the last one has {len(flat) % count - 1}; was the file cut off?"
        )
    table += [flat[i + 1 : i + count] for i in range(0, len(flat), count)]


def read_set(deck: Deck, options: dict[str, str], rows: list[tuple[int, list[str]]], path: Path) -> None:
    name = options.get("NSET", "")
    nodes = deck.sets.setdefault(name, [])
    for k, row in rows:
        if "GENERATE" in options:
            given = whole(row, path, k)
            first, last, stride = (*given, *given, 1)[:3] if len(given) == 1 else (*given, 1)[:3]
            if stride < 1 or (last - first) // stride > len(deck.nodes):
                raise InputError(
                    f"{path}, line {k}: set '{name}' from {first} to {last} in steps of {stride} has more nodes than there are"
                )
            nodes += range(first, last + 1, stride)
        else:
            for entry in row:
                if digits(entry):
                    nodes += whole([entry], path, k)
                elif entry.upper() in deck.sets:
                    nodes += deck.sets[entry.upper()]
                elif entry:
                    raise InputError(f"{path}, line {k}: '{entry}' is neither a node nor a set")
