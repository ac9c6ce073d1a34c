"""Beams by Ritz functions as they are: surfaces that follow places of second order, or exact ones, and not their slopes at zero.

A surface of the view is linear in its amplitudes.  Places of sections are not linear in those of a beam, but they are in more numbers: of order 2 in the products
e_i e_j as well, of exact beams in the tangents and axes of the stations (:mod:`jourdain.structures.exact`).  These stand behind the modes; over a
run few combinations of them are more than can be seen (:func:`~jourdain.view.scenes.surface.principal`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ...structures.exact import ExactFields
from ...structures.ritz import RitzBeam, RitzBody
from ..rotation import Array
from .surface import Node, Surface, principal

if TYPE_CHECKING:
    from ...structures import ReducedStructure
    from ..scene import Scene

#: Part of the largest beyond which combinations of a beam's numbers are not drawn.
NEGLIGIBLE = 1e-5


class Curve(Protocol):
    """The numbers behind the modes, and the shapes of all of them."""

    def more(self, e: Array) -> Array:
        """Numbers (…, k) at amplitudes (…, m), zero where these are."""

    def slopes(self, e: Array) -> Array:
        """∂ more/∂e (k, m) at amplitudes (m,)."""

    def shapes(self, x: Array) -> Array:
        """Displacements (n, 3, m + k) of points (n, 3) that are fixed in their sections."""

    def axes(self, x: float) -> Array:
        """What a section's rotation has more than the identity, (3, 3, m + k)."""


def curve_of(part: ReducedStructure) -> Curve | None:
    """How a part's places follow its amplitudes where that is not linear."""
    if not isinstance(part, RitzBody) or part.order == 1:
        return None
    return ExactCurve(part.fields) if isinstance(part.fields, ExactFields) else QuadraticCurve(part.field)


@dataclass(frozen=True, eq=False)
class QuadraticCurve:
    """Places to second order: u = Σ ∂_i u e_i + ½ Σ ∂_i∂_j u e_i e_j, and rotations likewise."""

    field: RitzBeam

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the amplitudes of each product."""
        i, j = np.triu_indices(len(self.field.shapes))
        return i.astype(np.int64), j.astype(np.int64)

    def more(self, e: Array) -> Array:
        """Products e_i e_j."""
        i, j = self.pairs
        return np.asarray(e[..., i] * e[..., j])

    def slopes(self, e: Array) -> Array:
        """Of the products."""
        i, j = self.pairs
        one = np.eye(len(e))
        return np.asarray(one[i] * e[j, None] + e[i, None] * one[j])

    def _halves(self, second: Array) -> Array:
        """½ Σ over all i, j as a sum over i ≤ j."""
        i, j = self.pairs
        return np.asarray(second[..., i, j] * np.where(i == j, 0.5, 1.0))

    def shapes(self, x: Array) -> Array:
        """Of first and second order."""
        across = x * [0.0, 1.0, 1.0]
        u, a = self.field.first(x[:, 0])
        bent, turned = self.field.second(x[:, 0])
        first = u + np.cross(a, across[:, :, None], axisa=1, axisb=1, axisc=1)
        return np.concatenate([first, self._halves(bent + np.einsum("pabij,pb->paij", turned, across))], axis=2)

    def axes(self, x: float) -> Array:
        """Of first and second order."""
        X = np.array([x])
        a = self.field.first(X)[1][0]
        first = np.cross(a[:, None], np.eye(3)[:, :, None], axisa=0, axisb=0, axisc=0)  # columns a × e_k
        return np.concatenate([first, self._halves(self.field.second(X)[1][0])], axis=2)


@dataclass(frozen=True, eq=False)
class ExactCurve:
    """Places x = Σ w_q t_q and axes Σ l_q d_q between the stations' tangents t_q and axes d_q, each less its value at zero."""

    fields: ExactFields

    @property
    def _modes(self) -> int:
        return self.fields.stations[0].angle.shape[1]

    def more(self, e: Array) -> Array:
        """Tangents less e_x, and axes y and z less theirs."""
        rows = e.reshape(-1, e.shape[-1])
        R = self.fields.rotations(rows)
        k = [[1.0, 0.0, 0.0] + rows @ reach.shear.T for reach in self.fields.stations]
        found = np.stack([np.einsum("qtab,qtb->tqa", R, k), *(R[:, :, :, n].swapaxes(0, 1) for n in (1, 2))], axis=1)
        return np.asarray(found - np.eye(3)[None, :, None]).reshape(*e.shape[:-1], -1)

    def slopes(self, e: Array) -> Array:
        """From the slopes of tangents, and the turns of the stations."""
        stations = self.fields.turned(e)
        parts = [self.fields.tangents_at(e, stations)[1]]
        parts += [np.array([np.cross(w, R[:, k, None], axis=0) for R, w in stations]) for k in (1, 2)]
        return np.stack(parts).reshape(-1, len(e))

    def shapes(self, x: Array) -> Array:
        """Nothing of the modes themselves."""
        line = self.fields.line
        values = np.stack(
            [line.weights(x[:, 0]), *(x[:, k, None] * line.cardinals(x[:, 0]) for k in (1, 2))], axis=1
        )  # (n, 3 sorts, stations)
        found = np.einsum("nsq,ab->nasqb", values, np.eye(3)).reshape(len(x), 3, -1)
        return np.concatenate([np.zeros((len(x), 3, self._modes)), found], axis=2)

    def axes(self, x: float) -> Array:
        """Axes y and z between those of the stations; x follows from them."""
        between = self.fields.line.cardinals(np.array([x]))[0]
        found = np.einsum("ks,q,ab->aksqb", np.diag([0.0, 1.0, 1.0]), between, np.eye(3)).reshape(3, 3, -1)
        return np.concatenate([np.zeros((3, 3, self._modes)), found], axis=2)


def curved(part: ReducedStructure, surface: Surface) -> Surface:
    """A surface of a part's first order as it is."""
    curve = curve_of(part)
    if curve is None:
        return surface
    shapes = curve.shapes(surface.vertices)
    fields = [replace(f, rows=shapes) if f.name == "displacement" else f for f in surface.fields]
    return replace(surface, shapes=shapes, fields=fields)


def curved_node(part: ReducedStructure, node: Node) -> Node:
    """A node of a part as it moves."""
    curve = curve_of(part)
    return node if curve is None else replace(node, shift=curve.shapes(node.position[None])[0], axes=curve.axes(float(node.position[0])))


def all_amplitudes(part: ReducedStructure, e: Array) -> Array:
    """Amplitudes (…, m) with the numbers behind them."""
    curve = curve_of(part)
    return e if curve is None else np.concatenate([e, curve.more(e)], axis=-1)


def amplitude_changes(part: ReducedStructure, e: Array, change: Array) -> Array:
    """Small changes (m,) of amplitudes about e with those of the numbers behind them."""
    curve = curve_of(part)
    return change if curve is None else np.concatenate([change, curve.slopes(e) @ change])


def draw_few(scene: Scene, parts: dict[str, ReducedStructure]) -> None:
    """Keeps of the numbers behind the modes the combinations that the runs of a scene need."""
    for name, part in parts.items():
        body = scene.body(name)
        if curve_of(part) is None or body.surface is None:
            continue
        m = part.modes
        tracks = [np.asarray(run.amplitudes[name]) for run in scene.runs]
        combination, few = principal(body.surface.shapes[:, :, m:], [track[:, m:] for track in tracks], NEGLIGIBLE)
        body.surface = body.surface.combined(m, combination)
        for run, track, rest in zip(scene.runs, tracks, few, strict=True):
            run.amplitudes = {**run.amplitudes, name: np.hstack([track[:, :m], rest])}


__all__ = ["all_amplitudes", "amplitude_changes", "curve_of", "curved", "curved_node", "draw_few"]
