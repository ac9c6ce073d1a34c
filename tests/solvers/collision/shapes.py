"""Shapes for the tests, in this package and in coal, and random poses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jourdain.solvers.collision import Placed, Scene

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
ROCK = np.random.default_rng(3).normal(size=(24, 3)) * [0.3, 0.2, 0.25]
WEDGE = np.array([[-0.3, -0.2, -0.1], [0.3, -0.2, -0.1], [0.3, 0.2, -0.1], [-0.3, 0.2, -0.1], [-0.3, 0.0, 0.25], [0.3, 0.0, 0.25]])
#: Kinds with sizes of the order of 0.3 m.
SIZES: dict[str, Any] = {
    "sphere": (0.25,),
    "capsule": (0.15, 0.4),
    "box": (0.5, 0.3, 0.4),
    "cylinder": (0.2, 0.5),
    "cone": (0.25, 0.0, 0.5),
    "ellipsoid": (0.3, 0.2, 0.15),
    "polyhedron": (ROCK,),
}
CONVEX = tuple(SIZES)


def rotation(rng: np.random.Generator) -> np.ndarray:
    """A random rotation, uniform."""
    q = rng.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def pose(R: np.ndarray, p: Any) -> np.ndarray:
    """A row of poses."""
    return np.concatenate([np.asarray(R, float).ravel(), np.asarray(p, float)])


def two(first: str, second: str, **sizes: Any) -> Scene:
    """A scene of two shapes on bodies 0 and 1."""
    return Scene([Placed(0, (first, SIZES.get(first, ()))), Placed(1, (second, SIZES.get(second, ())))])


def coal_shape(kind: str) -> Any:
    """The same shape in coal."""
    coal = pytest.importorskip("coal")
    s = SIZES[kind]
    if kind == "sphere":
        return coal.Sphere(*s)
    if kind == "capsule":
        return coal.Capsule(*s)
    if kind == "box":
        return coal.Box(*s)
    if kind == "cylinder":
        return coal.Cylinder(*s)
    if kind == "cone":
        return coal.Cone(s[0], s[2])
    if kind == "ellipsoid":
        return coal.Ellipsoid(*s)
    points = coal.StdVec_Vec3s()
    for p in s[0]:
        points.append(p)
    return coal.Convex.convexHull(points, False, "")


def coal_distance(first: Any, a: np.ndarray, second: Any, b: np.ndarray) -> float:
    """Signed distance by coal."""
    import coal

    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance, request.epa_tolerance, request.gjk_max_iterations, request.epa_max_iterations = 1e-9, 1e-9, 500, 500
    places = [coal.Transform3s(x[:9].reshape(3, 3), x[9:]) for x in (a, b)]
    return float(coal.distance(first, places[0], second, places[1], request, result))
