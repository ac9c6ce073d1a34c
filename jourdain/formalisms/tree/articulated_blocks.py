"""Articulated bodies where a coordinate moves several links: modes of flexible bodies, screws, joints that follow others.

Such a coordinate stays *open* on the way inwards.  With the accelerations ä of the open ones, what a link needs is

    {F; N} = I {a; ω̇} + Σ G_i ä_i + p,        τ_i = G_i·{a; ω̇} + Σ H_ij ä_j + h_i

so that a link which coordinate i moves by S_i adds I S_i to G_i, and it is closed, by one step of Gauss' elimination, at the link that carries all
others which it moves.  For a flexible body these are its 6 + m rows, and the elimination of its modes is the block D_b of Martins, Sá da Costa and
Ayala Botto (eqs. 93–96, the articulated inertia of a rigid–flexible–rigid block): the cost grows with the number of bodies, not with its cube.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...errors import InputError
from ...symbolic.expr import ONE, ZERO, Expr, add, div, mul, sub
from ...symbolic.vectors import NO_INERTIA, NULL, Matrix, Vector
from .articulated_body import Articulated, carry, own_body, reduced, shares_coordinates
from .articulated_body import accelerations as accelerations_one_by_one
from .links import Freedom, Wrench
from .newton_euler import link_motions, reflected_inertias
from .tree import Tree

if TYPE_CHECKING:
    from .links.flexible import FlexibleLink

GROUND = -1


@dataclass
class Open:
    """Columns G, the symmetric block H (keys sorted) and the bias h of open coordinates by their velocity index."""

    G: dict[int, Wrench] = field(default_factory=dict)
    H: dict[tuple[int, int], Expr] = field(default_factory=dict)
    h: dict[int, Expr] = field(default_factory=dict)

    def add_column(self, i: int, force: Vector, moment: Vector) -> None:
        """Adds to a column."""
        f, n = self.G.get(i, (NULL, NULL))
        self.G[i] = (f + force, n + moment)

    def add_inertia(self, i: int, j: int, value: Expr) -> None:
        """Adds to an entry of the block."""
        key = (min(i, j), max(i, j))
        self.H[key] = add(self.H.get(key, ZERO), value)

    def add_bias(self, i: int, value: Expr) -> None:
        """Adds to a bias."""
        self.h[i] = add(self.h.get(i, ZERO), value)


@dataclass(frozen=True)
class Closed:
    """A coordinate that was eliminated: ä_i = (u − G·{a; ω̇} − Σ c_k ä_k)/D."""

    index: int
    G: Wrench
    inverse: Expr
    u: Expr
    others: dict[int, Expr]

    def acceleration(self, a: Vector, alpha: Vector, known: Sequence[Expr]) -> Expr:
        """ä of the coordinate where its link accelerates so and the others are known."""
        left = sub(self.u, add(self.G[0].dot(a), self.G[1].dot(alpha)))
        for k, c in self.others.items():
            left = sub(left, mul(c, known[k]))
        return mul(left, self.inverse)


def accelerations(tree: Tree, forces: Sequence[Expr], external: Mapping[int, Wrench] | None = None) -> list[Expr]:
    """v̇ for given generalised forces (and external wrenches on links) of any tree without rods that have mass."""
    if tree.couplings:
        raise InputError(f"'{tree.model.name}': articulated bodies know no rods with mass; use the factored mass matrix")
    if not shares_coordinates(tree) and not tree.flexible:
        return accelerations_one_by_one(tree, forces, external)
    return _Blocks(tree, forces, external or {}).solved()


class _Blocks:
    """The two sweeps over a tree."""

    def __init__(self, tree: Tree, forces: Sequence[Expr], external: Mapping[int, Wrench]) -> None:
        self.tree, self.forces = tree, forces
        self.rotor = reflected_inertias(tree)
        self.tops = _tops(tree)
        omega = [motion.omega for motion in link_motions(tree, gravity=False, acceleration=False)]
        self.bodies = [own_body(link, omega[link.index], external.get(link.index)) for link in tree.links]
        self.open = [Open() for _ in tree.links]
        for link in tree.flexible.values():
            self._add_modes(link, omega[link.index])
        self.bias = [link.bias(omega[link.parent] if link.parent >= 0 else NULL) for link in tree.links]
        #: coordinates closed at a link: those that do not move the link itself, and those that do
        self.carried: list[list[Closed]] = [[] for _ in tree.links]
        self.own: list[list[Closed]] = [[] for _ in tree.links]

    def _add_modes(self, link: FlexibleLink, omega: Vector) -> None:
        """The rows and columns of a flexible body's amplitudes."""
        body, block, modal = self.bodies[link.index], self.open[link.index], link.modal
        still = [ZERO] * len(modal.e)
        force, moment = modal.wrench(omega, still)
        body.force, body.moment = body.force + force, body.moment + moment
        biases = modal.forces(omega, NULL, NULL, still)
        for a, freedom in enumerate(link.freedoms):
            block.add_column(freedom.index, modal.s_by[a], modal.D[a])
            block.add_bias(freedom.index, biases[a])
            for b in range(a + 1):
                block.add_inertia(freedom.index, link.freedoms[b].index, modal.M[a][b])

    def solved(self) -> list[Expr]:
        """v̇."""
        ground, on_ground = Articulated(NO_INERTIA, Matrix((NULL, NULL, NULL)), NO_INERTIA, NULL, NULL), Open()
        for link in reversed(self.tree.links):
            body, block = self.bodies[link.index], self.open[link.index]
            own = {f.index for f in link.freedoms}
            here = [i for i in sorted(block.G) if self.tops[i] == link.index]
            self.carried[link.index] = [self._close(i, body, block) for i in reversed(here) if i not in own]
            for freedom in link.freedoms:
                _join(freedom, body, block)
            self.own[link.index] = [self._close(i, body, block) for i in sorted(own, reverse=True) if self.tops[i] == link.index]
            _add_bias(body, block, *self.bias[link.index])
            if link.parent >= 0:
                carry(link, body, self.bodies[link.parent])
            above = self.open[link.parent] if link.parent >= 0 else on_ground
            for i, column in block.G.items():
                above.add_column(i, *link.inwards(*column))
                above.add_bias(i, block.h[i])
            for (i, j), value in block.H.items():
                above.add_inertia(i, j, value)
        return self._outwards([self._close(i, ground, on_ground) for i in sorted(on_ground.G, reverse=True)])

    def _close(self, i: int, body: Articulated, block: Open) -> Closed:
        """Eliminates one open coordinate."""
        Ga, Gw = block.G.pop(i)
        inverse = div(ONE, add(block.H.pop((i, i)), self.rotor.get(i, ZERO)))
        u = sub(self.forces[i], block.h.pop(i))
        others = {k: block.H.pop((min(i, k), max(i, k)), ZERO) for k in block.G}
        others = {k: c for k, c in others.items() if c is not ZERO}
        share, ga, gw = mul(u, inverse), Ga * inverse, Gw * inverse
        body.A, body.B, body.C = reduced(body, Ga, Gw, ga, gw)
        body.force, body.moment = body.force + Ga * share, body.moment + Gw * share
        for k, c in others.items():
            block.add_column(k, -(ga * c), -(gw * c))
            block.add_bias(k, mul(c, share))
            for j, d in others.items():
                if j <= k:
                    block.add_inertia(j, k, sub(ZERO, mul(mul(c, d), inverse)))
        return Closed(i, (Ga, Gw), inverse, u, others)

    def _outwards(self, at_ground: Sequence[Closed]) -> list[Expr]:
        """Accelerations of links from the ground on, and with them those of the coordinates."""
        result = [ZERO] * self.tree.nv
        motion: list[tuple[Vector, Vector]] = []
        start = (-self.tree.model.gravity, NULL)
        for step in reversed(at_ground):
            result[step.index] = step.acceleration(*start, result)
        for link in self.tree.links:
            a, alpha = link.carried(*(motion[link.parent] if link.parent >= 0 else start))
            a, alpha = a + self.bias[link.index][0], alpha + self.bias[link.index][1]
            for step in reversed(self.own[link.index]):
                result[step.index] = step.acceleration(a, alpha, result)
            for freedom in link.freedoms:
                a, alpha = freedom.moved(a, alpha, mul(freedom.ratio, result[freedom.index]))
            for step in reversed(self.carried[link.index]):
                result[step.index] = step.acceleration(a, alpha, result)
            motion.append((a, alpha))
        return result


def _join(freedom: Freedom, body: Articulated, block: Open) -> None:
    """What one more freedom of a link does to the columns: I S, Sᵀ G, Sᵀ p."""
    i, r = freedom.index, freedom.ratio
    Ua, Uw, D, p = freedom.articulated(body.A, body.B, body.C, body.force, body.moment)
    shares = {k: mul(r, freedom.project(*column)) for k, column in block.G.items()}
    for k, share in shares.items():
        block.add_inertia(i, k, add(share, share) if k == i else share)
    block.add_inertia(i, i, mul(mul(r, r), D))
    block.add_column(i, Ua * r, Uw * r)
    block.add_bias(i, mul(r, p))


def _add_bias(body: Articulated, block: Open, a: Vector, alpha: Vector) -> None:
    """From the link's acceleration to that which its parent carries it with."""
    body.force = body.force + (body.A @ a) + (body.B @ alpha)
    body.moment = body.moment + (body.B.T @ a) + (body.C @ alpha)
    for i, (f, n) in block.G.items():
        block.add_bias(i, add(f.dot(a), n.dot(alpha)))


def _tops(tree: Tree) -> dict[int, int]:
    """For each coordinate the outermost link that carries all links which it moves, itself one of them or not; the ground is −1."""
    found: dict[int, list[int]] = {}
    for link in tree.links:
        for freedom in link.freedoms:
            chain = list(reversed(tree.ancestors(link.index)))  # from the ground outwards
            known = found.get(freedom.index)
            if known is not None:
                same = [a for a, b in zip(known, chain, strict=False) if a == b]
                chain = same
            found[freedom.index] = chain
    return {i: chain[-1] if chain else GROUND for i, chain in found.items()}


__all__ = ["accelerations"]
