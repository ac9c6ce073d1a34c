"""The time loops of impacts, as native code: waves in rods, modes, finite elements.

One file, so that kept machine code follows every change.  Body a moves towards b; δ is the indentation, and the force F of the law
F = max(0, K δⁿ + D δ̇) brakes a and drives b.  A row of `contacts` is begin, end and impulse of a contact.
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.native.kernel import hot, jit


@hot
def power(x: float, n: float) -> float:
    """xⁿ, quickly for straight lines and Hertz's law."""
    if n == 1.5:
        return x * math.sqrt(x)
    if n == 1.0:
        return x
    return math.pow(x, n)


@hot
def normal_pull(law: Any, depth: float, rate: float) -> float:
    """K δⁿ + D δ̇, which pulls where it is negative; δ = 0 where bodies are apart."""
    return law[0] * power(max(depth, 0.0), law[1]) + law[2] * rate  # type: ignore[no-any-return]


@hot
def normal_force(law: Any, depth: float, rate: float) -> float:
    """max(0, K δⁿ + D δ̇) for δ ≥ 0."""
    if depth < 0.0:
        return 0.0
    return max(normal_pull(law, depth, rate), 0.0)


@hot
def kick(law: Any, depth: float, rate: float, compliance: float, h: float) -> float:
    """Impulse of the force in a time h at fixed depth, while δ̇ obeys δ̈ = −G F."""
    force = normal_force(law, depth, rate)
    if force == 0.0 or law[2] == 0.0:
        return force * h
    return force / law[2] * (1.0 - math.exp(-compliance * law[2] * h)) / compliance


@hot
def booked(
    contacts: Any, number: int, touching: bool, force: float, pull_old: float, pull: float, t_old: float, t: float, depth_old: float, depth: float
) -> tuple[int, bool]:  # fmt: skip
    """Begin and end of contacts: where δ, or before it with damping the law's force, crosses zero on a straight line between steps."""
    if force > 0.0 and not touching:
        if number < contacts.shape[0]:
            share = 1.0
            if depth_old < 0.0:
                share = depth_old / (depth_old - depth)
            contacts[number, 0] = t_old + share * (t - t_old)
        return number + 1, True
    if force == 0.0 and touching:
        last = min(number, contacts.shape[0]) - 1
        share = 1.0
        if depth < 0.0 and depth_old > 0.0:
            share = depth_old / (depth_old - depth)
        if pull < 0.0 < pull_old:
            share *= pull_old / (pull_old - pull)
        contacts[last, 1] = t_old + share * (t - t_old)
        return number, False
    return number, touching


# -- modes -----------------------------------------------------------------------------------------------------------


@jit
def march_modes(
    q: Any, v: Any, s: Any, flow: Any, law: Any, t0: float, h: float, steps: int, quiet: int, stride: int, trace: Any, kept_q: Any, kept_v: Any,
    contacts: Any,
) -> tuple[int, int, int, bool]:  # fmt: skip
    """Coordinates q̈ᵢ + 2ξωq̇ᵢ + ω²qᵢ = −sᵢ F with δ = Σ sᵢ qᵢ: exact free motion between kicks of the force (Strang's splitting).

    `flow` has the rows of the exact motion (q, v) → (f₀ q + f₁ v, f₂ q + f₃ v) in a step h.  The march ends after `quiet` steps without
    contact, once there was one.  Rows of `trace` are t, F, δ; rows of `kept_q` and `kept_v` the coordinates then.
    Returns steps done, rows kept, number of contacts, and whether the bodies still touch.
    """
    n = q.size
    depth, rate, compliance = 0.0, 0.0, 0.0
    for i in range(n):
        depth += s[i] * q[i]
        rate += s[i] * v[i]
        compliance += s[i] * s[i]
    number, touching, rows, since = 0, False, 0, 0
    depth_old, pull_old = depth, 0.0
    k = 0
    while True:
        t = t0 + k * h
        p = 0.0
        if k > 0:
            p = kick(law, depth, rate, compliance, 0.5 * h)
        rate -= compliance * p
        force, pull = normal_force(law, depth, rate), normal_pull(law, depth, rate)
        if k == 0 and depth >= 0.0 and rate > 0.0:  # bodies that touch at the start
            contacts[0, 0] = t
            number, touching = 1, True
        elif not (touching and k <= 1):
            number, touching = booked(contacts, number, touching, force, pull_old, pull, t - h, t, depth_old, depth)
        since = 0 if touching else since + 1
        last = k == steps or (number > 0 and since >= quiet)
        if (k % stride == 0 or last) and rows < trace.shape[0]:
            trace[rows, 0] = t
            trace[rows, 1] = force
            trace[rows, 2] = depth
            for i in range(min(n, kept_q.shape[1])):
                kept_q[rows, i] = q[i]
                kept_v[rows, i] = v[i] - s[i] * p
            rows += 1
        if last:
            for i in range(n):
                v[i] -= s[i] * p
            if number > 0:
                contacts[min(number, contacts.shape[0]) - 1, 2] += p
            return k, rows, number, touching
        again = kick(law, depth, rate, compliance, 0.5 * h)
        total = p + again
        if number > 0:
            contacts[min(number, contacts.shape[0]) - 1, 2] += total
        depth_old, pull_old = depth, pull
        depth, rate = 0.0, 0.0
        for i in range(n):
            a, b = q[i], v[i] - s[i] * total
            x = flow[0, i] * a + flow[1, i] * b
            y = flow[2, i] * a + flow[3, i] * b
            q[i] = x
            v[i] = y
            depth += s[i] * x
            rate += s[i] * y
        k += 1


@jit
def fly_modes(q: Any, v: Any, s: Any, flow: Any, steps: int) -> int:
    """Free motion until the bodies would touch within the next step; the number of steps done, `steps` if they do not."""
    n = q.size
    for k in range(steps):
        depth = 0.0
        for i in range(n):
            depth += s[i] * (flow[0, i] * q[i] + flow[1, i] * v[i])
        if depth > 0.0:
            return k
        for i in range(n):
            a, b = q[i], v[i]
            q[i] = flow[0, i] * a + flow[1, i] * b
            v[i] = flow[2, i] * a + flow[3, i] * b
    return steps


@jit
def sample_modes(q: Any, v: Any, flow: Any, shapes: Any, samples: int, out: Any) -> int:
    """Signals Σ shapes qᵢ (rows of `out`) of free coordinates at equal times, the first one step from now."""
    n = q.size
    for k in range(samples):
        for j in range(out.shape[0]):
            out[j, k] = 0.0
        for i in range(n):
            a, b = q[i], v[i]
            x = flow[0, i] * a + flow[1, i] * b
            y = flow[2, i] * a + flow[3, i] * b
            q[i] = x
            v[i] = y
            for j in range(out.shape[0]):
                out[j, k] += shapes[j, i] * x + shapes[j, n + i] * y
    return 0


# -- waves -----------------------------------------------------------------------------------------------------------


@hot
def past(h1: Any, at: float) -> float:
    """The wave h′ at a real step, by the cubic through four steps; nothing moved before the first."""
    if at <= 0.0:
        return 0.0
    i = int(at)
    x = at - i
    left = 0.0
    if i > 0:
        left = h1[i - 1]
    a, b, c = h1[i], h1[i + 1], h1[i + 2]
    return (
        -x * (x - 1.0) * (x - 2.0) / 6.0 * left
        + (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0 * a
        - (x + 1.0) * x * (x - 2.0) / 2.0 * b
        + (x + 1.0) * x * (x - 1.0) / 6.0 * c
    )


@hot
def surface(body: Any, h1: Any, at: float, v: float) -> float:
    """Velocity of a body's surface without a force: that of a rigid body, or twice the reflected wave of a rod."""
    if body[0] > 0.0:
        return v
    return 2.0 * body[3] * past(h1, at - body[2])


@hot
def wave_force(law: Any, a: Any, b: Any, depth: float, free: float) -> float:
    """The force when δ̇ = free − F (1/Z_a + 1/Z_b); a rigid body has no impedance that gives way."""
    return normal_force(law, depth, free) / (1.0 + law[2] * (a[1] + b[1]))


@jit
def march_waves(
    law: Any, a: Any, b: Any, speed: float, h: float, steps: int, quiet: int, h1_a: Any, h1_b: Any, trace: Any, contacts: Any,
) -> tuple[int, float, float, float, int, bool]:  # fmt: skip
    """Delay equations of d'Alembert's waves (56)–(59) by the classical Runge–Kutta method.

    A body is (mass, 0, 0, 0) or (0, 1/Z, round trip in steps, reflection) with h′(t) = r h′(t − T) + F/Z and the surface velocity
    F/Z + 2 r h′(t − T).  Rows of `trace` are t, F, x_a, x_b; h1 are h′ at all steps.
    Returns steps done, velocities of rigid bodies, impulse, number of contacts, and whether the bodies still touch.
    """
    xa, xb, va, vb, p = 0.0, 0.0, speed, 0.0, 0.0
    rigid_a, rigid_b = a[0] > 0.0, b[0] > 0.0
    inverse_a, inverse_b = 0.0, 0.0
    if rigid_a:
        inverse_a = 1.0 / a[0]
    if rigid_b:
        inverse_b = 1.0 / b[0]
    number, touching, since = 1, True, 0
    contacts[0, 0] = 0.0
    before = 0.0
    depth_old, pull_old = 0.0, 0.0
    k = 0
    while True:
        dxa, dxb, dva, dvb = 0.0, 0.0, 0.0, 0.0
        sa, sb, sva, svb, sp = 0.0, 0.0, 0.0, 0.0, 0.0
        for stage in range(4):
            shift = 0.0 if stage == 0 else (0.5 if stage < 3 else 1.0)
            weight = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
            ya, yb = xa + shift * h * dxa, xb + shift * h * dxb
            wa, wb = va + shift * h * dva, vb + shift * h * dvb
            free_a = surface(a, h1_a, k + shift, wa)
            if not rigid_a:
                free_a = speed - free_a
            free_b = surface(b, h1_b, k + shift, wb)
            f = wave_force(law, a, b, ya - yb, free_a - free_b)
            dxa, dxb = free_a - f * a[1], free_b + f * b[1]
            dva, dvb = -f * inverse_a, f * inverse_b
            sa += weight * dxa
            sb += weight * dxb
            sva += weight * dva
            svb += weight * dvb
            sp += weight * f
            if stage == 0:
                if not rigid_a:
                    h1_a[k] = a[3] * past(h1_a, k - a[2]) + f * a[1]
                if not rigid_b:
                    h1_b[k] = b[3] * past(h1_b, k - b[2]) + f * b[1]
                trace[k, 0] = k * h
                trace[k, 1] = f
                trace[k, 2] = xa
                trace[k, 3] = xb
                pull = normal_pull(law, ya - yb, free_a - free_b)
                if k > 1:
                    was, were = touching, number
                    number, touching = booked(contacts, number, touching, f, pull_old, pull, (k - 1) * h, k * h, depth_old, ya - yb)
                    if was and not touching:
                        contacts[min(were, contacts.shape[0]) - 1, 2] = p - before
                        before = p
                depth_old, pull_old = ya - yb, pull
        since = 0 if touching else since + 1
        if k == steps or since >= quiet:
            if touching:
                contacts[min(number, contacts.shape[0]) - 1, 1] = k * h
                contacts[min(number, contacts.shape[0]) - 1, 2] = p - before
            return k, va, vb, p, number, touching
        xa += h * sa
        xb += h * sb
        va += h * sva
        vb += h * svb
        p += h * sp
        k += 1


# -- finite elements -------------------------------------------------------------------------------------------------


@hot
def indentation(stiffness: float, exponent: float, yielding: float, depth: float) -> float:
    """δ of F = K δⁿ where the grid gives way by c F under the node, which Hertz's δ holds already: δ − c K δⁿ = depth, by Newton's method."""
    x = depth
    if yielding > 0.0:
        for _ in range(8):
            force = stiffness * power(x, exponent)
            x -= (x - yielding * force - depth) / (1.0 - yielding * exponent * force / x)
    return x


@jit
def march_elements(
    start: Any, column: Any, entry: Any, inverse_mass: Any, x: Any, v: Any, work: Any, viscosity: float, pair_a: Any, pair_b: Any, gap: Any,
    stiffness: Any, exponent: float, yielding: float, h: float, steps: int, quiet: int, stride: int, trace: Any, contacts: Any,
) -> tuple[int, int, float, int, bool]:  # fmt: skip
    """Central differences M ẍ = −K (x + η ẋ) + contact forces; the degrees of freedom pair_a run into pair_b.

    `yielding` is the static compliance of the grids under a point (m/N).  Rows of `trace` are t, F, x_a and x_b of the first pair.  Velocities are half a step behind at the start and at the end.
    Returns steps done, rows kept, impulse, number of contacts, and whether the bodies still touch.
    """
    n, pairs = x.size, gap.size
    total = 0.0
    number, touching, rows, since = 1, True, 0, 0
    contacts[0, 0] = 0.0
    before, depth_old = 0.0, 0.0
    k = 0
    while True:
        t = k * h
        force, depth = 0.0, -1.0e300
        for j in range(pairs):
            deep = x[pair_a[j]] - x[pair_b[j]] - gap[j]
            depth = max(depth, deep)
            if deep > 0.0:
                force += stiffness[j] * power(indentation(stiffness[j], exponent, yielding, deep), exponent)
        if k > 1:
            was, were = touching, number
            number, touching = booked(contacts, number, touching, force, 0.0, 0.0, t - h, t, depth_old, depth)
            if was and not touching:
                contacts[min(were, contacts.shape[0]) - 1, 2] = total - before
                before = total
        depth_old = depth
        since = 0 if touching else since + 1
        last = k == steps or since >= quiet
        if (k % stride == 0 or last) and rows < trace.shape[0]:
            trace[rows, 0] = t
            trace[rows, 1] = force
            trace[rows, 2] = x[pair_a[0]]
            trace[rows, 3] = x[pair_b[0]]
            rows += 1
        if last:
            if touching:
                contacts[min(number, contacts.shape[0]) - 1, 1] = t
                contacts[min(number, contacts.shape[0]) - 1, 2] = total - before
            return k, rows, total, number, touching
        for i in range(n):
            work[i] = x[i] + viscosity * v[i]
        for j in range(pairs):
            deep = x[pair_a[j]] - x[pair_b[j]] - gap[j]
            if deep > 0.0:
                f = stiffness[j] * power(indentation(stiffness[j], exponent, yielding, deep), exponent) * h
                v[pair_a[j]] -= f * inverse_mass[pair_a[j]]
                v[pair_b[j]] += f * inverse_mass[pair_b[j]]
        total += force * h
        for i in range(n):
            pull = 0.0
            for m in range(start[i], start[i + 1]):
                pull += entry[m] * work[column[m]]
            v[i] -= h * inverse_mass[i] * pull
        for i in range(n):
            x[i] += h * v[i]
        k += 1
