"""The table of formulations: agreement of all, counts, refusal of unknown names, the command."""

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.analysis.compare import VARIANTS, compare
from jourdain.cli import main
from jourdain.errors import InputError


@pytest.fixture(scope="module")
def rssr():
    return compare(library.rssr(), {"crank.angle": 0.3}, t=0.1)


def test_all_formulations_agree(rssr):
    assert rssr.dof == 1
    assert [e.name for e in rssr.entries] == list(VARIANTS)
    for e in rssr.entries:
        assert not e.remark, (e.name, e.remark)
        assert e.accelerations < 1e-10, e.name
        assert e.reactions < 1e-9, e.name
        assert e.coordinates - e.constraints + len(e.redundant) == rssr.dof, e.name
        assert e.drift < 1e-9, e.name
        assert e.energy < 1e-6, e.name
        assert e.evaluation > 0 and e.wall > 0


def test_table_and_picture(rssr, tmp_path):
    text = str(rssr)
    assert "RSSR four-bar: 1 degrees of freedom" in text
    assert all(name in text for name in VARIANTS)
    file = tmp_path / "bars.png"
    rssr.plot().savefig(file)
    assert file.stat().st_size > 5000


def test_open_trees_have_no_loop_variants():
    found = compare(library.double_pendulum(), {"shoulder.angle": 0.4, "elbow.angle_rate": 1.0}, t=0.05, formulations=None)
    assert "semi-recursive, null space" not in [e.name for e in found.entries]
    assert max(e.accelerations for e in found.entries) < 1e-12


def test_unknown_formulations_are_refused():
    with pytest.raises(InputError, match="'quaternions' is not among those compared"):
        jd.compare(library.pendulum(), formulations=["quaternions"])


def test_a_formulation_that_cannot_say_it_is_named_with_the_reason():
    m = library.pendulum()
    m.event("turning", m.joints["hinge"].acceleration)
    found = compare(m, {"hinge.angle": 0.3}, t=0.05, formulations=["directors"])
    assert "its guard speaks of accelerations, which the energy-consistent engine has not" in found["directors"].remark
    assert np.isnan(found["directors"].wall) and found["directors"].accelerations < 1e-12


def test_jumps_of_events_are_the_same_everywhere():
    m = library.pendulum()
    hinge = m.joints["hinge"]
    m.event("wall", hinge.position, direction=-1, jump={hinge.velocity: -hinge.velocity})
    found = compare(m, {"hinge.angle": 0.3}, t=0.05, formulations=["recursive", "natural", "directors"])
    assert not [e.remark for e in found.entries if e.remark]


def test_command(capsys, tmp_path):
    picture = tmp_path / "bars.svg"
    assert main(["compare", "jourdain.library:pendulum", "-t", "0.1", "--set", "hinge=20deg", "-o", str(picture)]) == 0
    assert "directors" in capsys.readouterr().out
    assert picture.exists()
    assert main(["compare", "jourdain.library:pendulum", "-o", "bars.txt"]) == 2
    assert "is not a picture" in capsys.readouterr().err
