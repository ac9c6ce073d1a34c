"""Plots: what is drawn is what the solution holds, in the unit asked for; files are written; errors are clear."""

from pathlib import Path

import numpy as np
import pytest

from jourdain.errors import InputError
from jourdain.results import Channel, Solution, UnknownChannelError
from jourdain.results.events import EventTable, Occurrence

pytest.importorskip("matplotlib")
from jourdain.results import plots
from jourdain.results.modal_plots import _normalised, crossings


@pytest.fixture(scope="module")
def sol() -> Solution:
    t = np.linspace(0, 2, 201)
    channels = {
        "crank.angle": Channel(0.5 + 3 * np.sin(2 * np.pi * 5 * t), "rad"),
        "crank.speed": Channel(np.cos(t), "rad/s"),
        "force": Channel(np.stack([t, 2 * t, 3 * t], 1), "N"),
        "load": Channel(4 * t, "kN"),
        "on": Channel(t > 1),
        "odd": Channel(t, "furlong"),
    }
    return Solution(t, channels, {"model": "engine"})


def lines(axes) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def test_one_axis_a_unit(sol: Solution) -> None:
    figure = sol.plot("crank.*", "force", "load", unit={"load": "N"})
    angle, speed, force = figure.axes
    np.testing.assert_array_equal(lines(angle)["crank.angle"], sol["crank.angle"])
    np.testing.assert_allclose(lines(force)["load"], 1e3 * sol["load"])
    np.testing.assert_array_equal(lines(force)["force.y"], sol["force"][:, 1])
    assert angle.get_ylabel() == "crank.angle [rad]" and force.get_ylabel() == "force [N]"
    assert force.get_xlabel() == "time [s]" and angle.get_shared_x_axes().joined(angle, force)
    assert [text.get_text() for text in force.get_legend().get_texts()] == ["force.x", "force.y", "force.z", "load"]
    assert speed.get_legend() is None and angle.get_title("left") == "engine"


def test_events_are_marked_in_every_axis(sol: Solution) -> None:
    hits = EventTable(Occurrence("hit", t, {}, {}) for t in (0.5, 1.25, 1.25))
    run = Solution(sol.t, {n: sol.channel(n) for n in ("crank.angle", "force")}, events=hits)
    for axes in run.plot().axes:
        assert sorted(line.get_xdata()[0] for line in axes.lines if line.get_label().startswith("_")) == [0.5, 1.25]
    assert [text.get_text() for text in run.plot().axes[0].texts] == ["hit", "hit"]
    assert not any(line.get_label().startswith("_") for line in run.plot(events=False).axes[0].lines)


def test_a_unit_applies_where_it_fits(sol: Solution) -> None:
    figure = sol.plot("crank.angle", "on", unit="deg")
    np.testing.assert_allclose(lines(figure.axes[0])["crank.angle"], np.degrees(sol["crank.angle"]))
    np.testing.assert_array_equal(lines(figure.axes[1])["on"], sol["on"])
    assert figure.axes[1].lines[0].get_drawstyle() == "steps-post"
    with pytest.raises(InputError, match="'deg' fits none"):
        sol.plot("force", unit="deg")
    with pytest.raises(InputError, match="'degg'"):
        sol.plot("crank.angle", unit="degg")
    with pytest.raises(InputError, match="cannot convert"):
        sol.plot("force", unit={"force": "deg"})
    assert len(sol.plot("odd").axes) == 1 and len(sol.plot().axes) == 6


def test_wrong_names_and_too_many_lines(sol: Solution) -> None:
    with pytest.raises(UnknownChannelError, match=r"crank\.angle"):
        sol.plot("crank.angel")
    with pytest.raises(InputError, match="100 lines"):
        Solution([0.0], {"x": np.zeros((1, 100))}).plot()
    with pytest.raises(UnknownChannelError):
        Solution([0.0], {}).plot()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_files_are_written_without_a_window(sol: Solution, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"p{suffix}"
    sol.plot("crank.angle", file=file)
    assert file.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


def test_png_shows_the_line_in_the_first_colour(sol: Solution, tmp_path: Path) -> None:
    from matplotlib.image import imread

    sol.plot("crank.angle", file=tmp_path / "p.png")
    pixels = imread(tmp_path / "p.png")[..., :3]
    blue = np.abs(pixels - np.array([0x00, 0x72, 0xB2]) / 255).max(-1) < 0.02
    assert 0.002 < blue.mean() < 0.2 and (pixels.min(-1) > 0.99).mean() > 0.5


def test_user_settings_are_left_alone(sol: Solution) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    sol.plot("crank.angle")
    assert dict(matplotlib.rcParams) == before


def test_phase_plane(sol: Solution) -> None:
    axes = plots.phase(sol, "crank.angle", "crank.speed", unit={"crank.angle": "deg"}).axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), np.degrees(sol["crank.angle"]))
    assert axes.get_xlabel() == "crank.angle [deg]" and axes.get_ylabel() == "crank.speed [rad/s]"
    with pytest.raises(InputError, match="vector"):
        plots.phase(sol, "force", "load")


def test_spectrum_of_a_sine_shows_its_amplitude() -> None:
    t = np.linspace(0, 2, 401)
    sol = Solution(t, {"x": 0.5 + 3 * np.sin(2 * np.pi * 5 * t) + 0.2 * np.cos(2 * np.pi * 20 * t), "p": np.zeros((401, 2))})
    frequency, amplitude = plots.amplitude_spectrum(sol, "x", samples=400)
    assert amplitude[np.argmin(abs(frequency - 5))] == pytest.approx(3.0, rel=1e-12)
    assert amplitude[np.argmin(abs(frequency - 20))] == pytest.approx(0.2, rel=1e-11)
    assert amplitude[np.abs(frequency - 12) < 2].max() < 1e-12 and amplitude[0] < 1e-12
    assert plots.spectrum(sol, "x").axes[0].get_yscale() == "log"
    with pytest.raises(InputError, match="vector"):
        plots.amplitude_spectrum(sol, "p")
    with pytest.raises(InputError, match="at least 4"):
        plots.amplitude_spectrum(Solution([0.0], {"x": [1.0]}), "x")


def test_spectra_of_different_units_are_not_mixed(sol: Solution) -> None:
    with pytest.raises(InputError, match="one unit"):
        plots.spectrum(sol, "crank.*")
    axes = plots.spectrum(sol, "load", unit="N", max_frequency=10.0).axes[0]
    assert axes.get_ylabel() == "amplitude of load [N]" and axes.lines[0].get_xdata().max() <= 10.0


def test_compare_runs(sol: Solution) -> None:
    other = Solution([0.0, 1.0], {"load": Channel([5.0, 6.0], "N")})
    axes = plots.compare([sol, other], "load", ["a", "b"]).axes[0]
    np.testing.assert_allclose(lines(axes)["b"], [5e-3, 6e-3])
    assert axes.get_ylabel() == "load [kN]"
    with pytest.raises(InputError, match="2 solutions but 1 labels"):
        plots.compare([sol, other], "load", ["a"])
    with pytest.raises(InputError, match="no solutions"):
        plots.compare([], "load")
    with pytest.raises(InputError, match="vector"):
        plots.compare([sol], "force")


def test_mode_table_shows_frequency_damping_and_shapes() -> None:
    shapes = np.array([[1.0, 1.0], [2.0, -0.5]])
    axes = plots.mode_table([-0.1 + 2j * np.pi, -1 + 10j], shapes, ["hip", "knee"]).axes[0]
    heads = [label.get_text() for label in axes.get_xticklabels()]
    assert heads[0].startswith("1\n1") and "ζ = 1.59 %" in heads[0]
    assert [text.get_text() for text in axes.texts] == ["0.50", "1.00", "1.00", "-0.50"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["hip", "knee"]
    phased = plots.mode_table([3.0], [[1.0], [1j]]).axes[0]
    assert phased.texts[1].get_text() == "1.00\n∠90°" and "ζ = 0 %" in phased.get_xticklabels()[0].get_text()
    for arguments in (([1.0], np.eye(2)), ([1.0, 2.0], np.eye(2), ["one"])):
        with pytest.raises(InputError, match="mode_table"):
            plots.mode_table(*arguments)


def test_modes_are_normalised_to_their_largest_entry() -> None:
    rng = np.random.default_rng(3)
    shapes = rng.normal(size=(5, 4)) * np.exp(1j * rng.uniform(0, 6, 4))
    normal = _normalised(shapes)
    np.testing.assert_allclose(np.abs(normal).max(axis=0), 1.0)
    np.testing.assert_allclose(normal.imag, 0.0, atol=1e-15)
    assert np.isfinite(_normalised(np.zeros((2, 2)))).all()


def test_root_locus_draws_every_eigenvalue() -> None:
    k = np.linspace(0, 4, 9)
    roots = np.array([np.roots([1, 2 - x, 10 + 3 * x]) for x in k])
    points = plots.root_locus(roots, k, "speed").axes[0].collections[0]
    np.testing.assert_allclose(points.get_offsets(), np.stack([roots.ravel().real, roots.ravel().imag], 1))
    half = plots.root_locus(roots, k, upper_half=True).axes[0].collections[0]
    assert len(half.get_offsets()) == 9
    with pytest.raises(InputError, match="root_locus"):
        plots.root_locus(roots, k[:-1])


def test_campbell_marks_the_resonances() -> None:
    speeds = np.linspace(0, 600, 7)
    frequencies = np.stack([20 + 0.02 * speeds, 60 - 0.02 * speeds], 1)
    axes = plots.campbell(speeds, frequencies, orders=(1, 2)).axes[0]
    marks = sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "o")
    expected = []
    for order in (1, 2):
        for start, slope in ((20, 0.02), (60, -0.02)):
            omega = start / (order / (2 * np.pi) - slope)
            expected.append((omega * 30 / np.pi, start + slope * omega))
    np.testing.assert_allclose(marks, sorted(expected), rtol=1e-12)
    with pytest.raises(InputError, match="campbell"):
        plots.campbell(speeds, frequencies[:-1])
    assert crossings(np.arange(2.0), np.zeros(2), np.ones(2)) == []


def test_lines_that_lie_on_others_are_dashed_and_counts_are_whole() -> None:
    t = np.linspace(0.0, 1.0, 101)
    wave = np.sin(6.0 * t)
    units = {name: Channel(x, "m") for name, x in (("a", wave), ("b", wave + 1e-9), ("c", wave), ("d", wave + 0.1))}
    run = Solution(t, units | {"feet": Channel(np.floor(4 * t), "")})
    length, count = run.plot("a", "b", "c", "d", "feet").axes
    a, b, c, d = length.get_lines()
    assert a.get_linestyle() == d.get_linestyle() == "-" and b.get_linestyle() == c.get_linestyle() == "--"
    assert b._unscaled_dash_pattern != c._unscaled_dash_pattern  # the third leaves the second to be seen
    assert all(tick == round(tick) for tick in count.get_yticks()) and not all(tick == round(tick) for tick in length.get_yticks())
    same = plots.compare([run, run], "a").axes[0].get_lines()
    assert [line.get_linestyle() for line in same] == ["-", "--"]
