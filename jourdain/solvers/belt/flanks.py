"""Elements in the groove: gaps and axial forces of a whole pulley together, friction in the plane of the flanks (section 6.1).

g = g̃ + A f ≥ 0, f ≥ 0, f g = 0 with A = W + 1/c_e: every force opens the groove everywhere (35).  Sliding directions are tangential and
inwards; a contact force has both components of friction at once (37), (38).
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from ..complementarity.pivoting import SOLVED, solve_similar

#: Elements with this part of the mean axial force hold all that the rings press with; those with less, as much less.
HELD = 0.25


@hot
def flank_force(axial: float, wedge: float, mu: float, dv_t: float, dv_r: float, v_eps: float) -> Any:
    """Normal, tangential and inward force of one flank (37)–(39), its outward resultant, and the speed of sliding."""
    dv = math.sqrt(dv_t * dv_t + dv_r * dv_r + v_eps * v_eps)
    inwards = dv_r / dv
    normal = axial / (math.cos(wedge) - mu * math.sin(wedge) * inwards)
    tangential, radial = -mu * normal * dv_t / dv, -mu * normal * inwards
    return normal, tangential, radial, normal * math.sin(wedge) - radial * math.cos(wedge), dv


@jit
def find_axial_forces(pulley: Any, path: Any) -> int:
    """Gaps of rigid bodies (33), then forces and gaps that belong together (34), (35); thrust and tilting moments."""
    s = pulley.problem
    x, y = pulley.tilt_x + pulley.bend_x + pulley.slack_x, pulley.tilt_y + pulley.bend_y + pulley.slack_y
    taper = 2.0 * math.tan(pulley.wedge)
    for i in range(pulley.contacts):
        r = pulley.radius[i] + path.w[pulley.station[i]]
        pulley.lever[i] = r
        s.q[i] = pulley.z + r * (taper - x * pulley.sine[i] + y * pulley.cosine[i]) - pulley.width
    told = solve_similar(s, pulley.known == 1)
    pulley.known = 1 if told == SOLVED else 0
    total, number = 0.0, 0.0
    for i in range(pulley.contacts):
        pulley.force[i] = s.z[i]
        pulley.gap[i] = s.w[i]
        total += s.z[i]
        number += pulley.elements[i]
    full = max(HELD * total / number, 1e-9)
    moment_x, moment_y = 0.0, 0.0
    for i in range(pulley.contacts):
        path.pressed[pulley.station[i]] = min(s.z[i] / pulley.elements[i] / full, 1.0)
        moment_x -= pulley.lever[i] * pulley.sine[i] * s.z[i]
        moment_y += pulley.lever[i] * pulley.cosine[i] * s.z[i]
    pulley.axial, pulley.moment_x, pulley.moment_y = total, moment_x, moment_y
    return 0 if told == SOLVED else 1


@jit
def find_flank_forces(pulley: Any, path: Any, layers: Any, speed: Any, printed: bool) -> None:
    """Friction of all flanks (36)–(40), what it adds to the drive of the elements, and the resultants on the pulley."""
    pull_x, pull_y, load, loss = 0.0, 0.0, 0.0, 0.0
    cosine, mu = math.cos(pulley.wedge), pulley.mu
    for i in range(pulley.contacts):
        j, r, f = pulley.station[i], pulley.lever[i], pulley.force[i]
        lean = path.w1[j] + pulley.lean[i]
        surface = pulley.omega * r
        v = speed[j]
        if printed:
            v *= 1.0 + path.w[j] * path.turning[j] / path.share[j]
        dv_t, dv_r = v - surface, -(path.wdot[j] + surface * lean) / cosine
        normal, tangential, radial, outward, dv = flank_force(f, pulley.wedge, mu, dv_t, dv_r, pulley.v_eps)
        pulley.dv_t[i], pulley.dv_r[i] = dv_t, dv_r
        pulley.normal[i], pulley.tangential[i], pulley.radial[i] = normal, tangential, radial
        pulley.outward[i] = 2.0 * (outward + tangential * path.w1[j])
        pulley.secant[i] = 2.0 * mu * normal / dv
        steep, sliding = outward / f if f > 0.0 else 0.0, mu * dv_r / dv
        pulley.damping[i] = 2.0 * f * mu * (1.0 + steep * steep) / (1.0 + sliding * sliding) / (dv * cosine)
        pulley.rise[i] = 4.0 * math.tan(pulley.wedge) * steep * pulley.element_stiffness * pulley.elements[i] if f > 0.0 else 0.0
        layers.drive[0, j] += 2.0 * tangential
        along, out = 2.0 * (tangential - outward * lean), 2.0 * (outward + tangential * lean)
        # on the shaft: what the belt pushes back with; the tangent of a turn to the left is (−sin, cos)
        pull_x -= out * pulley.cosine[i] - along * pulley.sine[i]
        pull_y -= out * pulley.sine[i] + along * pulley.cosine[i]
        load += r * along
        loss -= 2.0 * (tangential * dv_t + radial * dv_r)
    pulley.pull_x, pulley.pull_y, pulley.load, pulley.loss = pull_x, pull_y, load, loss


@jit
def step_pulley(pulley: Any, h: float, z_rate: float) -> None:
    """Axial position (8) and tilt (9) by first order, implicitly with the stiffness of the contacts; the shaft bends and the collar takes up its play as fast.

    A held sheave moves at a given rate.
    """
    if pulley.held:
        pulley.z += h * z_rate
    else:
        spring = pulley.spring + pulley.spring_rate * (pulley.z - pulley.spring_at)
        rest = pulley.axial - spring - pulley.thrust - pulley.centrifugal * pulley.omega * pulley.omega
        pulley.z += rest / pulley.axial_stiffness / (pulley.delay / h + 1.0)
    # the collar takes up its play in the direction of the moment, which contacts turn back: stiff ones more than at once, so that this is a part of the gain
    moment = math.sqrt(pulley.moment_x * pulley.moment_x + pulley.moment_y * pulley.moment_y) + pulley.play_moment
    slack = pulley.play / moment
    inverse = 1.0 / (pulley.delay / h + 1.0 + pulley.tilt_gain + slack * pulley.contact_tilt)
    pulley.slack_x += inverse * (slack * pulley.moment_x - pulley.slack_x)
    pulley.slack_y += inverse * (slack * pulley.moment_y - pulley.slack_y)
    pulley.tilt_x += inverse * (pulley.moment_x / pulley.tilt_stiffness - pulley.tilt_x)
    pulley.tilt_y += inverse * (pulley.moment_y / pulley.tilt_stiffness - pulley.tilt_y)
    # slopes in x turn about y, slopes in y about −x; couples as those of the movable sheave, the fixed one has the opposite
    pulley.bend_x += inverse * (pulley.bend_moment * pulley.moment_x - pulley.bend_force * pulley.pull_y - pulley.bend_x)
    pulley.bend_y += inverse * (pulley.bend_moment * pulley.moment_y + pulley.bend_force * pulley.pull_x - pulley.bend_y)
    pulley.phi += h * pulley.omega
