"""Wrong files: every error names file, line, object and remedy; mutated files give a model or an error, never anything else."""

from __future__ import annotations

import contextlib
import random
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import JourdainError
from jourdain.io.model_files import toml_source
from jourdain.io.model_files.model_file import dumps_model, load_model, loads_model
from jourdain.io.model_files.toml_source import ModelFileError, Source
from jourdain.library import mechanisms
from tests.io.test_model_file import decorate
from tests.io.test_model_file_include import ARM, VARIED
from tests.io.test_model_file_operations import TEXT

HEAD = 'format = "jourdain"\nversion = 1\n'
BODY = HEAD + "[bodies.b]\nmass = 1\n[bodies.c]\nmass = 1\n"

WRONG = [
    ("", r"line 1: format is None; a model file begins with format = \"jourdain\""),
    ('format = "other"\nversion = 1', "line 1: format is 'other'"),
    ('format = "jourdain"\n\nversion = 99', "line 3: version is 99; this program reads version 1"),
    ('format = "jourdain"\nversion = true', "line 2: version is True"),
    (HEAD + "x = ", "line 3: this is not TOML"),
    (HEAD + "[bodies.b]\nmass = 1\n[bodies.b]\nmass = 2", "line 5: this is not TOML: .*(twice|already)"),
    (HEAD + "gravty = [0, 0, 1]", "line 3: the file has an unknown key 'gravty'; did you mean gravity"),
    (HEAD + "[bodies.b]\nmas = 1", "line 4: body 'b' has an unknown key 'mas'; did you mean mass"),
    (HEAD + "[bodies.b]\n\nmass = [1]", r"line 5: body 'b': mass is \[1\]; a number, a text with a unit"),
    (HEAD + "[bodies.b]\nmass = nan", "line 4: body 'b': mass is nan"),
    (HEAD + "[bodies.b]\nmass = 2024-01-01", "line 4: body 'b': mass"),
    (HEAD + "[bodies.b]\nmass = -1\ncom = [0, 0]", "line 5: body 'b': com .* list of three values"),
    (HEAD + '[bodies.b]\nmass = "5 m"', "line 4: body 'b': mass.*'m' is a unit of length"),
    (HEAD + '[bodies.b]\nmass = "2*q"', "line 4: body 'b': there is nothing called 'q' here"),
    (HEAD + '[bodies.b]\nmass = 1\ninertia = [1, 2]', "line 5: body 'b': inertia .* three or six values"),
    (HEAD + '[bodies.b]\nmass = 1\ninertia = [[1, 2, 0], [0, 1, 0], [0, 0, 1]]', "line 3: body 'b': inertia: the matrix is not symmetric"),
    (HEAD + '[bodies.ground]', "line 3: .*the table \\[ground\\]"),
    (HEAD + '[bodies.""]', "line 3: a body needs a name"),
    (HEAD + '[bodies.b]\nshapes = [{kind = "ball"}]', "line 4: body 'b': shapes: kind 'ball' is unknown; use one of box"),
    (HEAD + '[bodies.b]\nshapes = [\n{kind = "box", lx = 1, ly = 1}]', r"line 5: body 'b': shapes \(box\) lacks 'lz'"),
    (HEAD + '[bodies.b]\nshapes = [{kind = "box", lx = 1, ly = 1, lz = -1}]', "line 3: body 'b': box: lz = -1.0 must be greater"),
    (HEAD + '[bodies.b]\nframes = {f = {position = [1, 2, 3], rotation = 3}}', "line 4: frame 'f': rotation is 3"),
    (BODY + '[joints.j]\nparent = "b"\nchild = "c"', "line 7: joint 'j' lacks 'kind'"),
    (BODY + '[joints.j]\nkind = "revolut"\nparent = "b"\nchild = "c"', "line 8: joint 'j': kind 'revolut' is unknown; use one of fixed"),
    (BODY + '[joints.j]\nkind = "revolute"\nparent = "b"', "line 7: joint 'j' lacks 'child'"),
    (BODY + '[joints.j]\nkind = "revolute"\nparent = "b"\nchild = "d"', "line 10: joint 'j': there is no body or frame 'd'"),
    (BODY + '[joints.j]\nkind = "revolute"\nparent = "b"\nchild = "b"', "line 9: joint 'j' connects the body 'b' with itself"),
    (BODY + '[joints.j]\nkind = "revolute"\nparent = "b"\nchild = "c"\naxis = [0, 0, 0]', r"line 7: joint 'j': axis \(0.0, 0.0, 0.0\) has no direction"),
    (BODY + '[joints.j]\nkind = "revolute"\nparent = "b"\nchild = "c"\npitch = 1', r"line 11: joint 'j' \(revolute\) has an unknown key 'pitch'"),
    (BODY + '[joints.j]\nkind = "revolute"\nparent = "b"\nchild = "c"\nmimic = "k"', "line 11: joint 'j': there is no joint 'k'"),
    (BODY + '[drives]\n"j.angle" = "t"', "line 8: drive of 'j.angle': there is no coordinate 'j.angle'"),
    (BODY + '[sensors.s]\nframe = "b.f"', "line 8: sensor 's': there is no body or frame 'b.f'"),
    (BODY + '[loads.l]\nkind = "spring"\npoints = ["b", "c"]', "line 7: .*spring 'l' lacks 'stiffness'; give it, or a tension"),
    (BODY + '[loads.l]\nkind = "spring"\npoints = ["b", "c"]\nstiffness = 1\nlength = 1\ntension = "1"', "line 7: .*either its tension or 'stiffness'"),
    (BODY + '[loads.l]\nkind = "link"\npoints = ["b"]\ntension = 1', "line 9: load 'l' .*at least two frames"),
    (BODY + '[loads.l]\nkind = "link"\npoints = ["b", "c"]\ntension = "self.lenth"', "line 10: load 'l': 'self.lenth' is not known; self stands for self.length, self.rate"),
    (BODY + '[loads.l]\nkind = "joint"\njoint = "j"\nforce = 1', "line 9: load 'l': there is no joint 'j'"),
    (BODY + '[loads.l]\nkind = "bushing"\na = "b"\nb = "c"\nstiffness = 3', "line 7: .*stiffness has six entries"),
    (BODY + '[constraints.c]\nkind = "equation"\nexpression = "3 - 3"', "line 7: constraint 'c': the expression 0 does not depend"),
    (BODY + '[constraints.c]\nkind = "rod"\na = "b"\nb = "c"\nlength = -2', "line 7: .*length -2 m must be positive"),
    (BODY + '[events.e]\nguard = "t"\ndirection = 3', "line 7: event 'e': direction 3 is unknown"),
    (BODY + '[events.e]\nguard = "t"\njump = {t = 1}', "line 7: event 'e': .*not a position, velocity, user state or memory"),
    (HEAD + '[parameters]\na = 1\nb = {value = 5, bounds = [0, 1]}', "line 5: parameter 'b': value 5 is outside its bounds"),
    (HEAD + '[parameters]\nb = {unit = "m"}', r"line 4: parameter 'b' lacks 'value'"),
    (HEAD + '[parameters]\nb = "5 furlong"', "line 4: parameter 'b': .*furlong"),
    (HEAD + '[tables]\ng = {x = [0, 0], y = [1, 2]}', r"line 4: table 'g': x must increase"),
    (HEAD + '[tables]\ng = {x = [0, 1]}', "line 4: table 'g' needs x and y"),
    (HEAD + '[expressions]\na = "b + 1"\nb = "a*2"', "line [45]: expression '.': .*refer to each other in a circle"),
    (HEAD + '[expressions]\na = "t +"', "line 4: expression 'a': .*missing before 'the end'"),
    (HEAD + '[outputs]\na = "sin(t"', "line 4: output 'a': expression 'sin\\(t', position 6: the arguments of sin are not closed"),
    (HEAD + '[states]\nz = {rate = "z/0"}', "line 4: state 'z': .*division"),
    (HEAD + '[analyses.run]\nt = 1', "line 3: analysis 'run' lacks its verb"),
    (HEAD + '[creation]\norder = ["parameter k", "parameter k"]', "line 4: order: 'parameter k' is listed twice"),
    (HEAD + "[include]\nfile = 'x'", "line 3: include is not a list"),
    (HEAD + "[[include]]\nfile = 'x'", "line 3: include lacks 'prefix'"),
    (HEAD + "[bodies.a.b]\nmass = 1", "line 3: body 'a' has an unknown key 'b'"),
    (HEAD + "bodies = 3", r"line 3: \[bodies\] is 3; a table of keys is needed"),
    (HEAD + "a = " + "[" * 5000, "line 3: arrays or tables nested deeper than 24"),
    (HEAD + "a" + ".a" * 5000 + " = 1", "line 3: a key of more than 24 parts"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG, ids=range(len(WRONG)))
def test_errors_name_file_line_object_and_remedy(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"wrong\.toml, line \d+: ") as caught:
        load_model(path)
    assert re.search(message, str(caught.value), re.DOTALL), caught.value


def test_files_that_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(ModelFileError, match="byte 8 is not UTF-8"):
        load_model(path)
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "missing.toml")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path)
    monkeypatch.setattr(toml_source, "MAX_SIZE", 10)
    path.write_text(HEAD)
    with pytest.raises(ModelFileError, match="more than 10"):
        load_model(path)


def test_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_bytes((BODY + "[joints.j]\nkind = 3\nparent = 'b'\nchild = 'c'\n").replace("\n", "\r\n").encode())
    with pytest.raises(ModelFileError, match=r"line 8: joint 'j': kind is 3|line 8: joint 'j': kind 3 is unknown"):
        load_model(path)


def samples() -> list[str]:
    m = mechanisms.four_bar()
    decorate(m, random.Random(5))
    return [ARM, VARIED, TEXT, dumps_model(m), dumps_model(mechanisms.bouncing_ball())]


SAMPLES = samples()
JUNK = ["", "[", "]", "{", "}", '"', "'", "=", "\n", "#", ",", "[[", "]]", "0", "-1", "1e400", "nan", "inf", '"x"', '"t"', '"1/0"', "true", "[]", "{}", "kind", "ground", "\0", "é", "\\u0000", "[1, 2, 3]", '"a.b.c"', "2024-01-01", '"5 mm"', "1_000", "0x10", "1" * 400]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.integers(0, len(SAMPLES) - 1), st.integers(0, 2**32))
def test_mutated_files_give_a_model_or_an_error(which: int, seed: int) -> None:
    rng = random.Random(seed)
    text = SAMPLES[which]
    for _ in range(rng.randint(1, 3)):
        how = rng.random()
        i = rng.randrange(len(text) + 1)
        j = min(len(text), i + rng.choice([0, 1, 1, 3, 10, 60]))
        if how < 0.35:
            text = text[:i] + rng.choice(JUNK) + text[j:]
        elif how < 0.75:  # whole values, which get further than broken syntax
            lines = text.split("\n")
            n = rng.randrange(len(lines))
            key, equals, _ = lines[n].partition(" = ")
            lines[n] = f"{key} = {rng.choice(JUNK)}" if equals else lines[n]
            text = "\n".join(lines)
        elif how < 0.9:
            lines = text.split("\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            text = "\n".join(lines)
        else:
            text = text[:i] + text[j:]
    try:
        model = loads_model(text, rng.choice([None, None, "heavy", "stiff"]))
    except JourdainError as error:
        assert str(error)
    else:
        assert isinstance(model, jd.Model)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(JUNK + ["a", "b.c", " = ", "bodies"]), max_size=12).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        Source(text)
        loads_model(HEAD + text)
    except JourdainError:
        pass


def test_nothing_is_run() -> None:
    """No law, name or value of a file reaches the interpreter."""
    seen: list[str] = []
    active = [False]

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if active[0] and event in ("exec", "compile", "os.system", "subprocess.Popen", "open", "socket.connect"):
            seen.append(f"{event} {str(arguments)[:80]}")

    loads_model(ARM)  # everything is imported
    sys.addaudithook(audit)
    evil = [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "().__class__",
        "exec(1)",
        "lambda: 0",
        "{t}",
        "%s",
        "$(true)",
        "`true`",
    ]
    active[0] = True
    try:
        for law in evil:
            for where in (
                f'[outputs]\no = "{law}"',
                f'[parameters]\np = "{law}"',
                f'[bodies.b]\nmass = "{law}"',
                f'name = "{law}"',
                f'[bodies."{law}"]',
            ):
                with contextlib.suppress(JourdainError):
                    loads_model(HEAD + where)
        loads_model(ARM)
    finally:
        active[0] = False
    assert seen == []


SWING = (
    HEAD
    + """
[bodies.a]
mass = 1
com = [0, 0, -1]
[[bodies.a.shapes]]
kind = "sphere"
radius = "30 mm"
color = "red"
[joints.h]
kind = "revolute"
parent = "ground"
child = "a"
axis = "y"
[initial]
"""
)


def test_american_keys_are_read() -> None:
    (shape,) = loads_model(SWING).bodies["a"].shapes
    assert shape.colour == "#c8402f"


def test_an_initial_value_of_nothing_is_told_with_its_line() -> None:
    line = SWING.count("\n") + 1
    with pytest.raises(ModelFileError, match=rf"line {line}: .*no coordinate 'h.angle_rat'; did you mean h.angle_rate"):
        loads_model(SWING + '"h.angle_rat" = 5')
    with pytest.raises(ModelFileError, match=rf"line {line}: .*no coordinate 'h.xyz'; the joint has h.angle, h.angle_rate$"):
        loads_model(SWING + '"h.xyz" = 5')
    assert loads_model(SWING + '"h.angle_rate" = 5').initial == {"h.angle_rate": 5}


@pytest.mark.parametrize("one", ["{a=1},", '"a",', "[0,1],"])
def test_arrays_of_very_many_parts_are_refused_before_they_are_read(one: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 300 000 tables in an array below the largest size of a file took 17 s."""
    monkeypatch.setattr("jourdain.io.model_files.toml_source.MOST_PLACES", 10_000)
    monkeypatch.setattr("tomllib.loads", lambda _: pytest.fail("it was read"))
    with pytest.raises(ModelFileError, match="more than 10000 keys and entries; move tables and meshes to files"):
        loads_model("x = [" + one * 10_001 + "]")
