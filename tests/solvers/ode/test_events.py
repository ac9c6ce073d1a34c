"""Events, samples, projection, output and switches of coordinates."""

import numpy as np
import pytest
from scipy.special import ellipk

from jourdain.errors import InputError, SolverError
from jourdain.solvers import Event, Samples, Switch, integrate
from tests.solvers.native import native

G = 9.81
FALL = native("f[0]=x[1]\nf[1]=-9.81")
HEIGHT = native("f[0]=x[0]")
BOUNCE = native("x[0]=0\nx[1]=-0.8*x[1]")
PENDULUM = native("f[0]=x[1]\nf[1]=-np.sin(x[0])")
PENDULUM_JACOBIAN = native("f[0]=0\nf[1]=1\nf[2]=-np.cos(x[0])\nf[3]=0")


def bounces(number, height=2.0, restitution=0.8):
    """Return the exact impact times of a ball dropped from a height."""
    v = np.sqrt(2 * G * height)
    return v / G + np.concatenate([[0.0], np.cumsum(2 * v / G * restitution ** np.arange(1, number))])


@pytest.mark.parametrize("direction", [-1, 0])
@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams", "rk4", "velocity-verlet"])
def test_bouncing_ball(method, direction):
    event = Event(HEIGHT, direction, action=BOUNCE, name="ground")
    step = 0.013 if method in ("rk4", "velocity-verlet") else None
    end = bounces(9)[-2:].mean()
    options = {"rtol": 1e-12, "atol": 1e-12, "step": step}
    trajectory = integrate(FALL, (0, end), [2.0, 0.0], method, events=[event], **options).check()
    exact = bounces(8)
    assert [record.t for record in trajectory.events] == pytest.approx(exact, abs=1e-10)
    assert trajectory.stats.events == 8
    last = trajectory.events[-1]
    assert last.x_after[1] == pytest.approx(-0.8 * last.x_before[1], rel=1e-12)
    flight = end - exact[-1]
    speed = np.sqrt(2 * G * 2.0) * 0.8**8
    assert trajectory.x[-1] == pytest.approx([speed * flight - G / 2 * flight**2, speed - G * flight], abs=1e-9)
    assert trajectory.x[:, 0].min() > -1e-10


def test_python_action_equals_native_action():
    def bounce(t, x):
        return [0.0, -0.8 * x[1]]

    options = {"rtol": 1e-10, "atol": 1e-10}
    native_run = integrate(FALL, (0, 3), [2.0, 0.0], events=[Event(HEIGHT, -1, action=BOUNCE)], **options)
    python_run = integrate(FALL, (0, 3), [2.0, 0.0], events=[Event(HEIGHT, -1, action=bounce)], **options)
    assert np.array_equal(native_run.x, python_run.x) and np.array_equal(native_run.t, python_run.t)
    assert python_run.events[0].x_after[1] == -0.8 * python_run.events[0].x_before[1]


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams", "radau"])
def test_pendulum_crossings_against_elliptic_integral(method):
    amplitude = 2.0
    quarter = ellipk(np.sin(amplitude / 2) ** 2)
    event = Event(native("f[0]=x[0]\nf[1]=x[1]"), (1, 0), restart=False, size=2)
    rtol = 3e-13 if method != "radau" else 1e-11
    trajectory = integrate(
        PENDULUM, (0, 20), [amplitude, 0.0], method, events=[event], rtol=rtol, atol=rtol, jacobian=PENDULUM_JACOBIAN
    ).check()
    rising = [record.t for record in trajectory.events if record.component == 0]
    turning = [record.t for record in trajectory.events if record.component == 1]
    assert rising == pytest.approx(quarter * np.arange(3, 20 / quarter, 4), abs=1e-10)
    assert turning == pytest.approx(quarter * np.arange(2, 20 / quarter, 2), abs=3e-10)


def test_terminal_event_ends_exactly_there():
    event = Event(HEIGHT, terminal=True, name="ground")
    trajectory = integrate(FALL, (0, 9), [2.0, 0.0], events=[event])
    assert trajectory.status == "event" and "ground" in trajectory.message
    assert trajectory.t[-1] == trajectory.restart.t == pytest.approx(np.sqrt(4 / G), abs=1e-10)
    assert trajectory.x[-1, 0] == pytest.approx(0, abs=1e-10)


def test_several_events_in_one_step_are_taken_in_order():
    guard = native("f[0]=x[0]-0.5\nf[1]=x[0]-1.5\nf[2]=x[0]-1.0")
    for restart in (False, True):
        event = Event(guard, -1, size=3, restart=restart)
        trajectory = integrate(FALL, (0, 0.62), [2.0, 0.0], "rk4", step=0.62, events=[event])
        assert [record.component for record in trajectory.events] == [1, 2, 0]
        times = [record.t for record in trajectory.events]
        assert times == pytest.approx([np.sqrt(2 * d / G) for d in (0.5, 1.0, 1.5)], abs=1e-12)


def test_events_that_share_a_guard_function():
    """One function of three guards for three events: they happen when and as those of functions of their own do."""
    both, low = native("f[0]=x[0]-1.5\nf[1]=x[0]-0.5\nf[2]=x[0]-1.0"), native("f[0]=x[0]-0.2")
    push = native("x[1]+=p[0]", np.full(16, 1.0))
    events = [
        Event(both, -1, name="high"), Event(both, -1, name="low", place=1, action=push), Event(low, -1, name="lowest"),
    ]  # fmt: skip
    events.insert(2, Event(both, -1, name="middle", place=2, restart=False))
    own = [native(f"f[0]=x[0]-{h}") for h in (1.5, 0.5, 1.0, 0.2)]
    apart = [Event(g, -1, name=e.name, action=e.action, restart=e.restart) for g, e in zip(own, events, strict=True)]
    for method, options in (("rk4", {"step": 0.62}), ("dopri5", {}), ("adams", {})):
        found, expected = (integrate(FALL, (0, 0.7), [2.0, 0.0], method, events=e, **options) for e in (events, apart))
        assert [(r.name, r.t) for r in found.events] == [(r.name, r.t) for r in expected.events]
        assert [r.name for r in found.events] == ["high", "middle", "low", "lowest"]
        assert (found.x == expected.x).all()
    nowhere = native("f[0]=x[0]\nf[1]=0.0/0.0")
    failed = integrate(FALL, (0, 0.7), [2.0, 0.0], events=[Event(nowhere, name="fine"), Event(nowhere, name="not a number", place=1)])
    assert failed.status == "failed" and "'not a number'" in failed.message
    with pytest.raises(InputError, match="'low'.*place 1.*in a row"):
        integrate(FALL, (0, 0.7), [2.0, 0.0], events=[events[0], events[3], events[1]])


def test_simultaneous_events_both_happen():
    push = native("x[1]+=p[0]", np.full(16, 3.0))
    events = [Event(HEIGHT, -1, action=push, name="a"), Event(HEIGHT, -1, action=push, name="b")]
    trajectory = integrate(FALL, (0, 0.7), [2.0, 0.0], events=events).check()
    assert sorted(record.name for record in trajectory.events) == ["a", "b"]
    assert trajectory.events[0].t == pytest.approx(trajectory.events[1].t, abs=1e-12)


@pytest.mark.parametrize("direction", [-1, 0])
def test_event_at_the_start_does_not_fire_at_once(direction):
    trajectory = integrate(FALL, (0, 1), [0.0, 3.0], events=[Event(HEIGHT, direction, terminal=True)])
    assert trajectory.t[-1] == pytest.approx(6 / G, abs=1e-10)


def test_flight_shorter_than_a_step_is_not_missed():
    """The step after a bounce is longer than the whole next flight."""
    bounce = native("x[0]=0\nx[1]=-0.1*x[1]")
    event = Event(HEIGHT, 0, action=bounce)
    exact = bounces(4, restitution=0.1)
    trajectory = integrate(FALL, (0, exact[-1]), [2.0, 0.0], "rk4", step=0.3, events=[event])
    assert [record.t for record in trajectory.events][:3] == pytest.approx(exact[:3], abs=1e-10)


def test_accumulating_events_are_an_error():
    half = native("x[0]=0\nx[1]=-0.5*x[1]")
    trajectory = integrate(FALL, (0, 5), [2.0, 0.0], events=[Event(HEIGHT, -1, action=half, name="ground")])
    assert trajectory.status == "failed"
    assert "ground" in trajectory.message and "Zeno" in trajectory.message
    accumulation = np.sqrt(4 / G) * 3
    assert trajectory.restart.t == pytest.approx(accumulation, abs=1e-6)
    with pytest.raises(SolverError, match="accumulate"):
        trajectory.check()


@pytest.mark.parametrize("middle", [0.5, 0.21, 0.9])
def test_a_guard_that_dips_below_zero_within_a_step(middle):
    """A parabola is below zero for 0.02 of a step of 1."""
    rhs, guard = native("f[0]=1"), native(f"f[0]=(t-{middle})**2-0.0001")
    found = integrate(rhs, (0, 1), [0.0], "rk4", step=1.0, events=[Event(guard, restart=False)]).events
    assert [record.t for record in found] == pytest.approx([middle - 0.01, middle + 0.01], abs=1e-12)


def test_probes_find_a_short_visit():
    """A peak of which neither the ends nor the middle of the step show anything."""
    rhs, guard = native("f[0]=1"), native("f[0]=1.0-2.0/(1.0+((t-0.25)/0.02)**4)")
    assert not integrate(rhs, (0, 1), [0.0], "rk4", step=1.0, events=[Event(guard, restart=False)]).events
    found = integrate(rhs, (0, 1), [0.0], "rk4", step=1.0, events=[Event(guard, restart=False)], event_probes=3).events
    half = 0.02
    assert [record.t for record in found] == pytest.approx([0.25 - half, 0.25 + half], abs=1e-12)


def test_discontinuous_law():
    """x'' = -sign x has the period 4 sqrt(2 x0); the law is read on both sides of the crossing."""
    law = native("f[0]=x[1]\nf[1]=-1.0 if x[0]>0 else 1.0")
    period = 4 * np.sqrt(2 * 0.5)
    for method in ("dopri5", "dop853", "adams"):
        trajectory = integrate(law, (0, 5 * period), [0.5, 0.0], method, rtol=1e-11, atol=1e-11, events=[Event(HEIGHT)])
        times = [record.t for record in trajectory.check().events]
        assert times == pytest.approx(period * (0.25 + 0.5 * np.arange(10)), abs=1e-9)
        assert trajectory.stats.rejected < 60 * trajectory.stats.events


def test_law_with_a_mode_changed_by_the_event_is_exact():
    mode = np.full(16, 1.0)
    law, flip = native("f[0]=x[1]\nf[1]=-p[0]", mode), native("p[0]=-p[0]", mode)
    period = 4 * np.sqrt(2 * 0.5)
    trajectory = integrate(law, (0, 5 * period), [0.5, 0.0], "rk4", step=0.7, events=[Event(HEIGHT, action=flip)])
    assert [record.t for record in trajectory.events] == pytest.approx(period * (0.25 + 0.5 * np.arange(10)), abs=1e-12)


def test_bad_event_is_refused():
    with pytest.raises(InputError, match="direction"):
        Event(HEIGHT, 2)
    with pytest.raises(InputError, match="records"):
        Event(HEIGHT, terminal=True, restart=False)


def sampled(action, u, method="dopri5", **options):
    plant = native("f[0]=p[0]", u)
    return integrate(plant, (0, 1), [1.0], method, samples=[Samples(np.arange(0, 1, 0.1), action)], **options)


@pytest.mark.parametrize("method", ["dopri5", "adams", "rk4"])
def test_sampled_controller(method):
    """x' = u with u = -3 x held over 0.1 s gives x_k = 0.7^k."""
    step = 0.03 if method == "rk4" else None
    u = np.zeros(16)

    def control(t, x):
        u[0] = -3 * x[0]

    by_python = sampled(control, u, method, step=step, t_eval=np.arange(11) * 0.1)
    assert by_python.x[:, 0] == pytest.approx(0.7 ** np.arange(11), abs=1e-12)
    u[:] = 0
    by_native = sampled(native("p[0]=-3*x[0]", u), u, method, step=step, t_eval=np.arange(11) * 0.1)
    assert np.array_equal(by_python.x, by_native.x)


def test_samples_of_two_rates_meet_in_order():
    seen = []
    samples = [
        Samples([0.2, 0.4], lambda t, x: seen.append(("slow", t))),
        Samples([0.1, 0.2, 0.3, 0.4], lambda t, x: seen.append(("fast", t))),
    ]
    trajectory = integrate(FALL, (0, 0.4), [2.0, 0.0], samples=samples)
    assert seen == [("fast", 0.1), ("slow", 0.2), ("fast", 0.2), ("fast", 0.3), ("slow", 0.4), ("fast", 0.4)]
    assert {0.1, 0.2, 0.3, 0.4} <= set(trajectory.t)


def test_projection_keeps_the_quaternion_normal():
    spin = native("""
w=1.0
f[0]=0.5*(-x[1]*w-x[2]*2*w)
f[1]=0.5*(x[0]*w-x[3]*2*w)
f[2]=0.5*(x[0]*2*w+x[3]*w)
f[3]=0.5*(x[1]*2*w-x[2]*w)""")
    normalise = native("s=1/np.sqrt(x[0]**2+x[1]**2+x[2]**2+x[3]**2)\nfor i in range(4):\n    x[i]*=s")
    angle = np.sqrt(5) * 50
    exact = np.cos(angle / 2)
    for method in ("dopri5", "dop853", "adams"):
        times = np.linspace(0, 50, 77)
        drift, kept = (
            integrate(spin, (0, 50), [1.0, 0, 0, 0], method, rtol=1e-6, atol=1e-6, project=project, t_eval=times).x
            for project in (None, normalise)
        )
        assert abs(np.linalg.norm(kept, axis=1) - 1).max() < 1e-15 * 4
        assert abs(np.linalg.norm(drift, axis=1) - 1).max() > 1e-9
        assert kept[-1, 0] == pytest.approx(exact, abs=2e-4)


def test_output_function_is_recorded_with_the_rows():
    energy = native("f[0]=x[1]**2/2+9.81*x[0]\nf[1]=t")
    trajectory = integrate(FALL, (0, 1), [2.0, 0.0], t_eval=np.linspace(0, 1, 11), output=energy, output_size=2)
    assert trajectory.y[:, 0] == pytest.approx(np.full(11, 2 * G), rel=1e-9)
    assert np.array_equal(trajectory.y[:, 1], trajectory.t)


ROTATED = """
c=np.cos(p[0])
s=np.sin(p[0])
a=c*x[0]-s*x[1]
b=s*x[0]+c*x[1]
fa=-a
fb=-9.0*b-0.5*b**3
f[0]=x[2]
f[1]=x[3]
f[2]=c*fa+s*fb
f[3]=-s*fa+c*fb
"""
TURN = "\n".join(f"a=c*{v}[{i}]+s*{v}[{i + 1}]\n{v}[{i + 1}]=-s*{v}[{i}]+c*{v}[{i + 1}]\n{v}[{i}]=a" for v in "xf" for i in (0, 2))


@pytest.mark.parametrize("method", ["adams", "dopri5", "radau"])
def test_rotation_of_coordinates_in_flight(method):
    """An oscillator seen in axes that turn by 0.7 rad every 0.4 s: same work, same motion, no loss of order."""
    jacobian = native(
        """
c=np.cos(p[0])
s=np.sin(p[0])
b=s*x[0]+c*x[1]
k=9.0+1.5*b**2
for i in range(16):
    f[i]=0.0
f[2]=1.0
f[7]=1.0
f[8]=-c*c-s*s*k
f[9]=c*s-s*c*k
f[12]=s*c-s*c*k
f[13]=-s*s-c*c*k""",
        p := np.zeros(16),
        sizes=(4, 16),
    )
    rhs = native(ROTATED, p)
    decide = native("f[0]=0.0\nif t>p[1]:\n    f[0]=1.0\n    p[0]+=0.7\n    p[1]+=0.4", p)
    remap = native("c=np.cos(0.7)\ns=np.sin(0.7)\n" + TURN)
    start, options = [1.0, 0.5, 0.0, 0.3], {"rtol": 1e-9, "atol": 1e-9, "jacobian": jacobian, "dense": False}
    plain = integrate(rhs, (0, 20), start, method, **options).check()
    p[1] = 0.4
    turned = integrate(rhs, (0, 20), start, method, switch=Switch(decide, remap), **options).check()
    assert p[0] == pytest.approx(49 * 0.7, abs=0.71)
    c, s = np.cos(p[0]), np.sin(p[0])
    back = np.kron(np.eye(2), [[c, -s], [s, c]]) @ turned.restart.x
    assert back == pytest.approx(plain.x[-1], abs=3e-7)
    assert turned.stats.rhs <= 1.1 * plain.stats.rhs
    assert np.diff(turned.t)[20:-2].min() > 0.45 * np.diff(plain.t)[20:-2].min()
    if method == "adams":
        orders = [run.restart.part("ints")[0] for run in (plain, turned)]
        assert orders[1] >= orders[0] - 1


def test_nonlinear_change_of_coordinates_in_flight():
    """A Kepler orbit that changes between Cartesian and polar coordinates every 0.5 s."""
    p = np.zeros(16)
    rhs = native(
        """
if p[0]==0.0:
    r=(x[0]**2+x[1]**2)**1.5
    f[2]=-x[0]/r
    f[3]=-x[1]/r
else:
    f[2]=x[0]*x[3]**2-1/x[0]**2
    f[3]=-2*x[2]*x[3]/x[0]
f[0]=x[2]
f[1]=x[3]""",
        p,
    )
    decide = native("f[0]=0.0\nif t>p[1]:\n    f[0]=1.0\n    p[0]=1.0-p[0]\n    p[1]+=0.5", p)
    remap = native(
        """
ax=f[2]
ay=f[3]
if p[0]==1.0:
    r=np.sqrt(x[0]**2+x[1]**2)
    angle=np.arctan2(x[1],x[0])
    c=x[0]/r
    s=x[1]/r
    vr=c*x[2]+s*x[3]
    w=(c*x[3]-s*x[2])/r
    x[0]=r
    x[1]=angle
    f[2]=c*ax+s*ay+r*w*w
    f[3]=(c*ay-s*ax-2*vr*w)/r
    x[2]=vr
    x[3]=w
else:
    r=x[0]
    c=np.cos(x[1])
    s=np.sin(x[1])
    vr=x[2]
    w=x[3]
    ar=ax-r*w*w
    at=r*ay+2*vr*w
    x[0]=r*c
    x[1]=r*s
    x[2]=vr*c-r*w*s
    x[3]=vr*s+r*w*c
    f[2]=ar*c-at*s
    f[3]=ar*s+at*c
f[0]=x[2]
f[1]=x[3]""",
        p,
    )
    start, options = [0.7, 0.0, 0.0, np.sqrt(1.3 / 0.7)], {"rtol": 1e-10, "atol": 1e-10}
    plain = integrate(rhs, (0, 20.2), start, "adams", **options).check()
    p[1] = 0.5
    cartesian = native(
        """
f[0]=x[0]
f[1]=x[1]
if p[0]==1.0:
    f[0]=x[0]*np.cos(x[1])
    f[1]=x[0]*np.sin(x[1])""",
        p,
    )
    times = np.linspace(0, 20.2, 300)
    switched = integrate(
        rhs, (0, 20.2), start, "adams", switch=Switch(decide, remap), t_eval=times, output=cartesian, output_size=2, **options
    ).check()
    assert p[1] > 20
    assert switched.y == pytest.approx(plain.at(times)[:, :2], abs=3e-7)
    assert switched.stats.rhs <= 1.1 * plain.stats.rhs


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "radau"])
@pytest.mark.parametrize("spacing", [0.5, 1e-2])
def test_an_action_that_moves_its_own_guard_away_from_zero(method, spacing):
    """ẏ = 1 passes marks that are set anew by each event, several of them within what would be one step."""
    marks = native(f"x[1]=x[1]+{spacing}")
    event = Event(native("f[0]=x[0]-x[1]"), 1, action=marks)
    options = {"step": 0.013} if method == "rk4" else {}
    if method == "radau":
        options["jacobian"] = native("f[0]=0\nf[1]=0\nf[2]=0\nf[3]=0")
    run = integrate(native("f[0]=1\nf[1]=0"), (0, 5.3 * spacing * 2), [0.0, spacing], method, events=[event], **options).check()
    assert [e.t for e in run.events] == pytest.approx(spacing * np.arange(1, 11), abs=1e-9)
