"""Broad phase: boxes around shapes, and a tree of boxes in which the neighbours of a shape are found.

Shapes are put in the order of Morton's space-filling curve (Morton 1966; Lauterbach et al. 2009), and boxes are united two by two upwards: a complete
binary tree, made anew in every instant in time n.  The tree is then held against itself: from two boxes that meet to the four pairs of their halves,
which takes time n, too, as long as shapes have neighbours in proportion.

Time steps move shapes by little: boxes are wider by a slack, and their pairs are used again until a shape has moved by more (Verlet 1967).  What is found
does not depend on this: pairs are only those that are looked at closely.
"""

from __future__ import annotations

import math
from math import sqrt
from typing import Any

from ...native.kernel import hot, jit
from .records import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, MESH, PLANE, POLYHEDRON, SPHERE, TORUS

#: Cells of Morton's curve along an axis, and keys that are sorted by one pass of counting.
CELLS = 1024
#: Fewer keys than this are sorted by insertion.
FEW = 48
#: The slack is meant for so many looks and for no fewer than the second number, and is this part of the smallest shape at most.
LOOKS, FEWEST, PART = 16.0, 4.0, 0.25


@jit
def place(scene: Any) -> None:
    """World poses of all shapes: R = R_body R_local, p = p_body + R_body p_local."""
    poses, local, world = scene.poses, scene.local, scene.world
    for i in range(scene.solids.size):
        body = scene.solids[i].body
        if body < 0:
            for k in range(12):
                world[i, k] = local[i, k]
            continue
        for r in range(3):
            x, y, z = poses[body, 3 * r], poses[body, 3 * r + 1], poses[body, 3 * r + 2]
            for k in range(3):
                world[i, 3 * r + k] = x * local[i, k] + y * local[i, 3 + k] + z * local[i, 6 + k]
            world[i, 9 + r] = poses[body, 9 + r] + x * local[i, 9] + y * local[i, 10] + z * local[i, 11]


@hot
def _spread(z: float, r: float) -> float:
    """Half the width of a disc of radius r across a direction that makes the cosine z with its axis."""
    return r * sqrt(max(0.0, 1.0 - z * z))


@jit
def half_width(scene: Any, i: int, k: int) -> Any:
    """Least and largest coordinate k of a shape, seen from its origin."""
    s, R = scene.solids[i], scene.world
    x, y, z = R[i, 3 * k], R[i, 3 * k + 1], R[i, 3 * k + 2]
    w = 0.0
    if s.kind == SPHERE:
        w = s.x
    elif s.kind == BOX or s.kind == POLYHEDRON or s.kind == MESH:
        w = abs(x) * s.x + abs(y) * s.y + abs(z) * s.z
    elif s.kind == CAPSULE:
        w = abs(z) * s.y + s.x
    elif s.kind == CYLINDER:
        w = abs(z) * s.y + _spread(z, s.x)
    elif s.kind == CONE:
        low, high = _spread(z, s.x), _spread(z, s.y)
        return min(-z * s.z - low, z * s.z - high), max(-z * s.z + low, z * s.z + high)
    elif s.kind == ELLIPSOID:
        w = sqrt(x * x * s.x * s.x + y * y * s.y * s.y + z * z * s.z * s.z)
    elif s.kind == TORUS:
        w = _spread(z, s.x) + s.y
    return -w, w


@jit
def enclose(scene: Any) -> None:
    """Boxes around all shapes but half-spaces, wider by half the margin, by what a shape may move and by the slack."""
    boxes, world = scene.boxes, scene.world
    for j in range(scene.bounded.size):
        i = scene.bounded[j]
        wider = 0.5 * scene.margin + scene.solids[i].reach + scene.slack
        for k in range(3):
            low, high = half_width(scene, i, k)
            boxes[i, k], boxes[i, 3 + k] = world[i, 9 + k] + low - wider, world[i, 9 + k] + high + wider


@jit
def _moved(scene: Any) -> float:
    """How far points of shapes may have come out of what their boxes were made for; no number where poses are none."""
    world, kept, largest = scene.world, scene.kept, 0.0
    for j in range(scene.bounded.size):
        i = scene.bounded[j]
        kind, shift, turn = scene.solids[i].kind, 0.0, 0.0
        if kind != SPHERE:
            about = kind == CAPSULE or kind == CYLINDER or kind == CONE or kind == TORUS  # a turn about their axis moves nothing
            for k in range(9):
                if not about or k % 3 == 2:
                    turn += (world[i, k] - kept[i, k]) * (world[i, k] - kept[i, k])
        for k in range(9, 12):
            shift += (world[i, k] - kept[i, k]) * (world[i, k] - kept[i, k])
        way = sqrt(shift) + scene.solids[i].size * sqrt(turn) + 0.5 * scene.margin + scene.solids[i].reach - kept[i, 12]
        if not way <= largest:
            largest = way
    return largest


@jit
def still_near(scene: Any) -> bool:
    """Whether the pairs found before are all that may touch now; where they are not, the slack is chosen for those to come."""
    if scene.held == 1:
        moved = _moved(scene)
        scene.looks += 1
        if moved <= scene.slack:
            return True
        wanted, most = LOOKS * moved / scene.looks, PART * scene.least
        scene.slack = wanted if wanted < most else (most if FEWEST * wanted <= LOOKS * most else 0.0)
    return False


@jit
def keep_pairs(scene: Any) -> None:
    """Notes where shapes are whose pairs have been found."""
    for j in range(scene.bounded.size):
        i = scene.bounded[j]
        for k in range(12):
            scene.kept[i, k] = scene.world[i, k]
        scene.kept[i, 12] = 0.5 * scene.margin + scene.solids[i].reach
    scene.held, scene.looks = 1, 0


@hot
def _spaced(x: int) -> int:
    """Ten bits with two zeros between neighbours."""
    x = (x | (x << 16)) & 0x030000FF
    x = (x | (x << 8)) & 0x0300F00F
    x = (x | (x << 4)) & 0x030C30C3
    return (x | (x << 2)) & 0x09249249


@jit
def _range(scene: Any, k: int) -> Any:
    """Twice the least and the largest coordinate k of the middles of boxes."""
    low, high = math.inf, -math.inf
    for j in range(scene.bounded.size):
        i = scene.bounded[j]
        middle = scene.boxes[i, k] + scene.boxes[i, 3 + k]
        low, high = min(low, middle), max(high, middle)
    return low, high


@jit
def number(scene: Any) -> None:
    """Morton's number of the middle of every box, in cubic cells."""
    boxes, bounded, keys, order = scene.boxes, scene.bounded, scene.keys, scene.order
    n = bounded.size
    for j in range(n):
        keys[j], order[j] = 0, bounded[j]
    widest = 0.0
    for k in range(3):
        low, high = _range(scene, k)
        widest = max(widest, high - low)
    scale = (CELLS - 1) / widest if widest > 0.0 else 0.0
    for k in range(3):
        low, high = _range(scene, k)
        for j in range(n):
            middle = boxes[bounded[j], k] + boxes[bounded[j], 3 + k]
            keys[j] = keys[j] | (_spaced(min(CELLS - 1, int((middle - low) * scale))) << k)


@jit
def _insert(keys: Any, order: Any, n: int) -> None:
    for i in range(1, n):
        key, shape, j = keys[i], order[i], i
        while j > 0 and keys[j - 1] > key:
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, shape


@jit
def sort(scene: Any) -> None:
    """Shapes in order of their numbers, by counting the values of ten bits at a time."""
    keys, order, spare, counts = scene.keys, scene.order, scene.spare, scene.counts
    n = order.size
    if n < FEW:
        _insert(keys, order, n)
        return
    for digit in range(3):
        for c in range(CELLS):
            counts[c] = 0
        for j in range(n):
            counts[(keys[j] >> (10 * digit)) & (CELLS - 1)] += 1
        total = 0
        for c in range(CELLS):
            counts[c], total = total, total + counts[c]
        for j in range(n):
            c = (keys[j] >> (10 * digit)) & (CELLS - 1)
            spare[2 * counts[c]], spare[2 * counts[c] + 1] = keys[j], order[j]
            counts[c] += 1
        for j in range(n):
            keys[j], order[j] = spare[2 * j], spare[2 * j + 1]


@jit
def unite(scene: Any) -> None:
    """The tree: node k has the children 2k and 2k + 1; leaves begin in the middle, and ``leaf`` says which shapes they are."""
    tree, leaf, boxes, order = scene.tree, scene.leaf, scene.boxes, scene.order
    leaves = leaf.size // 2
    for j in range(leaves):
        node = leaves + j
        if j < order.size:
            leaf[node] = order[j]
            for k in range(6):
                tree[node, k] = boxes[order[j], k]
        else:
            leaf[node] = -1
            for k in range(3):
                tree[node, k], tree[node, 3 + k] = math.inf, -math.inf
    for node in range(leaves - 1, 0, -1):
        left, right = 2 * node, 2 * node + 1
        for k in range(3):
            tree[node, k] = min(tree[left, k], tree[right, k])
            tree[node, 3 + k] = max(tree[left, 3 + k], tree[right, 3 + k])


@hot
def _meet(p: Any, i: int, q: Any, j: int) -> bool:
    return (
        p[i, 0] <= q[j, 3]
        and q[j, 0] <= p[i, 3]
        and p[i, 1] <= q[j, 4]
        and q[j, 1] <= p[i, 4]
        and p[i, 2] <= q[j, 5]
        and q[j, 2] <= p[i, 5]
    )


@jit
def allowed(scene: Any, a: int, b: int) -> bool:
    """Whether two shapes may touch: on different bodies that are not excluded, of groups that see each other."""
    p, q = scene.solids[a], scene.solids[b]
    if p.body == q.body or ((p.group & q.against) == 0 and (q.group & p.against) == 0):
        return False
    good = True
    for k in range(scene.excluded_from[p.body + 1], scene.excluded_from[p.body + 2]):
        good = good and scene.excluded[k] != q.body
    return good


@jit
def _sink(x: Any, root: int, n: int) -> None:
    value = x[root]
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and x[child] < x[child + 1]:
            child += 1
        if x[child] <= value:
            break
        x[root] = x[child]
        root = child
    x[root] = value


@jit
def ascending(x: Any, n: int) -> None:
    """Sorts the first n whole numbers: by insertion where they are few, else as a heap (Williams 1964)."""
    if n < FEW:
        for i in range(1, n):
            value, j = x[i], i
            while j > 0 and x[j - 1] > value:
                x[j] = x[j - 1]
                j -= 1
            x[j] = value
        return
    for root in range(n // 2 - 1, -1, -1):
        _sink(x, root, n)
    for end in range(n - 1, 0, -1):
        x[0], x[end] = x[end], x[0]
        _sink(x, 0, end)


@hot
def _reaches(scene: Any, plane: int, i: int) -> bool:
    """Whether a box comes down to a half-space."""
    boxes, p, least = scene.boxes, scene.world, 0.0
    for k in range(3):
        x = p[plane, 3 * k + 2]
        least += x * ((boxes[i, k] if x > 0.0 else boxes[i, 3 + k]) - p[plane, 9 + k])
    return least <= 0.5 * scene.margin + scene.solids[plane].reach


@jit
def _on_planes(scene: Any, a: int, count: int) -> int:
    """Adds half-spaces after shape a that it comes near, or, if a is one, shapes after it that come near it."""
    found = scene.found
    if scene.solids[a].kind == PLANE:
        for j in range(scene.bounded.size):
            b = scene.bounded[j]
            if b > a and allowed(scene, a, b) and _reaches(scene, a, b):
                found[count] = b
                count += 1
        return count
    for j in range(scene.planes.size):
        b = scene.planes[j]
        if b > a and allowed(scene, a, b) and _reaches(scene, b, a):
            found[count] = b
            count += 1
    return count


@jit
def pair_up(scene: Any, first: int, end: int) -> int:
    """Pairs of shapes whose boxes meet, the smaller of them from ``first`` up to ``end``, as neighbours[starts[a] : starts[a + 1]]; −1 where there is no
    room for them."""
    tree, leaf, stack, pairs, starts = scene.tree, scene.leaf, scene.stack, scene.pairs, scene.starts
    leaves, depth, count = leaf.size // 2, 1, 0
    stack[0], stack[1] = 1, 1
    for a in range(first, end + 1):
        starts[a] = 0
    while depth > 0:
        depth -= 1
        i, j = stack[2 * depth], stack[2 * depth + 1]
        if i == j:
            if i < leaves:
                for k in range(3):
                    stack[2 * depth], stack[2 * depth + 1] = 2 * i + (k == 2), 2 * i + (k > 0)
                    depth += 1
            continue
        scene.tests += 1
        if not _meet(tree, i, tree, j):
            continue
        if i < leaves:
            for k in range(4):
                stack[2 * depth], stack[2 * depth + 1] = 2 * i + (k >> 1), 2 * j + (k & 1)
                depth += 1
            continue
        a, b = min(leaf[i], leaf[j]), max(leaf[i], leaf[j])
        if first <= a < end and allowed(scene, a, b):
            if 2 * count + 1 >= pairs.size:
                return -1
            pairs[2 * count], pairs[2 * count + 1] = a, b
            starts[a] += 1
            count += 1
    total = 0
    for a in range(first, end + 1):
        starts[a], total = total, total + starts[a]
    for k in range(count):
        a = pairs[2 * k]
        scene.neighbours[starts[a]] = pairs[2 * k + 1]
        starts[a] += 1
    for a in range(end, first, -1):
        starts[a] = starts[a - 1]
    starts[first] = 0
    return count


@jit
def neighbours(scene: Any, a: int) -> int:
    """Shapes after shape a that come near it, in order, in ``scene.found``; their number."""
    found, count = scene.found, 0
    for k in range(scene.starts[a], scene.starts[a + 1]):
        found[count] = scene.neighbours[k]
        count += 1
    count = _on_planes(scene, a, count)
    ascending(found, count)
    return count
