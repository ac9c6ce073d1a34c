"""What the kernels of a belt work on: the path with its shape functions, the layers, the pulleys, and all of it together."""

from __future__ import annotations

from ...native.record import Floats, Integers, Matrix, Record
from ..complementarity.problem import LinearProblem


class Path(Record):
    """Stations in a ring, and the shape functions w̄ of the belt's displacement there, row by row (values of `columns` from `start`)."""

    stations: int
    share: Floats  # length that belongs to a station (m)
    step: Floats  # distance to the next one (m)
    turning: Floats  # angle of the reference line within the share (rad)
    pressed: Floats  # part of the rings' pressure that a pulley holds, 0 where elements are free
    start: Integers
    column: Integers
    value: Floats  # w̄
    slope: Floats  # w̄′
    turn: Floats  # w̄′ at the end of the share less w̄′ at its beginning
    # what is found there
    w: Floats
    w1: Floats
    wdot: Floats
    angle: Floats  # by which the belt turns within the share
    force: Floats  # T + P − Σ m̄ v²


class Layers(Record):
    """Elements (0) and rings (1 … n): what they are made of, their strains and speeds, and forces between them; rows are layers."""

    rings: int
    stiffness: Floats  # EA (N)
    mass: Floats  # per length (kg/m)
    length: Floats  # without strain (m)
    thickness: float
    saddle: float  # pitch line to saddle (m)
    mu_c: float
    mu_s: float
    v_s: float
    v_eps: float
    viscous: float
    relaxation: float  # τ (s/m²) of the strain field
    remainder: float  # part of EA that open stations keep, as numerical diffusion
    # state
    deviation: Matrix  # strain less its mean
    speed: Floats  # mean speeds v̄
    # what is found
    mean: Floats  # mean strains
    lines: Floats  # lengths of the layers' lines
    strain: Matrix
    normal: Matrix  # force between layer k − 1 and k at a station (N), row n + 1: outermost ring to element
    friction: Matrix  # tangential force there, positive where layer k is faster
    secant: Matrix  # friction over relative speed
    inner: Matrix  # J of the inner surface of a layer
    outer: Matrix  # J of its outer surface
    drive: Matrix  # net tangential force on a layer at a station (N)
    guesses: int  # systems solved so far
    # room
    work: Matrix
    system: Floats
    right: Floats
    pivots: Integers


class Pulley(Record):
    """A pulley: its contact stations, its groove and how it gives way, its state, and what the belt does to it."""

    contacts: int
    station: Integers
    radius: Floats
    lever: Floats  # radius with the belt's displacement
    cosine: Floats
    sine: Floats
    lean: Floats  # angle of the path away from the pulley's circle, outwards positive
    elements: Floats  # elements that a station stands for
    problem: LinearProblem
    known: int
    # constants
    wedge: float  # half wedge angle (rad)
    width: float  # of an element at the pitch line
    mu: float
    v_eps: float
    inertia: float
    delay: float  # T₁ (s)
    axial_stiffness: float  # c_z
    tilt_stiffness: float  # c_δ
    contact_tilt: float  # stiffness of the contacts against tilting (N m/rad)
    tilt_gain: float  # stiffness of the contacts against tilting, over c_δ
    play: float  # of the collar (rad)
    play_moment: float
    bend_force: float  # tilt between the sheaves (rad/N) by the belt's pull on the shaft
    bend_moment: float  # and by its couple (rad/N m)
    element_stiffness: float
    spring: float
    spring_rate: float
    spring_at: float
    centrifugal: float  # oil force over ω²
    # excitation
    kinetic: int  # 1: its torque is given, 0: its speed
    torque: float
    spin_rate: float  # dω/dt of a given speed
    held: int  # 1: the sheave is positioned for the speed ratio, its thrust is the answer
    thrust: float  # A p₀
    # state
    phi: float
    omega: float
    z: float
    tilt_x: float
    tilt_y: float
    bend_x: float
    bend_y: float
    slack_x: float  # what the collar has taken up of its play
    slack_y: float
    # what is found
    axial: float
    moment_x: float
    moment_y: float
    pull_x: float
    pull_y: float
    load: float  # torque of the pulley on the belt
    loss: float
    force: Floats  # axial force of a station
    gap: Floats
    normal: Floats
    tangential: Floats
    radial: Floats
    outward: Floats
    secant: Floats  # of both flanks, against tangential speed
    damping: Floats  # of both flanks, against radial speed
    rise: Floats  # change of the outward force with w
    dv_t: Floats
    dv_r: Floats


class Belt(Record):
    """All of it, with the constant matrices of the transversal motion."""

    path: Path
    layers: Layers
    driving: Pulley
    driven: Pulley
    size: int
    q: Floats
    rate: Floats
    dynamic: Integers
    inertia: Matrix  # ∫ w̄w̄ of dynamic functions
    gyroscopic: Matrix  # ∫ w̄w̄′ − w̄′w̄, columns of dynamic functions
    bent: Matrix
    unbending: Floats
    relaxation: Floats
    stack: float  # EI of closed elements
    k_minus: float
    k_plus: float
    printed: int  # 1: speeds as printed in (30) and (40)
    element: float  # thickness b
    # control
    t: float
    ratio: float  # wanted ω_dr/ω_dn
    ratio_rate: float
    rest: float  # mean displacement on the driving arc that is kept when nothing turns
    ratio_delay: float  # of a held driving sheave that is positioned for it
    gain: float  # N of driving thrust for an error of the ratio of one; 0: the thrust is given
    integral_time: float
    integral: float
    bias: float
    drive_rate: float  # at which a given torque of the driving shaft changes (N m/s)
    load_rate: float  # the driven shaft's torque goes to its aim at this rate (N m/s) …
    load: float
    load_ratio: float  # … which is a given one, and this part of M* of the smaller thrust
    torque_ratio: float  # M/M* for which the driven thrust is chosen; 0: that thrust is given
    least_thrust: float  # below which it does not go then
    clamping: float  # the smaller thrust as control knows it
    largest: float  # M* of the driven pulley over the thrust (m)
    slip_limit: float  # of belt and pulleys, over the belt's speed
    # room
    matrix: Floats
    longer: Floats  # how the belt's length grows with q
    right: Floats
    pivots: Integers
    bad: int  # station at which something is not a number
    bad_layer: int
