"""The time loop of a belt on two pulleys: what state there is, what follows from it, and a step (section 3 of the source, in this order)."""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from .flanks import find_axial_forces, find_flank_forces, step_pulley
from .layers import add_drive, coast, find_friction, find_strains, speed_of, step_speeds, step_strains
from .line import find_line, step_line

#: Columns of the log of a run.
LOG = ("t", "omega_dr", "omega_dn", "M_dr", "M_dn", "Q_dr", "Q_dn", "z_dr", "z_dn", "length", "speed", "loss")
DONE, NO_FORCES, SINGULAR, NOT_FINITE, SLIPS = range(5)


@jit
def find_all(b: Any) -> int:
    """All that follows from the state."""
    path, layers = b.path, b.layers
    find_line(b)
    find_strains(path, layers)
    speed = layers.work[6]
    for j in range(path.stations):
        layers.drive[0, j] = 0.0
        speed[j] = speed_of(layers, 0, j)
    if find_axial_forces(b.driving, path) != 0 or find_axial_forces(b.driven, path) != 0:
        return NO_FORCES
    find_friction(path, layers)
    find_flank_forces(b.driving, path, layers, speed, b.printed == 1)
    find_flank_forces(b.driven, path, layers, speed, b.printed == 1)
    add_drive(path, layers)
    return DONE


@jit
def lost_within(b: Any) -> float:
    """Power that friction takes between layers."""
    layers, total = b.layers, 0.0
    n = layers.rings
    for j in range(b.path.stations):
        for k in range(1, n + 1):
            dv = layers.inner[k, j] * speed_of(layers, k, j) - layers.outer[k - 1, j] * speed_of(layers, k - 1, j)
            total += layers.friction[k, j] * dv
        dv = layers.inner[0, j] * speed_of(layers, 0, j) - layers.outer[n, j] * speed_of(layers, n, j)
        total += layers.friction[n + 1, j] * dv
    return total


@jit
def _clamp(b: Any, h: float) -> None:
    """Thrust of the driven pulley by (2), so that its torque is a given part of M*; spring and oil in rotation are part of it."""
    p = b.driven
    own = p.spring + p.spring_rate * (p.z - p.spring_at) + p.centrifugal * p.omega * p.omega
    aim = max(abs(p.load) / (b.largest * b.torque_ratio), b.least_thrust) - own
    p.thrust += (max(aim, 0.0) - p.thrust) * h / (h + b.ratio_delay)


@jit
def _control(b: Any, h: float) -> float:
    """Torque of the load; rate of a held driving sheave, or the thrust of a free one, by the error of the speed ratio."""
    b.clamping += (min(b.driving.axial, b.driven.axial) - b.clamping) * h / (h + b.ratio_delay)
    aim = -b.load - b.load_ratio * b.largest * b.clamping
    b.driven.torque += min(max(aim - b.driven.torque, -b.load_rate * h), b.load_rate * h)
    b.driving.torque += b.drive_rate * h
    if b.torque_ratio > 0.0:
        _clamp(b, h)
    radius = b.driving.radius[b.driving.contacts // 2]
    if b.driving.omega == 0.0:  # a standing variator has no speed ratio: its belt is kept on its radius
        w = 0.0
        for i in range(b.driving.contacts):
            w += b.path.w[b.driving.station[i]] / b.driving.contacts
        return -2.0 * math.tan(b.driving.wedge) * (b.rest - w) / b.ratio_delay
    b.ratio += h * b.ratio_rate
    error = b.driving.omega / b.driven.omega - b.ratio
    if b.gain > 0.0:
        b.integral += h * error / b.integral_time
        b.driving.thrust = max(b.bias + b.gain * (error + b.integral), 0.0)
    return -math.tan(b.driving.wedge) * radius * error / b.ratio / b.ratio_delay


@jit
def _slip(b: Any, pulley: Any) -> float:
    """How much faster or slower elements are than the pulley, in the middle of its arc."""
    i = pulley.contacts // 2
    surface = pulley.omega * pulley.lever[i]
    return abs(speed_of(b.layers, 0, pulley.station[i]) - surface)


@hot
def _slips(b: Any) -> bool:
    v = abs(b.layers.speed[0])
    return max(_slip(b, b.driving), _slip(b, b.driven)) > b.slip_limit * max(v, 1.0)


@jit
def _not_finite(b: Any) -> bool:
    """Whether a strain or a displacement is no number; `bad` is the first such station, `bad_layer` the layer, −1 the belt's line."""
    layers = b.layers
    find_line(b)
    for j in range(b.path.stations):
        for k in range(layers.rings + 1):
            if not math.isfinite(layers.deviation[k, j]):
                b.bad, b.bad_layer = j, k
                return True
        if not math.isfinite(b.path.w[j] + b.path.wdot[j]):
            b.bad, b.bad_layer = j, -1
            return True
    return False


@jit
def march(b: Any, h: float, steps: int, stride: int, log: Any) -> Any:
    """Steps of a length h; a row of `log` every so many. Returns what ended it and the rows written."""
    rows = 0
    for k in range(steps):
        if _not_finite(b):
            return NOT_FINITE, rows
        told = find_all(b)
        if told != DONE:
            return told, rows
        if k % stride == 0 and rows < log.shape[0]:
            _write(b, log[rows])
            rows += 1
        if _slips(b):
            return SLIPS, rows
        rate = _control(b, h)
        if step_speeds(b.path, b.layers, b.driving, b.driven, h) != 0:
            return SINGULAR, rows
        if step_line(b, h) != 0:
            return SINGULAR, rows
        find_line(b)
        find_strains(b.path, b.layers)  # the new length moves all strains alike: fields settle after that
        step_strains(b.path, b.layers, b.driving, b.driven, h)
        coast(b.path, b.layers)
        # sheaves answer to the forces of the new line: both at once from the old one would swing against each other
        if find_axial_forces(b.driving, b.path) != 0 or find_axial_forces(b.driven, b.path) != 0:
            return NO_FORCES, rows
        step_pulley(b.driving, h, rate)
        step_pulley(b.driven, h, 0.0)
        b.t += h
    if _not_finite(b):
        return NOT_FINITE, rows
    return find_all(b), rows


@jit
def _write(b: Any, row: Any) -> None:
    a, c = b.driving, b.driven
    row[0], row[1], row[2], row[3], row[4] = b.t, a.omega, c.omega, a.load, -c.load
    row[5], row[6], row[7], row[8] = a.axial, c.axial, a.z, c.z
    row[9], row[10], row[11] = b.layers.lines[0], b.layers.speed[0], a.loss + c.loss + lost_within(b)
