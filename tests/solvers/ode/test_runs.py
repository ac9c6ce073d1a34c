"""Going on after a pause, interruption, diagnosis of failures, checks of input."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest

from jourdain.errors import InputError, SolverError
from jourdain.solvers import Event, NativeFunction, Samples, integrate
from tests.solvers.native import native

PENDULUM = native("f[0]=x[1]\nf[1]=-np.sin(x[0])-0.1*x[1]")
JACOBIAN = native("f[0]=0\nf[1]=1\nf[2]=-np.cos(x[0])\nf[3]=-0.1")
STEPS = {"rk4": 0.05, "semi-implicit-euler": 0.01, "velocity-verlet": 0.01}
METHODS = ("rk4", "dopri5", "dop853", "adams", "rosenbrock", "radau", "velocity-verlet")


def run(method, span, x0, **options):
    return integrate(PENDULUM, span, x0, method, step=STEPS.get(method), jacobian=JACOBIAN, **options)


@pytest.mark.parametrize("method", METHODS)
def test_restart_equals_uninterrupted_run(method):
    whole = run(method, (0, 20), [1.0, 0.0]).check()
    part = run(method, (0, 20), [1.0, 0.0], max_steps=17)
    assert part.status == "max_steps"
    checkpoint = pickle.loads(pickle.dumps(part.restart))
    rest = run(method, (checkpoint.t, 20), checkpoint).check()
    assert np.array_equal(np.concatenate([part.t, rest.t[1:]]), whole.t)
    assert np.array_equal(np.concatenate([part.x, rest.x[1:]]), whole.x)
    assert part.stats.steps + rest.stats.steps == whole.stats.steps
    assert part.stats.rhs + rest.stats.rhs == whole.stats.rhs


@pytest.mark.parametrize("method", ["euler", "heun", "rk4", "velocity-verlet"])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_runs_of_one_step_each_stay_on_the_grid(method, direction):
    """Fixed steps go on forwards after any number of runs that each ended at a point of their grid."""
    go = lambda a, b, x: integrate(PENDULUM, (direction * a, direction * b), x, method, step=0.125, jacobian=JACOBIAN).check()
    whole = go(0.0, 1.25, [1.0, 0.0])
    parts, x = [], [1.0, 0.0]
    for a, b in ((0.0, 0.125), (0.125, 0.25), (0.25, 0.375), (0.375, 0.75), (0.75, 0.875), (0.875, 1.25)):
        parts.append(go(a, b, x))
        x = parts[-1].restart
    assert np.array_equal(np.concatenate([[0.0], *(p.t[1:] for p in parts)]), whole.t)
    assert np.array_equal(parts[-1].x[-1], whole.x[-1])


def test_the_short_way_of_rk4_is_the_general_one():
    """Its own loop and the marching loop give the same bits, whatever the span."""
    for span, step in (((0, 1), 1e-2), ((0.3, 2.05), 0.07), ((2, 0), 0.013), ((-1, 1), 1e-2), ((0, 0.05), 0.1)):
        short = integrate(PENDULUM, span, [1.0, 0.3], "rk4", step=step)
        general = integrate(PENDULUM, span, [1.0, 0.3], "rk4", step=step, jacobian=JACOBIAN)
        assert np.array_equal(short.t, general.t) and np.array_equal(short.x, general.x)
        assert short.at(short.t) == pytest.approx(general.at(short.t), abs=1e-15)


def test_continuation_beyond_the_end_keeps_the_tolerance():
    whole = run("adams", (0, 20), [1.0, 0.0], rtol=1e-9).x[-1]
    part = run("adams", (0, 11), [1.0, 0.0], rtol=1e-9)
    rest = run("adams", (11, 20), part.restart, rtol=1e-9)
    assert rest.x[-1] == pytest.approx(whole, abs=1e-7)
    assert rest.stats.steps < 0.7 * part.stats.steps * 20 / 11


def test_wanted_times_equal_the_interpolant_of_every_step():
    times = np.linspace(0, 20, 333)
    for method in METHODS:
        every, wanted = run(method, (0, 20), [1.0, 0.0]), run(method, (0, 20), [1.0, 0.0], t_eval=times)
        assert np.array_equal(wanted.t, times)
        assert wanted.x == pytest.approx(every.at(times), abs=1e-12)
        assert every.at(every.t) == pytest.approx(every.x, abs=1e-5)
        assert wanted.segments is None
    with pytest.raises(InputError, match="dense=True"):
        wanted.at(1.0)
    with pytest.raises(InputError, match="leaves"):
        every.at(21.0)


def test_many_steps_pass_through_small_buffers():
    trajectory = run("rk4", (0, 500), [1.0, 0.0])
    assert trajectory.t.size == trajectory.stats.steps + 1 == 10001
    assert trajectory.t == pytest.approx(np.arange(10001) * 0.05, rel=1e-14)
    assert np.array_equal(trajectory.at(trajectory.t[:-1]), trajectory.x[:-1])


def test_ctrl_c_returns_what_is_done():
    timer = threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    trajectory = run("rk4", (0, 1e9), [1.0, 0.0], t_eval=np.arange(0, 1e6, 10.0))
    assert trajectory.status == "interrupted"
    assert 0 < trajectory.restart.t < 1e9
    assert trajectory.t[-1] <= trajectory.restart.t
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    rest = run("rk4", (trajectory.restart.t, trajectory.restart.t + 1), trajectory.restart)
    assert rest.status == "finished"


def test_ctrl_c_inside_an_action():
    def action(t, x):
        if t > 3:
            raise KeyboardInterrupt

    trajectory = run("dopri5", (0, 10), [1.0, 0.0], samples=[Samples(np.arange(1.0, 10.0), action)])
    assert trajectory.status == "interrupted" and trajectory.t[-1] == 4.0


def test_error_of_an_action_reaches_the_caller_with_what_was_done():
    def action(t, x):
        raise ZeroDivisionError("controller")

    trajectory = run("dopri5", (0, 10), [1.0, 0.0], samples=[Samples([1.0], action)])
    assert trajectory.status == "failed" and trajectory.t[-1] == 1.0 and isinstance(trajectory.cause, ZeroDivisionError)
    with pytest.raises(SolverError, match="controller"):
        trajectory.check()


@pytest.mark.parametrize("kind", ["sample", "event"])
def test_a_jump_that_is_not_finite_is_named(kind):
    options = {
        "sample": {"samples": [Samples([1.0], lambda t, x: [np.nan, 0.0], name="kick")]},
        "event": {"events": [Event(native("f[0]=t-1.0"), action=lambda t, x: [np.inf, 0.0], name="kick")]},
    }[kind]
    trajectory = run("dopri5", (0, 10), [1.0, 0.0], **options)
    assert trajectory.status == "failed" and trajectory.t[-1] == pytest.approx(1.0)
    assert "jump of 'kick' at t = 1 s gives numbers that are not finite" in trajectory.message


@pytest.mark.parametrize("method", METHODS)
def test_nan_is_located(method):
    rhs = native("f[0]=x[1]\nf[1]=np.log(1.0-t)")
    jacobian, rate = native("f[0]=0\nf[1]=1\nf[2]=0\nf[3]=0"), native("f[0]=0\nf[1]=-1/(1.0-t)")
    options = {"jacobian": jacobian, "time_derivative": rate}
    trajectory = integrate(rhs, (0, 3), [0.0, 0.0], method, step=STEPS.get(method), **options)
    assert trajectory.status == "failed"
    assert "component 1" in trajectory.message and "not finite" in trajectory.message
    assert float(trajectory.message.split("t = ")[1].split(" s")[0]) == pytest.approx(1.0, abs=0.06)
    assert trajectory.t[-1] <= 1.06
    with pytest.raises(SolverError, match="component 1"):
        trajectory.check()


@pytest.mark.parametrize("method", METHODS)
def test_failing_right_hand_side_is_reported(method):
    rhs = native("f[0]=1.0\nf[1]=0.0", status="7 if t > 1.0 else 0")
    jacobian = native("for i in range(4):\n    f[i]=0.0")
    options = {"time_derivative": native("f[0]=0\nf[1]=0")}
    trajectory = integrate(rhs, (0, 3), [0.0, 0.0], method, step=STEPS.get(method), jacobian=jacobian, **options)
    assert trajectory.status == "failed" and "status 7" in trajectory.message
    assert trajectory.t[-1] == pytest.approx(1.0, abs=0.06)


def test_recoverable_failure_costs_only_a_smaller_step():
    """The right-hand side refuses x > 1.2, which only too long steps reach."""
    rhs = native("f[0]=50*(1-x[0])", status="1 if x[0] > 1.05 else 0")
    trajectory = integrate(rhs, (0, 1), [0.0], step=0.5, rtol=1e-3).check()
    assert trajectory.stats.rejected > 0
    assert trajectory.x[-1, 0] == pytest.approx(1.0, abs=1e-3)


def test_blow_up_is_reported_with_its_time():
    trajectory = integrate(native("f[0]=x[0]**2"), (0, 2), [1.0])
    assert trajectory.status == "failed"
    assert trajectory.restart.t == pytest.approx(1.0, abs=1e-6)


def test_failing_hook_is_reported():
    bad = native("", status="3")
    trajectory = run("dopri5", (0, 1), [1.0, 0.0], project=bad)
    assert trajectory.status == "failed" and "status 3" in trajectory.message
    trajectory = run("dopri5", (0, 1), [1.0, 0.0], events=[Event(bad)])
    assert trajectory.status == "failed" and "guard" in trajectory.message


def test_statistics_count_evaluations():
    tally = np.zeros(16)
    rhs = native("p[0]+=1\nf[0]=x[1]\nf[1]=-x[0]", tally)
    for method in METHODS:
        tally[0] = 0
        options = {"time_derivative": native("f[0]=0\nf[1]=0"), "jacobian": native("f[0]=0\nf[1]=1\nf[2]=-1\nf[3]=0")}
        trajectory = integrate(rhs, (0, 5), [1.0, 0.0], method, step=STEPS.get(method), **options)
        assert trajectory.stats.rhs == tally[0]
    assert "evaluations" in str(trajectory)


def test_threads_do_not_disturb_each_other():
    results = {}

    def work(k):
        results[k] = run("dopri5", (0, 200), [0.1 * k, 0.0], dense=False).x[-1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(1, 5):
        assert np.array_equal(results[k], run("dopri5", (0, 200), [0.1 * k, 0.0], dense=False).x[-1])


def test_tolerance_for_each_state():
    tight = run("dopri5", (0, 5), [1.0, 0.0], atol=[1e-12, 1e-12], rtol=1e-12)
    loose = run("dopri5", (0, 5), [1.0, 0.0], atol=[1e-3, 1e-12], rtol=1e-12)
    assert loose.stats.steps < tight.stats.steps


@pytest.mark.parametrize(
    "options, words",
    [
        ({"method": "rk4"}, "fixed step"),
        ({"method": "radau"}, "jacobian"),
        ({"x0": [1.0, np.nan]}, "component 1"),
        ({"x0": []}, "empty"),
        ({"t_span": (0, np.inf)}, "finite"),
        ({"step": -1.0}, "positive"),
        ({"rtol": 0.0}, "rtol"),
        ({"t_eval": [0.0, 2.0, 1.0]}, "turning back"),
        ({"t_eval": [0.0, 11.0]}, "leaves"),
        ({"output": PENDULUM}, "output_size"),
        ({"method": "velocity-verlet", "x0": [1.0, 2.0, 3.0], "step": 0.1}, "positions"),
    ],
)
def test_bad_input_is_refused(options, words):
    arguments = {"t_span": (0, 10), "x0": [1.0, 0.0]} | options
    with pytest.raises(InputError, match=words):
        integrate(PENDULUM, **arguments)


def test_checkpoint_of_another_method_is_refused():
    checkpoint = run("dopri5", (0, 1), [1.0, 0.0]).restart
    with pytest.raises(InputError, match="dopri5"):
        run("adams", (1, 2), checkpoint)


def test_empty_span_returns_the_start():
    trajectory = run("dopri5", (1, 1), [1.0, 0.5], t_eval=[1.0])
    assert trajectory.status == "finished" and trajectory.x.tolist() == [[1.0, 0.5]]


def test_native_function_can_be_called_from_python():
    out = np.zeros(2)
    assert isinstance(PENDULUM, NativeFunction)
    assert PENDULUM(0.0, np.array([1.0, 2.0] + [0.0] * 6), out) == 0
    assert out == pytest.approx([2.0, -np.sin(1.0) - 0.2])


def test_progress_bar_is_drawn(capsys):
    run("dopri5", (0, 5), [1.0, 0.0], progress=True)
    assert "t =" in capsys.readouterr().out


def test_rows_between_samples_are_all_there_however_the_run_ends():
    """Python acts at 40 instants and gives up at the last, or Ctrl-C comes in the middle: what was done is kept."""
    rhs = native("f[0]=x[1]\nf[1]=-x[0]")
    times = np.linspace(0.1, 4.0, 40)
    whole = integrate(rhs, (0, 4), [1.0, 0.0], rtol=1e-9, samples=[Samples(times, lambda t, x: None)])
    assert set(times) <= set(whole.t)
    assert np.abs(whole.x[:, 0] - np.cos(whole.t)).max() < 1e-7
    assert np.abs(whole.at(np.linspace(0, 4, 99))[:, 0] - np.cos(np.linspace(0, 4, 99))).max() < 1e-7

    def interrupt(t, x):
        if t > 2.0:
            os.kill(os.getpid(), signal.SIGINT)

    part = integrate(rhs, (0, 4), [1.0, 0.0], rtol=1e-9, samples=[Samples(times, interrupt)])
    assert part.status == "interrupted"
    assert 2.0 < part.t[-1] < 4.0
    np.testing.assert_array_equal(part.t, whole.t[: part.t.size])
    np.testing.assert_array_equal(part.x, whole.x[: part.t.size])
    assert part.segments.end[-1] == part.t[-1] == part.restart.t
