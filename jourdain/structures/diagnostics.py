"""What is wrong with a structure, and what it is: checks before a reduction, and the text of ``print(part)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse.csgraph as graph

from .parts.dofs import COMPONENTS

if TYPE_CHECKING:
    from .structure import Structure

#: A rigid motion whose elastic forces are below this share of what its terms sum to is free.
FREE = 1e-7
MOTIONS = ("translation along x", "translation along y", "translation along z", "rotation about x", "rotation about y", "rotation about z")


def faults(part: Structure) -> list[str]:
    """Sentences about what no free elastic part may have; empty if it is sound."""
    found = [*on_a_line(part), *grounded(part), *loose(part), *bad_mass(part)]
    return [f"{part.name}: {text}" for text in found]


def on_a_line(part: Structure) -> list[str]:
    """All rigid motions must move nodes."""
    R = part.rigid[:, part.dofs.rigid_columns]
    size = np.maximum(np.linalg.norm(R, axis=0), 1e-300)
    if np.linalg.matrix_rank(R / size, tol=1e-9) == R.shape[1]:
        return []
    return [
        "its nodes lie on a line and have no rotations, so that turning about the line is not defined; take a beam, or a part in the plane"
    ]


def grounded(part: Structure) -> list[str]:
    """K must not resist rigid motions."""
    columns = part.dofs.rigid_columns
    R = part.rigid[:, columns]
    force = np.abs(part.K @ R)
    terms = np.asarray(abs(part.K) @ np.abs(R))
    worst = force.max(axis=0) / np.maximum(terms.max(axis=0), 1e-300)
    if worst.max() <= FREE:
        return []
    k = int(np.argmax(worst))
    row = int(np.argmax(force[:, k]))
    return [
        f"K resists a {MOTIONS[columns[k]]} (force {force[row, k]:.4g} at {part.dofs.label(row)}), so that the part is held to the ground there; "
        "give the stiffness of the free part, without boundary conditions, and hold it by joints"
    ]


def loose(part: Structure) -> list[str]:
    """Every node must be connected by K to all others."""
    empty = np.flatnonzero(np.asarray(abs(part.K).sum(axis=1)).ravel() == 0)
    if len(empty):
        return [f"K has no entry for {part.dofs.label(int(empty[0]))} (a loose node); connect it, or leave it out"]
    count, label = graph.connected_components(part.K, directed=False)
    owner = np.full(len(part.nodes), -1)
    merged = np.arange(count)
    for node, piece in zip(part.dofs.nodes, label):  # pieces that share a node are one
        if owner[node] >= 0 and merged[piece] != merged[owner[node]]:
            merged[merged == merged[piece]] = merged[owner[node]]
        owner[node] = piece
    pieces = merged[label]
    if len(np.unique(pieces)) > 1:
        smallest = min(np.unique(pieces), key=lambda p: int((pieces == p).sum()))
        row = int(np.flatnonzero(pieces == smallest)[0])
        return [
            f"K falls into {len(np.unique(pieces))} pieces that are not connected; one has node {part.dofs.nodes[row]} "
            f"({int((pieces == smallest).sum())} degrees of freedom); connect them, or make a part of each"
        ]
    return []


def bad_mass(part: Structure) -> list[str]:
    """M must not be negative, and all of it must move with rigid translations alike."""
    diagonal = part.M.diagonal()
    if len(diagonal) and diagonal.min() < 0:
        row = int(np.argmin(diagonal))
        return [f"M has the negative entry {diagonal[row]:.4g} for {part.dofs.label(row)}; mass must be positive"]
    if not part.mass > 0:
        return [f"its mass is {part.mass:.4g} kg; mass must be positive"]
    columns = [c for c in part.dofs.rigid_columns if c < 3]
    totals = np.diag(part.rigid[:, columns].T @ (part.M @ part.rigid[:, columns]))
    if np.ptp(totals) > 1e-6 * part.mass:
        told = ", ".join(f"{t:.6g} along {COMPONENTS[c]}" for t, c in zip(totals, columns))
        return [f"M has different masses in different directions ({told} kg); a body has one mass"]
    return []


def description(part: Structure) -> str:
    """The text of ``print(part)``: size, mass, what K is like, the first frequencies, points, faults."""
    wrong = faults(part)
    each = "/".join(COMPONENTS[c] for c in np.unique(part.dofs.components))
    low, high = part.nodes.min(axis=0), part.nodes.max(axis=0)
    size = " × ".join(f"{x:.4g}" for x in high - low)
    lines = [f"{part.name}: {len(part.nodes)} nodes, {len(part.dofs)} degrees of freedom ({each}), {size} m"]
    if part.mass > 0:
        lines.append(f"  mass {part.mass:.6g} kg, centre of mass ({', '.join(f'{x:.5g}' for x in part.com)}) m")
        lines.append("  principal moments " + ", ".join(f"{x:.5g}" for x in np.linalg.eigvalsh(part.inertia)) + " kg m²")
    if not wrong:
        lines.append(frequencies_line(part))
    points = [*part.names, *(f"{i.name} ({i.kind}, {len(i.nodes)} nodes)" for i in part.interfaces.values())]
    lines += [f"  points: {', '.join(points)}"] if points else []
    lines += [f"  wrong: {text}" for text in wrong]
    return "\n".join(lines)


def frequencies_line(part: Structure) -> str:
    from ..errors import InputError

    try:
        found = part.frequencies(6)
    except InputError as error:
        return f"  wrong: {error}"
    return "  free in space: " + ", ".join(f"{x / (2 * np.pi):.5g}" for x in found) + " Hz"
