"""Along the belt: strains, speeds and friction of elements and rings (Bullinger, Funk & Pfeiffer, sections 5.2 and 6.3).

A layer's strain relaxes by τ ∂ε/∂t = ∂²(N/EA)/∂s² + ∂(f/EA)/∂s with N = EA ε where it carries: elements push, rings pull.  The sum of all strains
stays what it is by the form of the equation, so that a belt that was closed stays closed.  Friction is taken by its secant: forces
−S Δv of the new speeds, which no step can overshoot.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from ..linear.dense import lu_factor, lu_solve

#: Times that stations of a layer may open again while a step is looked for; then they only close, which comes to an end.
GUESSES = 8
#: How fast gaps that do not belong to a free span leave it, as part of EA.
LEAVING = 0.01


@hot
def stribeck(layers: Any, dv: float) -> Any:
    """Coefficient of friction, and over the speed."""
    x = dv / layers.v_eps
    near = math.exp(-(dv / layers.v_s) * (dv / layers.v_s))
    level = layers.mu_c + (layers.mu_s - layers.mu_c) * near
    mu = math.tanh(x) * level + layers.viscous * dv
    over = level / layers.v_eps + layers.viscous if abs(x) < 1e-6 else mu / dv
    return mu, over


@jit
def find_strains(path: Any, layers: Any) -> None:
    """Lengths of the lines (12), (13), mean strains (26), strains (27)."""
    total, turned = 0.0, 0.0
    for j in range(path.stations):
        along = path.share[j] + path.turning[j] * path.w[j]
        across = path.w1[j] * path.share[j]
        total += math.sqrt(along * along + across * across)
        turned += path.angle[j]
    for k in range(layers.rings + 1):
        offset = 0.0 if k == 0 else layers.saddle + (k - 0.5) * layers.thickness
        layers.lines[k] = total + turned * offset
        layers.mean[k] = layers.lines[k] / layers.length[k] - 1.0
        for j in range(path.stations):
            layers.strain[k, j] = layers.mean[k] + layers.deviation[k, j]


@hot
def carries(k: int, strain: float) -> bool:
    """Elements carry compression, rings tension (32)."""
    return strain < 0.0 if k == 0 else strain > 0.0


@hot
def carried(layers: Any, k: int, j: int) -> float:
    """P or T_k."""
    strain = layers.strain[k, j]
    return layers.stiffness[k] * strain if carries(k, strain) else 0.0


@hot
def speed_of(layers: Any, k: int, j: int) -> float:
    """(30), along the layer's own line."""
    return layers.speed[k] * (1.0 + layers.strain[k, j]) / (1.0 + layers.mean[k])


@jit
def find_friction(path: Any, layers: Any) -> None:
    """Normal forces between layers by the recursion (48), surface speeds (43)–(47), friction."""
    n = layers.rings
    for j in range(path.stations):
        kap, angle = path.angle[j] / path.share[j], path.angle[j] * path.pressed[j]
        force = 0.0
        for k in range(n, 0, -1):
            v = speed_of(layers, k, j)
            force += (carried(layers, k, j) - layers.mass[k] * v * v) * angle
            layers.normal[k, j] = force
        layers.normal[n + 1, j] = 0.0
        if force < 0.0:  # the pack lifts off the saddle and hangs in the elements' ears
            for k in range(1, n + 1):
                layers.normal[k, j] -= force
            layers.normal[n + 1, j] = -force
        v = speed_of(layers, 0, j)
        pull = carried(layers, 0, j) - layers.mass[0] * v * v
        for k in range(1, n + 1):
            u = speed_of(layers, k, j)
            pull += carried(layers, k, j) - layers.mass[k] * u * u
        path.force[j] = pull
        layers.outer[0, j] = 1.0 + layers.saddle * kap
        layers.inner[0, j] = 1.0 + (layers.saddle + n * layers.thickness) * kap  # the ear above the pack
        for k in range(1, n + 1):
            own = kap / (1.0 + (layers.saddle + (k - 0.5) * layers.thickness) * kap)
            layers.inner[k, j] = 1.0 - 0.5 * layers.thickness * own
            layers.outer[k, j] = 1.0 + 0.5 * layers.thickness * own
        for k in range(1, n + 1):
            dv = layers.inner[k, j] * speed_of(layers, k, j) - layers.outer[k - 1, j] * speed_of(layers, k - 1, j)
            mu, over = stribeck(layers, dv)
            size = abs(layers.normal[k, j])
            layers.friction[k, j] = size * mu
            layers.secant[k, j] = size * over
        dv = layers.inner[0, j] * v - layers.outer[n, j] * speed_of(layers, n, j)
        mu, over = stribeck(layers, dv)
        layers.friction[n + 1, j] = layers.normal[n + 1, j] * mu
        layers.secant[n + 1, j] = layers.normal[n + 1, j] * over


@jit
def add_drive(path: Any, layers: Any) -> None:
    """Net tangential forces on the layers (31), beside those of the flanks that are there already."""
    n = layers.rings
    for j in range(path.stations):
        layers.drive[0, j] += layers.outer[0, j] * layers.friction[1, j] - layers.inner[0, j] * layers.friction[n + 1, j]
        for k in range(1, n):
            layers.drive[k, j] = layers.outer[k, j] * layers.friction[k + 1, j] - layers.inner[k, j] * layers.friction[k, j]
        layers.drive[n, j] = layers.outer[n, j] * layers.friction[n + 1, j] - layers.inner[n, j] * layers.friction[n, j]


@hot
def _couple(a: Any, size: int, i: int, k: int, x: float, y: float, secant: float) -> None:
    """Friction between unknowns i and k with surface speeds x u_i and y u_k."""
    a[i * size + i] += secant * x * x
    a[k * size + k] += secant * y * y
    a[i * size + k] -= secant * x * y
    a[k * size + i] -= secant * x * y


@hot
def _per_mean(layers: Any, k: int, j: int) -> float:
    """Speed at a station over the mean speed."""
    return (1.0 + layers.strain[k, j]) / (1.0 + layers.mean[k])


@hot
def _surfaces(layers: Any, k: int, j: int) -> Any:
    """Surface speeds over mean speeds at interface k: of the layer above, of the one below, and which these are."""
    n = layers.rings
    if k <= n:
        return layers.inner[k, j] * _per_mean(layers, k, j), layers.outer[k - 1, j] * _per_mean(layers, k - 1, j), k, k - 1
    return layers.inner[0, j] * _per_mean(layers, 0, j), layers.outer[n, j] * _per_mean(layers, n, j), 0, n


@jit
def step_speeds(path: Any, layers: Any, driving: Any, driven: Any, h: float) -> int:
    """Mean speeds of all layers and of pulleys under torques together, implicitly (7), (31); forces follow to the new speeds."""
    n, a, change = layers.rings, layers.system, layers.right
    size = n + 3  # layers, driving and driven pulley
    for i in range(size * size):
        a[i] = 0.0
    for j in range(path.stations):
        for k in range(1, n + 2):
            if layers.secant[k, j] > 0.0:
                x, y, above, under = _surfaces(layers, k, j)
                _couple(a, size, above, under, x, y, layers.secant[k, j])
    _couple_pulley(layers, driving, n + 1, size)
    _couple_pulley(layers, driven, n + 2, size)
    for k in range(n + 1):
        total = 0.0
        for j in range(path.stations):
            total += layers.drive[k, j]
        change[k] = total
        a[k * size + k] += layers.mass[k] * layers.lines[k] / h
    _pulley_row(a, change, driving, n + 1, size, h)
    _pulley_row(a, change, driven, n + 2, size, h)
    if lu_factor(a, size, layers.pivots) != 0:
        return 1
    lu_solve(a, size, layers.pivots, change)
    for j in range(path.stations):
        for k in range(1, n + 2):
            if layers.secant[k, j] > 0.0:
                x, y, above, under = _surfaces(layers, k, j)
                layers.friction[k, j] += layers.secant[k, j] * (x * change[above] - y * change[under])
        layers.drive[0, j] = 0.0
    _follow(layers, driving, n + 1)
    _follow(layers, driven, n + 2)
    add_drive(path, layers)
    for k in range(n + 1):
        layers.speed[k] += change[k]
    driving.omega += change[n + 1]
    driven.omega += change[n + 2]
    return 0


@jit
def _couple_pulley(layers: Any, pulley: Any, row: int, size: int) -> None:
    for i in range(pulley.contacts):
        if pulley.secant[i] > 0.0:
            _couple(layers.system, size, 0, row, _per_mean(layers, 0, pulley.station[i]), pulley.lever[i], pulley.secant[i])


@jit
def _pulley_row(a: Any, right: Any, pulley: Any, row: int, size: int, h: float) -> None:
    if pulley.kinetic:
        a[row * size + row] += pulley.inertia / h
        right[row] = pulley.torque - pulley.load
    else:
        for k in range(size):
            a[row * size + k] = 0.0
        a[row * size + row] = 1.0
        right[row] = h * pulley.spin_rate


@jit
def _follow(layers: Any, pulley: Any, row: int) -> None:
    """Flank forces at the new speeds."""
    for i in range(pulley.contacts):
        j = pulley.station[i]
        dv = _per_mean(layers, 0, j) * layers.right[0] - pulley.lever[i] * layers.right[row]
        layers.drive[0, j] += 2.0 * pulley.tangential[i] - pulley.secant[i] * dv


@jit
def step_strains(path: Any, layers: Any, driving: Any, driven: Any, h: float) -> None:
    """Strain of every layer by itself, implicitly (28), with the secants of its own friction.

    Which stations carry at the end of the step is guessed and looked at again: a station that closes within a step pushes at once.
    """
    n, count, gain, conducts, change = layers.rings, path.stations, layers.work[5], layers.work[7], layers.work[3]
    for k in range(n + 1):
        per = layers.speed[k] / (1.0 + layers.mean[k])
        for j in range(count):
            below = layers.secant[k, j] * layers.inner[k, j] * layers.inner[k, j] if k > 0 else 0.0
            above = layers.secant[k + 1, j] * layers.outer[k, j] * layers.outer[k, j]
            gain[j] = per * (below + above) / path.share[j]
            conducts[j] = 1.0 if carries(k, layers.strain[k, j]) else layers.remainder
        if k == 0:
            for i in range(driving.contacts):
                gain[driving.station[i]] += per * driving.secant[i] / path.share[driving.station[i]]
            for i in range(driven.contacts):
                gain[driven.station[i]] += per * driven.secant[i] / path.share[driven.station[i]]
        wrong, tries = 1, 0
        while wrong > 0:
            _solve_layer(path, layers, k, h)
            wrong = 0
            for j in range(count):
                guess = 1.0 if carries(k, layers.strain[k, j] + change[j]) else layers.remainder
                if guess > conducts[j] or (guess < conducts[j] and tries < GUESSES):
                    wrong += 1
                    conducts[j] = guess
            tries += 1
            layers.guesses += 1
        for j in range(count):
            layers.deviation[k, j] += change[j]


@jit
def coast(path: Any, layers: Any) -> None:
    """Separated elements keep their speed where nothing holds them: gaps are equal along a free stretch, their sum stays."""
    j, strain = 0, layers.deviation[0]
    while j < path.stations:
        if path.pressed[j] == 0.0 and not carries(0, layers.mean[0] + strain[j]):
            m, total, length = j, 0.0, 0.0
            while m < path.stations and path.pressed[m] == 0.0 and not carries(0, layers.mean[0] + strain[m]):
                total += strain[m] * path.share[m]
                length += path.share[m]
                m += 1
            for i in range(j, m):
                strain[i] = total / length
            j = m
        else:
            j += 1


@jit
def _solve_layer(path: Any, layers: Any, k: int, h: float) -> None:
    """Change of the strain of layer k, when `conducts` says which stations carry.

    Forces between two stations of a ring are the mean of both.  Elements are pushed by what the station behind does: so the matrix is monotone,
    and forces do not jump where a station opens.
    """
    count, work = path.stations, layers.work
    lower, middle, upper, right, gain, conducts = work[0], work[1], work[2], work[3], work[5], work[7]
    for j in range(count):
        middle[j] = layers.relaxation * path.share[j] / h
        lower[j], upper[j], right[j] = 0.0, 0.0, 0.0
    left = 0.0
    for j in range(count):
        m = j + 1 if j + 1 < count else 0
        here, there, over = conducts[j], conducts[m], 1.0 / path.step[j]
        a, b = 0.5, 0.5
        if k == 0 or conducts[m] < 1.0:
            a, b = 1.0, 0.0
        force = (a * layers.drive[k, j] / path.share[j] + b * layers.drive[k, m] / path.share[m]) / layers.stiffness[k]
        flux = (there * layers.strain[k, m] - here * layers.strain[k, j]) * over + force
        from_here = -here * over - a * gain[j] / layers.stiffness[k]
        from_there = there * over - b * gain[m] / layers.stiffness[k]
        if k == 0 and path.pressed[j] > 0.0:
            left = layers.strain[0, j] if here < 1.0 else 0.0
        elif k == 0 and path.pressed[m] > 0.0 and here < 1.0:
            # elements fly along a span with the speed at which they left the pulley before it; what else there is of gaps goes on
            flux -= LEAVING * over * (layers.strain[0, j] - left)
            from_here -= LEAVING * over
        right[j] += flux
        right[m] -= flux
        middle[j] -= from_here
        upper[j] -= from_there
        lower[m] += from_here
        middle[m] += from_there
    _solve_ring(lower, middle, upper, right, work[4], count)


@jit
def _solve_ring(lower: Any, middle: Any, upper: Any, x: Any, other: Any, n: int) -> None:
    """A tridiagonal system closed to a ring, by a change of rank one (Sherman & Morrison)."""
    corner = -middle[0]
    first, last = lower[0], upper[n - 1]  # entries (0, n − 1) and (n − 1, 0)
    middle[0] -= corner
    middle[n - 1] -= first * last / corner
    for i in range(n):
        other[i] = 0.0
    other[0], other[n - 1] = corner, last
    for i in range(1, n):
        factor = lower[i] / middle[i - 1]
        middle[i] -= factor * upper[i - 1]
        x[i] -= factor * x[i - 1]
        other[i] -= factor * other[i - 1]
    x[n - 1] /= middle[n - 1]
    other[n - 1] /= middle[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / middle[i]
        other[i] = (other[i] - upper[i] * other[i + 1]) / middle[i]
    factor = (x[0] + first * x[n - 1] / corner) / (1.0 + other[0] + first * other[n - 1] / corner)
    for i in range(n):
        x[i] -= factor * other[i]
