"""Solutions: access, lazy channels, interpolation orders against analytic functions, slices and joins."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.errors import InputError
from jourdain.results import Channel, FrameMotion, Solution, UnknownChannelError
from jourdain.results.summary import plain_summary


def wave(n: int, **options) -> Solution:
    t = np.linspace(0.0, 2.0, n)
    both = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
    channels = {
        "q": Channel(np.sin(3 * t), "rad", "angle"),
        "v": Channel(3 * np.cos(3 * t), "rad/s"),
        "vec": Channel(both, "m"),
        "on": Channel(t >= 1.0),
        "count": Channel((t // 0.5).astype(int)),
    }
    return Solution(t, channels, {"model": "wave", "method": "exact"}, {"steps": n}, **options)


def event() -> Solution:
    """A ball that bounces at t = 1: height |1 − t|, speed jumps from −1 to +1."""
    t = np.array([0.0, 0.5, 1.0, 1.0, 1.5, 2.0])
    return Solution(
        t,
        {"h": Channel(np.abs(1 - t), "m"), "v": Channel([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0], "m/s")},
        derivatives={"h": "v"},
    )


def test_access_is_read_only_and_converts() -> None:
    sol = wave(11)
    with pytest.raises(ValueError, match="read-only"):
        sol["q"][0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        sol["q", "deg"][0] = 1.0
    np.testing.assert_allclose(sol["q", "deg"], np.degrees(sol["q"]), rtol=1e-15)
    assert sol.channel("q").description == "angle"
    np.testing.assert_array_equal(sol["t"], sol.t)
    np.testing.assert_array_equal(sol["vec[1]"], sol["vec"][:, 1])
    assert "q" in sol and "vec[1]" not in sol and len(sol) == 11


def test_names_are_sorted_and_filtered() -> None:
    sol = Solution([0.0], {"b.y": [1.0], "b.x": [1.0], "a": [1.0]})
    assert list(sol.names) == ["a", "b.x", "b.y"] == list(sol)
    assert sol.names("b.*") == ["b.x", "b.y"] == sol.names("*.x", "*.y")
    assert sol.names("none") == []


def test_unknown_name_lists_the_nearest() -> None:
    sol = Solution([0.0], {"crank.angle": [1.0], "crank.speed": [1.0], "mass": [2.0], "p": [[1.0, 2.0, 3.0]]})
    with pytest.raises(KeyError, match=r"'crank.angel' .*'crank.angle'"):
        sol["crank.angel"]
    with pytest.raises(UnknownChannelError, match=r"shape \(3,\)"):
        sol["p[3]"]
    assert sol["p.z"][0] == 3.0
    with pytest.raises(UnknownChannelError):
        sol["mass.x"]
    with pytest.raises(InputError, match="cannot convert"):
        Solution([0.0], {"x": Channel([1.0], "m")})["x", "N"]


@pytest.mark.parametrize("name", ["", ".", "a..b", "a/b", "a[0]", " a", "t", "a\nb", 'a"b', "x" * 300, 3])
def test_names_that_no_file_could_hold_are_refused(name) -> None:
    with pytest.raises(InputError, match="channel name"):
        Solution([0.0], {name: [1.0]})


@pytest.mark.parametrize(
    ("t", "x", "words"),
    [
        ([0.0, 1.0], [1.0], "'x'.*1 samples.*2 times"),
        ([0.0, -1.0], [1.0, 2.0], "goes back"),
        ([0.0, np.nan], [1.0, 2.0], "not finite"),
        ([[0.0]], [[1.0]], "shape"),
        ([0.0], [1j], "'x'.*complex"),
        ([0.0], 1.0, "'x'.*single number"),
        ([0.0], ["a"], "not real numbers"),
    ],
)
def test_bad_samples_are_refused(t, x, words) -> None:
    with pytest.raises(InputError, match=words):
        Solution(t, {"x": x})


def test_lazy_channels_are_computed_once_and_checked() -> None:
    calls = []

    def force() -> np.ndarray:
        calls.append(1)
        return np.arange(3.0)

    sol = Solution([0.0, 1.0, 2.0], {"force": (force, "N", "reaction"), "bad": lambda: np.zeros(2)})
    part = sol.between(0.0, 1.0)
    assert not calls and "on demand" in plain_summary(sol)
    np.testing.assert_array_equal(sol["force"], [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(part["force", "kN"], [0.0, 1e-3])
    assert sol["force"] is sol["force"] and len(calls) == 1
    with pytest.raises(InputError, match="2 samples"):
        sol["bad"]


# -- interpolation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("derivatives", "order"), [({"q": "v"}, 4), ({}, 2)])
def test_interpolation_order(derivatives: dict[str, str], order: int) -> None:
    probe = np.random.default_rng(0).uniform(0.0, 2.0, 500)
    exact = np.sin(3 * probe)
    errors = [np.abs(wave(n, derivatives=derivatives).at(probe)["q"] - exact).max() for n in (21, 41, 81)]
    observed = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(observed - order) < 0.25), observed


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(0, 2))
@settings(deadline=None, max_examples=60)
def test_hermite_is_exact_for_cubics(c: list[float], t: float) -> None:
    nodes = np.array([0.0, 0.7, 2.0])
    p = np.polynomial.Polynomial(c)
    sol = Solution(nodes, {"x": p(nodes), "dx": p.deriv()(nodes)}, derivatives={"x": "dx"})
    assert sol.at(t)["x"] == pytest.approx(p(t), abs=1e-11)


def test_derivative_in_other_units_is_converted() -> None:
    t = np.linspace(0, 1, 5)
    cubic, slope = t**3, 3 * t**2
    sol = Solution(
        t,
        {"x": Channel(np.degrees(cubic), "deg"), "v": Channel(slope, "rad/s")},
        derivatives={"x": "v"},
    )
    assert sol.at(0.4)["x"] == pytest.approx(np.degrees(0.4**3), rel=1e-13)
    with pytest.raises(InputError, match="'f' cannot be the derivative of 'x'"):
        Solution([0.0], {"x": Channel([1.0], "m"), "f": Channel([1.0], "N")}, derivatives={"x": "f"})
    with pytest.raises(InputError, match="shape"):
        Solution([0.0], {"x": [1.0], "v": [[1.0, 2.0]]}, derivatives={"x": "v"})


def test_dense_output_is_used_between_samples() -> None:
    sol = wave(5, dense=lambda t: {"q": np.sin(3 * t)})
    probe = np.linspace(0, 2, 33)
    np.testing.assert_allclose(sol.at(probe)["q"], np.sin(3 * probe), atol=1e-15)
    joined = sol.between(0, 0.7) + sol.between(0.7, 2)
    np.testing.assert_allclose(joined.at(probe)["q"], np.sin(3 * probe), atol=1e-15)


def test_shapes_and_held_states_at_times() -> None:
    sol = wave(9)
    assert np.shape(sol.at(0.3)["vec"]) == (2,)
    assert np.shape(sol.at(0.3)["q"]) == ()
    assert sol.at([[0.1, 0.2, 0.3]])["vec"].shape == (1, 3, 2)
    assert sol.at([[0.1, 0.2, 0.3]])["vec[1]"].shape == (1, 3)
    np.testing.assert_array_equal(sol.at([0.99, 1.0, 1.3])["on"], [False, True, True])
    assert sol.at(0.74)["count"] == 1 and sol.at(0.74)["count"].dtype == np.int64
    np.testing.assert_array_equal(sol.at(sol.t)["q"], sol["q"])
    assert set(sol.at(0.3)) == set(sol.names)


def test_events_have_a_left_and_a_right_value() -> None:
    sol = event()
    assert sol.at(1.0)["v"] == 1.0 and sol.at(1.0, side="left")["v"] == -1.0
    assert sol.at(0.999999)["v"] == -1.0 and sol.at(1.000001)["v"] == 1.0
    probe = np.linspace(0, 2, 41)
    np.testing.assert_allclose(sol.at(probe)["h"], np.abs(1 - probe), atol=1e-15)
    with pytest.raises(InputError, match="side"):
        sol.at(1.0, side="middle")  # type: ignore[arg-type]


def test_nothing_is_extrapolated() -> None:
    for t in (-0.1, 2.1, np.nan):
        with pytest.raises(InputError, match=r"outside.*\[0, 2\]"):
            wave(5).at(t)
    with pytest.raises(InputError, match="no samples"):
        Solution([], {}).at(0.0)


def test_resample_keeps_units_and_metadata() -> None:
    sol = wave(41, derivatives={"q": "v"})
    fine = sol.resample(401)
    assert len(fine) == 401 and fine.metadata == sol.metadata and fine.channel("q").unit == "rad"
    np.testing.assert_allclose(fine["q"], np.sin(3 * fine.t), atol=3e-6)
    np.testing.assert_array_equal(fine.resample(sol.t)["q"], fine.at(sol.t)["q"])


# -- parts and wholes --------------------------------------------------------------------------------------------------


@given(st.floats(0, 2))
@settings(deadline=None, max_examples=60)
def test_parts_add_up_to_the_whole(cut: float) -> None:
    for sol in (event(), wave(9, derivatives={"q": "v"})):
        both = sol.between(0.0, cut) + sol.between(cut, 2.0)
        probe = np.linspace(0, 2, 57)
        name = sol.names[-1] if "h" not in sol else "h"
        np.testing.assert_allclose(both.at(probe)[name], sol.at(probe)[name], atol=1e-12)
        assert both.t[0] == 0.0 and both.t[-1] == 2.0


def test_cut_at_an_event_restores_every_sample() -> None:
    sol = event()
    first, second = sol.between(0, 1), sol.between(1, 2)
    assert first["v"][-1] == -1.0 and second["v"][0] == 1.0
    both = first + second
    np.testing.assert_array_equal(both.t, sol.t)
    np.testing.assert_array_equal(both["v"], sol["v"])
    inner = sol.between(0.6, 0.7)
    np.testing.assert_array_equal(inner.t, [0.6, 0.7])
    np.testing.assert_allclose(inner["h"], [0.4, 0.3], atol=1e-15)
    assert len(sol.between(1.0, 1.0)) == 1
    with pytest.raises(InputError, match="swap"):
        sol.between(1.0, 0.5)


def test_concatenate_converts_units_and_adds_statistics() -> None:
    a = Solution([0.0, 1.0], {"x": Channel([0.0, 1.0], "m")}, {"run": 1}, {"steps": 3, "method": "a"})
    b = Solution([1.0, 2.0], {"x": Channel([1000.0, 2000.0], "mm")}, {"run": 2}, {"steps": 4, "method": "b"})
    both = a + b
    np.testing.assert_allclose(both["x"], [0.0, 1.0, 1.0, 2.0])
    assert both.statistics == {"steps": 7, "method": "a"}
    assert both.metadata == {"run": 1, "continued": [{"run": 2}]}
    with pytest.raises(InputError, match="begins at 0 s"):
        b + a
    with pytest.raises(InputError, match="'y'"):
        a + Solution([1.0], {"x": [1.0], "y": [1.0]})


def test_final_select_and_added_channels() -> None:
    sol = wave(5)
    assert sol.final["q"] == sol["q"][-1] and sol.final["vec"].shape == (2,)
    assert list(sol.select("q", "v").names) == ["q", "v"]
    with pytest.raises(UnknownChannelError):
        sol.select("zzz")
    more = sol.with_channels(**{"power.loss": (2 * sol["v"], "W")})
    assert more.channel("power.loss").unit == "W" and "power.loss" not in sol


# -- frames ------------------------------------------------------------------------------------------------------------


def turning(n: int) -> Solution:
    t = np.linspace(0.0, 4.0, n)

    def provider(name: str) -> tuple[np.ndarray, ...]:
        if name != "rod.end":
            raise UnknownChannelError(f"frame {name!r} is unknown")
        R = Rotation.from_rotvec(np.outer(2.0 * t, [0, 0, 1])).as_matrix()
        position = np.stack([np.cos(2 * t), np.sin(2 * t), 0 * t], axis=1)
        return position, R, 2.0 * np.stack([-np.sin(2 * t), np.cos(2 * t), 0 * t], axis=1)

    return Solution(t, {"x": t}, frame_provider=provider)


def test_frames_come_from_the_provider() -> None:
    sol = turning(41)
    frame = sol.frame("rod.end")
    assert isinstance(frame, FrameMotion)
    assert frame.position.shape == (41, 3) and frame.rotation.shape == (41, 3, 3) and frame.velocity.shape == (41, 3)
    half = sol.t  # the angle is 2t, half of it t, past 180 degrees: signs must not flip
    np.testing.assert_allclose(frame.quaternion, np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], 1), atol=1e-14)
    with pytest.raises(KeyError, match="'nowhere'"):
        sol.frame("nowhere")
    with pytest.raises(KeyError, match="'a'"):
        wave(3).frame("a")


def test_frames_follow_into_derived_solutions() -> None:
    sol = turning(81)
    for other in (sol.resample(200), sol.between(0.33, 3.21), sol.between(0, 2) + sol.between(2, 4), sol.select("x")):
        frame, t = other.frame("rod.end"), other.t
        np.testing.assert_allclose(frame.position[:, 0], np.cos(2 * t), atol=1e-6)
        np.testing.assert_allclose(frame.rotation[:, 0, 0], np.cos(2 * t), atol=1e-12)
        np.testing.assert_allclose(np.linalg.det(frame.rotation), 1.0, atol=1e-12)


def test_frames_kept_as_channels_need_no_provider() -> None:
    kept = turning(11).with_frames("rod.end")
    kept.frame_provider = None
    np.testing.assert_array_equal(kept.frame("rod.end").rotation, turning(11).frame("rod.end").rotation)
    assert kept.channel("rod.end.velocity").unit == "m/s"


def test_provider_that_can_be_rebound_is_asked_anew() -> None:
    class Provider:
        def __init__(self, sol: Solution | None = None) -> None:
            self.sol = sol

        def rebind(self, sol: Solution) -> "Provider":
            return Provider(sol)

        def __call__(self, name: str) -> dict[str, np.ndarray]:
            n = len(self.sol.t)
            return {"position": np.stack([self.sol.t] * 3, 1), "rotation": np.tile(np.eye(3), (n, 1, 1))}

    sol = Solution([0.0, 1.0], {"x": [0.0, 1.0]}, frame_provider=Provider())
    frame = sol.resample([0.0, 0.3, 1.0]).frame("any")
    np.testing.assert_array_equal(frame.position[:, 0], [0.0, 0.3, 1.0])
    assert frame.velocity is None


def test_bad_frame_shape_is_named() -> None:
    sol = Solution([0.0], {}, frame_provider=lambda name: (np.zeros((1, 2)), np.eye(3)[None]))
    with pytest.raises(InputError, match=r"frame 'f': position has shape \(1, 2\)"):
        sol.frame("f")


# -- printing, pickling, metadata --------------------------------------------------------------------------------------


def test_summary_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    print(wave(11))
    text = capsys.readouterr().out
    for word in ("wave", "exact", "0 … 2 s", "11 samples", "steps 11", "rad/s", "angle", "True"):
        assert word in text, word
    assert "wave" in repr(wave(3)) and "no samples" in str(Solution([], {}))


def test_summary_on_a_rich_console() -> None:
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), width=120)
    console.print(wave(11))
    assert "rad/s" in console.file.getvalue()


def test_long_summary_is_cut() -> None:
    sol = Solution([0.0], {f"x{i}": [1.0] for i in range(100)})
    assert "60 more" in str(sol) and len(str(sol).splitlines()) < 50


def test_pickle_computes_what_is_lazy() -> None:
    sol = Solution([0.0, 1.0], {"x": lambda: np.arange(2.0)}, {"a": 1}, frame_provider=lambda name: None, system=object())
    again = pickle.loads(pickle.dumps(sol))
    np.testing.assert_array_equal(again["x"], [0.0, 1.0])
    assert again.metadata == {"a": 1} and again.system is None


def test_metadata_is_plain_data() -> None:
    sol = Solution([0.0], {}, {"a": np.float64(1.5), "b": (1, np.arange(2)), "c": {"d": None}})
    assert sol.metadata == {"a": 1.5, "b": [1, [0, 1]], "c": {"d": None}}
    with pytest.raises(InputError, match=r"metadata\['x'\].*object"):
        Solution([0.0], {}, {"x": object()})
    with pytest.raises(InputError, match="not text"):
        Solution([0.0], {}, {"x": {1: 2}})


def test_fewer_channels_leave_the_frames_alone() -> None:
    import jourdain as jd

    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    sol = m.compile().simulate({"hinge": 0.5}, t=0.5)
    few = sol.select("energy.total")
    np.testing.assert_array_equal(few.frame("bob").rotation, sol.frame("bob").rotation)


def test_joined_runs_are_interpolated_on_either_side() -> None:
    import jourdain as jd

    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    s = m.compile()
    first = s.simulate({"hinge": 0.5}, t=0.5)
    both = first + s.simulate(first, t=0.5)
    whole = s.simulate({"hinge": 0.5}, t=1.0)
    for t in (0.2, 0.8, [0.2, 0.8]):
        np.testing.assert_allclose(both.at(t)["hinge.angle"], whole.at(t)["hinge.angle"], atol=1e-7)


def test_refining_follows_the_motion_and_keeps_both_sides_of_events() -> None:
    import jourdain as jd
    from jourdain.results.refine import refined

    m = jd.Model("ball")
    slide = m.prismatic("slide", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("bounce", slide.position, direction=-1, jump={slide.velocity: -0.5 * slide.velocity})
    sol = m.compile().simulate({"slide": 1.0}, t=0.7)
    fine = refined(sol, 100)
    impact = np.sqrt(2 / 9.81)
    assert len(fine) > 100 > len(sol) and np.diff(fine.t).max() <= 0.007 * (1 + 1e-9)
    assert np.count_nonzero(np.diff(fine.t) == 0) == np.count_nonzero(np.diff(sol.t) == 0) == 1
    falling = fine.t < impact
    np.testing.assert_allclose(fine["slide.displacement"][falling], 1 - 4.905 * fine.t[falling] ** 2, atol=1e-9)
    after = fine.t > impact
    t = fine.t[after] - impact
    np.testing.assert_allclose(fine["slide.displacement"][after], 0.5 * 9.81 * impact * t - 4.905 * t**2, atol=1e-8)
    np.testing.assert_allclose(fine.frame("ball").position[:, 2], fine["slide.displacement"], atol=1e-12)
    assert refined(sol.resample(200), 100) is not sol


def test_refining_needs_no_coordinates() -> None:
    import jourdain as jd
    from jourdain.results.refine import refined

    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    few = m.compile().simulate({"hinge": 0.5}, t=2.0).select("hinge.angle_rate", "energy.total")
    assert set(refined(few).names) == {"hinge.angle_rate", "energy.total"} and len(refined(few)) > 400


def test_channels_may_be_added_to_a_few_that_were_chosen() -> None:
    """Frames stay where they are: they need no channels that were left out."""
    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.5)), axis="y")
    sol = m.compile().simulate({"hinge.angle": 1.0}, 0.1)
    more = sol.select("hinge.angle").with_channels(twice=Channel(2.0 * sol["hinge.angle"], "rad"))
    np.testing.assert_array_equal(more.frame("bob").position, sol.frame("bob").position)
