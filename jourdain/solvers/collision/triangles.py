"""Surfaces of triangles against round and convex shapes.

A triangle alone would be caught by at its edges, though the surface goes on beyond them.  So a normal counts only if the surface has it there: over
the inside of a triangle its own normal; at an edge that bends outwards those between the normals of its two triangles; at a vertex those that
lean away from all its edges.  Where a shape is nearest to an edge in another direction, the triangle acts along its own normal, on what of the
shape lies over it.  Surfaces have one side: shapes with their middle behind a triangle do not touch it.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.call import address as at
from ...native.call import integers
from ...native.kernel import hot, jit, kernel
from .curvature import curvature
from .directions import separation
from .meetings import REACHED, convex_direction, settle
from .nearest import on_triangle
from .patches import EDGE, FIELD, finish, gather, lay
from .records import MOST_POINTS, SPHERE, WORDS, World, between, emit
from .supports import rounding, support
from .vectors import across, axis, cross, dot, inward, length, minus, outward, plus, unit, vector

#: Normals that leave the cone of an edge or vertex by less than this are taken; those this near to a triangle's own are that.
CONE_SLACK, OWN = 1e-7, 1e-12
#: Contacts of one shape with neighbouring triangles that differ by less (part of the size) are one.
ALIKE = 1e-5
#: What a triangle knows of a normal at its edges and corners: the surface does not bend outwards there, this triangle speaks for it, one beside it, or the
#: surface bends, but has not this normal.
NOT_THERE, SPEAKS, ANOTHER, BEYOND = range(4)
#: A triangle that a shape crosses near a bend tells no depth that is so many times what would take the shape off the triangle.
DEEPER = 4.0
#: In the place of a depth: a triangle has told what it knows.
TOLD = -1e300
#: Halvings of a height below which there are as many vertices as there is room for.
HALVINGS = 40


@jit
def box_in_surface(scene: Any, pb: Any) -> None:
    """The box around the first shape in the axes of the surface, wider by the margin, in ``scene.window``."""
    a, b, near = scene.a, scene.b, scene.near
    r = rounding(scene, a) + near
    for k in range(3):
        e = axis(scene.world, b, k)
        at = dot(pb, e)
        scene.window[3 + k] = dot(support(scene, a, (0.0, 0.0, 0.0), e), e) + r - at
        scene.window[k] = dot(support(scene, a, (0.0, 0.0, 0.0), (-e[0], -e[1], -e[2])), e) - r - at


@jit
def next_triangle(scene: Any, hull: Any, depth: int) -> Any:
    """Goes on through the tree: the next triangle whose box meets the window (−1: none), and the depth of the stack."""
    N, w, stack, first, leaves = scene.nodes, scene.window, scene.stack, hull.first_node, hull.nodes // 2
    while depth > 0:
        depth -= 1
        k = stack[depth]
        i = first + k
        if N[i, 0] > w[3] or N[i, 3] < w[0] or N[i, 1] > w[4] or N[i, 4] < w[1] or N[i, 2] > w[5] or N[i, 5] < w[2]:
            continue
        if k >= leaves:
            return scene.node_triangle[i], depth
        stack[depth], stack[depth + 1] = 2 * k + 1, 2 * k
        depth += 2
    return -1, 0


@jit
def load(scene: Any, hull: Any, t: int, pb: Any) -> Any:
    """Puts the corners of a triangle into ``scene.corner``; its normal."""
    scene.triangle, scene.flat = t + 1, 3
    for k in range(3):
        v = scene.triangles[3 * (hull.first_face + t) + k]
        q = plus(pb, 1.0, outward(scene.world, scene.b, vector(scene.vertices, hull.first_vertex + v, 0)))
        scene.corner[3 * k], scene.corner[3 * k + 1], scene.corner[3 * k + 2] = q[0], q[1], q[2]
        scene.corner_code[k] = k
    return outward(scene.world, scene.b, vector(scene.triangle_normals, hull.first_face + t, 0))


@hot
def _corner(scene: Any, k: int) -> Any:
    c = scene.corner
    return c[3 * k], c[3 * k + 1], c[3 * k + 2]


@jit
def _edge_may(scene: Any, hull: Any, t: int, k: int, n: Any, normal: Any) -> int:
    """Whether the surface has the normal n at edge k of a triangle, and whether this triangle or the one beyond speaks for the edge."""
    e = 3 * (hull.first_face + t) + k
    beyond = scene.beyond[e]
    if scene.sharp[e] < 1:
        return NOT_THERE
    side = minus(_corner(scene, (k + 1) % 3), _corner(scene, k))
    out = cross(side, normal)
    away = outward(scene.world, scene.b, vector(scene.away, e, 0))
    good = dot(n, normal) >= 0.0 if beyond < 0 else dot(n, away) >= -CONE_SLACK
    if not (good and dot(n, out) >= -CONE_SLACK * length(out)):
        return BEYOND
    return ANOTHER if beyond >= 0 and beyond < t else SPEAKS


@jit
def _vertex_may(scene: Any, hull: Any, t: int, k: int, n: Any) -> int:
    """The same at corner k of a triangle."""
    v = scene.triangles[3 * (hull.first_face + t) + k]
    place = hull.first_vertex + v
    if scene.outstanding[place] == 0:
        return NOT_THERE
    m, q, good = inward(scene.world, scene.b, n), vector(scene.vertices, place, 0), True
    for j in range(scene.ring_from[hull.first_ring + v], scene.ring_from[hull.first_ring + v + 1]):
        d = minus(vector(scene.vertices, hull.first_vertex + scene.ring[hull.ring + j], 0), q)
        good = good and dot(m, d) <= CONE_SLACK * length(d)
    if not good:
        return BEYOND
    return SPEAKS if scene.vertex_owner[place] == t else ANOTHER


@jit
def from_triangle(scene: Any, c: Any, normal: Any) -> Any:
    """Distance of a point from the triangle, the direction from there to it, and the part of the triangle that is nearest (see ``on_triangle``)."""
    q, part = on_triangle(c, _corner(scene, 0), _corner(scene, 1), _corner(scene, 2))
    v = minus(c, q)
    d = length(v)
    if part == 0 or d < 1e-12 * scene.solids[scene.a].size:
        return dot(v, normal), normal, part
    return d, unit(v), part


@jit
def ball_on(scene: Any, hull: Any, t: int, normal: Any, c: Any, r: float, feature: int) -> None:
    """A sphere (or a section of a torus) about c and a triangle."""
    d, n, part = from_triangle(scene, c, normal)
    if part > 0:
        own = dot(n, normal) > 1.0 - OWN  # just over the rim of the triangle: the one beside it says the same
        if part < 4 and not own and _edge_may(scene, hull, t, part - 1, n, normal) != SPEAKS:
            return
        if part > 3 and not own and _vertex_may(scene, hull, t, part - 4, n) != SPEAKS:
            return
    if -r <= d <= r + scene.near:
        q = plus(c, -r, n)
        k = curvature(scene, scene.a, (0.0, 0.0, 0.0), q, (-n[0], -n[1], -n[2]))
        emit(scene, q, plus(c, -d, n), n, (scene.triangle << (2 * FIELD)) | feature, k, 0.0)


@jit
def _part_along(scene: Any, n: Any, size: float) -> int:
    """The part of the triangle that looks along n: 0 the whole, 1–3 an edge, 4–6 a corner."""
    h0, h1, h2 = dot(_corner(scene, 0), n), dot(_corner(scene, 1), n), dot(_corner(scene, 2), n)
    top, slack = max(h0, h1, h2), 1e-9 * size
    u0, u1, u2 = h0 >= top - slack, h1 >= top - slack, h2 >= top - slack
    if u0 and u1 and u2:
        return 0
    if u0 and u1:
        return 1
    if u1 and u2:
        return 2
    if u2 and u0:
        return 3
    return 4 if u0 else 5 if u1 else 6


@jit
def _to_edge(scene: Any, k: int) -> None:
    """Leaves of the triangle its edge k alone."""
    p, q = _corner(scene, k), _corner(scene, (k + 1) % 3)
    c = scene.corner
    c[0], c[1], c[2], c[3], c[4], c[5] = p[0], p[1], p[2], q[0], q[1], q[2]
    scene.corner_code[0], scene.corner_code[1], scene.flat = k, (k + 1) % 3, 2


@jit
def _on_own_normal(scene: Any, hull: Any, t: int, pb: Any, normal: Any, size: float, through: bool) -> None:
    """What of the shape lies over a triangle, along its own normal; corners and edges of the triangle count where the surface bends.

    The lowest point of the shape counts where it is over the triangle, and for a shape that goes through it also where the surface goes on flat.
    """
    a, b = scene.a, scene.b
    r = rounding(scene, a)
    s, _w = separation(scene, a, b, pb, normal)
    if s - r > scene.near or dot(_corner(scene, 0), normal) > 0.0:  # too far, or the middle of the shape is behind it
        return
    count, least = gather(scene, a, b, pb, normal, scene.near + r, size)
    kept, patch = 0, scene.patch
    for k in range(count):
        code = int(patch[k, 4])
        of_a, of_b = code >> FIELD, code & ((1 << FIELD) - 1)
        good = of_b == 0
        if of_a == 0:
            good = scene.outstanding[hull.first_vertex + scene.triangles[3 * (hull.first_face + t) + of_b - 1]] == 1
        elif of_b > 0:  # an edge of the triangle between its corners i and j
            i, j = (of_b - EDGE) >> 10, of_b & 1023
            edge = i if j == i + 1 else 2
            good = scene.sharp[3 * (hull.first_face + t) + edge] != 0
        if good:
            for c in range(5):
                patch[kept, c] = patch[k, c]
            kept += 1
    finish(scene, pb, normal, kept)
    if least > s + REACHED * size or count == 0:
        q = plus(support(scene, a, (0.0, 0.0, 0.0), (-normal[0], -normal[1], -normal[2])), -r, normal)
        h = dot(minus(q, _corner(scene, 0)), normal)
        foot = plus(q, -h, normal)
        on, part = on_triangle(foot, _corner(scene, 0), _corner(scene, 1), _corner(scene, 2))
        goes_on = False
        if 0 < part < 4:
            goes_on = scene.sharp[3 * (hull.first_face + t) + part - 1] == 0
        elif part > 3:
            goes_on = scene.outstanding[hull.first_vertex + scene.triangles[3 * (hull.first_face + t) + part - 4]] == 0
        if (through and goes_on) or length(minus(on, foot)) <= 0.1 * ALIKE * size:
            back = (-normal[0], -normal[1], -normal[2])
            emit(scene, q, foot, normal, scene.triangle << (2 * FIELD), curvature(scene, a, (0.0, 0.0, 0.0), q, back), 0.0)


@jit
def _convex_on(scene: Any, hull: Any, t: int, pb: Any, normal: Any, alone: bool) -> float:
    """A convex shape and a triangle, which tells all it sees where it is ``alone``.

    What it leaves to others beside it, which may see less of the shape, is the gap that is returned: at an edge for which another speaks, and where it is crossed near a
    bend by much less than the shape lies below its plane.
    """
    a, b = scene.a, scene.b
    r = rounding(scene, a)
    side = sqrt(max(_square(scene, 0), _square(scene, 1), _square(scene, 2)))
    size = min(scene.solids[a].size, side)
    near, n, s, qa, qb = convex_direction(scene, a, b, pb, scene.near + r, size)
    if not near:
        return TOLD
    if dot(n, normal) > 1.0 - OWN:
        _on_own_normal(scene, hull, t, pb, normal, size, False)
        return TOLD
    part, who = _part_along(scene, n, size), NOT_THERE
    if 0 < part < 4:
        who = _edge_may(scene, hull, t, part - 1, n, normal)
    elif part > 3:
        who = _vertex_may(scene, hull, t, part - 4, n)
    if who == ANOTHER and not alone:
        return s - r if s - r < 0.0 else TOLD
    if SPEAKS <= who <= ANOTHER:
        if part < 4:
            _to_edge(scene, part - 1)
            settle(scene, pb, n, s, qa, qb, size)
        else:
            settle_point(scene, n, s, qa)
        return TOLD
    if s - r < 0.0 or dot(n, normal) > 0.9:
        if who == BEYOND and s - r < 0.0 and not alone:
            own, _w = separation(scene, a, b, pb, normal)
            if own - r < DEEPER * (s - r):
                return s - r
        _on_own_normal(scene, hull, t, pb, normal, size, s - r < 0.0)
    return TOLD


@hot
def _square(scene: Any, k: int) -> float:
    e = minus(_corner(scene, (k + 1) % 3), _corner(scene, k))
    return dot(e, e)  # type: ignore[no-any-return]


@jit
def settle_point(scene: Any, n: Any, s: float, qa: Any) -> None:
    """A contact at a vertex of the surface."""
    r = rounding(scene, scene.a)
    on_a = plus(qa, -r, n)
    back = (-n[0], -n[1], -n[2])
    emit(
        scene, on_a, plus(on_a, -(s - r), n), n, scene.triangle << (2 * FIELD), curvature(scene, scene.a, (0.0, 0.0, 0.0), on_a, back), 0.0
    )


@jit
def unite_contacts(scene: Any, first: int) -> None:
    """Takes away contacts that repeat earlier ones of the pair: those over an edge or vertex are found by every triangle around it."""
    C, last = scene.contacts, scene.count
    if last > C.size:
        return
    near, end = ALIKE * scene.solids[scene.a].size, first
    for i in range(first, last):
        p, kept = C[i], True
        for j in range(first, end):
            q = C[j]
            apart = (p.ax - q.ax) ** 2 + (p.ay - q.ay) ** 2 + (p.az - q.az) ** 2
            turned = (p.nx - q.nx) ** 2 + (p.ny - q.ny) ** 2 + (p.nz - q.nz) ** 2
            kept = kept and not (apart < near * near and turned < 1e-8)
        if kept:
            source, target = integers(at(C[i]), WORDS), integers(at(C[end]), WORDS)
            for k in range(WORDS):
                target[k] = source[k]
            end += 1
    scene.count = end


@jit
def _penetrates(scene: Any, first: int) -> bool:
    """Whether a contact of the pair is closed."""
    found = False
    for i in range(first, min(scene.count, scene.contacts.size)):
        found = found or scene.contacts[i].gap < 0.0
    return found


@kernel
def on_surface(address: int) -> int:
    """A sphere or convex shape and a surface of triangles."""
    scene = World.at(address)
    pb, solid = between(scene), scene.solids[scene.b]
    hull = scene.hulls[solid.hull]
    box_in_surface(scene, pb)
    depth, t, first, left, least = 1, 0, scene.count, -1, TOLD
    scene.stack[0] = 1
    while t >= 0:
        t, depth = next_triangle(scene, hull, depth)
        if t >= 0:
            normal = load(scene, hull, t, pb)
            if scene.solids[scene.a].kind == SPHERE:
                ball_on(scene, hull, t, normal, (0.0, 0.0, 0.0), scene.solids[scene.a].x, 0)
            else:
                gap = _convex_on(scene, hull, t, pb, normal, False)
                if gap > least and dot(_corner(scene, 0), normal) <= 0.0:
                    left, least = t, gap
    if left >= 0 and not _penetrates(scene, first):  # all left it to others
        _convex_on(scene, hull, left, pb, load(scene, hull, left, pb), True)
    unite_contacts(scene, first)
    scene.triangle = 0
    return 0


@hot
def _vertex(scene: Any, hull: Any, pb: Any, k: int) -> Any:
    """Vertex k of the surface."""
    return plus(pb, 1.0, outward(scene.world, scene.b, vector(scene.vertices, hull.first_vertex + k, 0)))


@hot
def _below(scene: Any, hull: Any, pb: Any, m: Any, height: float) -> Any:
    """The height of the lowest vertex that sticks out of the surface, and how many of them are not above a height."""
    low, found = 1e300, 0
    for k in range(hull.vertices):
        if scene.outstanding[hull.first_vertex + k] == 1:
            h = dot(_vertex(scene, hull, pb, k), m)
            low = min(low, h)
            if h <= height:
                found += 1
    return low, found


@kernel
def surface_on_plane(address: int) -> int:
    """A half-space and a surface: vertices that stick out, of many the lowest."""
    scene = World.at(address)
    pb, m = between(scene), axis(scene.world, scene.a, 2)
    n = (-m[0], -m[1], -m[2])
    u = across(n)
    v = cross(n, u)
    hull, room = scene.hulls[scene.solids[scene.b].hull], scene.patch.shape[0] - 1
    low, found = _below(scene, hull, pb, m, scene.near)
    cut, high = scene.near, scene.near
    if found > room:  # the lowest; where too many are level, some of these
        cut = low
        for _ in range(HALVINGS):
            middle = 0.5 * (cut + high)
            if _below(scene, hull, pb, m, middle)[1] > room:
                high = middle
            else:
                cut = middle
        found = _below(scene, hull, pb, m, high)[1]
    every, seen, count = 1 + found // (room - MOST_POINTS), 0, 0
    few = _below(scene, hull, pb, m, cut)[1] < MOST_POINTS
    for k in range(hull.vertices):
        q = _vertex(scene, hull, pb, k)
        h = dot(q, m)
        if h <= high and scene.outstanding[hull.first_vertex + k] == 1:
            seen += 1
            if h <= cut or (few and seen % every == 0):
                lay(scene.patch, count, dot(q, u), dot(q, v), 0.0, dot(q, n), 1 + k)
                count += 1
    finish(scene, pb, n, count)
    return 0
