"""What the steps of the generalised-α method keep and hand over (`generalized_alpha.py`)."""

from __future__ import annotations

from jourdain.native.record import Address, Record


class Plan(Record):
    """Sizes of the problem, its compiled functions, and where the arrays of the workspace begin."""

    nq: int
    nv: int
    nz: int
    m: int
    holonomic: int
    turns: int
    equations: Address
    tangent: Address
    memory: int
    a: int
    a1: int
    difference: int
    acc: int
    theta: int
    da: int
    w: int
    w1: int
    rate: int
    rate1: int
    rate_old: int
    difference_z: int
    lam: int
    soft: int
    state: int
    dx: int
    slope_old: int
    slope: int
    b: int
    dt: int
    matrix: int
    size: int


class Equations(Record):
    """Arguments of the equations of motion: addresses of t, x, u, v̇, λ, and of the residuals, ż and J."""

    t: Address
    x: Address
    u: Address
    a: Address
    lam: Address
    r: Address
    e: Address
    f: Address
    J: Address


class Tangent(Record):
    """Arguments of their derivative in a direction."""

    t: Address
    x: Address
    u: Address
    a: Address
    lam: Address
    dx: Address
    da: Address
    dt: Address
    dr: Address
    de: Address
    df: Address


class Residual(Record):
    """Arguments of the residual as the session hands them over."""

    t: Address
    x: Address
    out: Address
    plan: Plan
    equations: Equations
    tangent: Tangent
    quaternions: Address
    massless: Address


class Scheme(Record):
    """Constants: order (for the first step), the scheme, compliance of constraints, whether the step adapts."""

    order: float
    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    epsilon: float
    adapts: float


class Flags(Record):
    """Matrix usable, method started, differences of the last step known; pivots follow after a fourth word."""

    usable: int
    started: int
    known: int


class Memory(Record):
    """Step of the factors, last step."""

    h_factors: float
    h_last: float


#: Numbers that are kept at the beginning of the workspace.
MEMORY_SIZE = Memory.struct.words
