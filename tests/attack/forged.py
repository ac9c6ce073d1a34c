"""Attacks by files and numbers that are well formed but not meant well: digests are right, paths lead elsewhere, numbers are none."""

from __future__ import annotations

import functools
import random
import tempfile
from pathlib import Path
from typing import Any

from jourdain.errors import JourdainError

REFUSED, UNHARMED = "refused", "unharmed"


def forged_results(rng: random.Random) -> str:
    """HDF5 results under a right digest whose parts lead to other files, or are larger than they say: nothing of them is read."""
    import h5py

    from jourdain.results import load_solution
    from tests.attack.attacks import Fault, same, solution
    from tests.results import test_files as forge

    def larger(file: Any, place: str) -> None:
        shape = file[place].shape
        del file[place]
        file.create_dataset(place, (*shape, rng.choice([2, 10**6])), "f8", chunks=True, compression="gzip")

    def looped(file: Any, place: str) -> None:
        del file[place]
        file[place] = h5py.SoftLink(f"/{place}")

    hows = [forge.external_link, forge.soft_link, forge.external_storage, forge.virtual, larger, looped]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        for name in ("run.h5", "secret.h5"):
            solution().save(Path(folder) / name)
        with h5py.File(path, "a") as file:
            rng.choice(hows)(file, rng.choice(["t", "channels/force", "channels/angle", "jourdain_header"]))
        forge.resealed(path)
        try:
            found = load_solution(path)
        except JourdainError:
            return REFUSED
        raise Fault("read " + ("the same numbers through another file" if same(found, solution()) else "other numbers without a word"))


STEPS = ("..", "..", "%2e%2e", "%2E%2e", "%252e%252e", ".", "", "meshes", "urdf", "up", "bot", "..\\..", "~")
HEADS = (
    "",
    "",
    "/",
    "file://",
    "file:///",
    "file:",
    "package://",
    "package://bot/",
    "package://private/",
    "model://private/",
    "package://{top}/",
)


def mesh_paths(rng: random.Random) -> str:
    """Paths of meshes that wander: none leads out of the package."""
    import trimesh

    from jourdain.io import read_urdf
    from tests.attack.attacks import Fault
    from tests.io.test_urdf import robot, visual

    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        package = top / "work" / "bot"
        for place in ("urdf", "meshes"):
            (package / place).mkdir(parents=True)
        secret = [top / "s.stl", top / "work" / "s.stl", top / "private" / "s.stl", top / "work" / "private" / "s.stl"]
        for file in secret:
            file.parent.mkdir(exist_ok=True)
            trimesh.creation.box((1.0, 1.0, 1.0)).export(file)
        (package / "meshes" / "up").symlink_to(top)
        path = "/".join([*rng.choices(STEPS, k=rng.randint(0, 6)), "s.stl"])
        address = rng.choice([rng.choice(HEADS).format(top=top.name) + path, *(f"{head}{f}" for head in HEADS[2:6] for f in secret)])
        source = package / "urdf" / "bot.urdf"
        source.write_text(robot(links="a", inside=visual(f'<mesh filename="{address}"/>')))
        if read_urdf(source).bodies["a"].shapes:
            raise Fault(f"{address.replace(str(top), '…')} was read")
        return REFUSED


@functools.cache
def doors() -> tuple[list[Any], list[Any]]:
    from tests.systems.test_no_numbers import DOORS, TAKEN, WRONG

    cases = [(d, n) for d in DOORS for n in WRONG if (d, n) not in TAKEN]
    return cases, [DOORS, WRONG]


def no_numbers(rng: random.Random) -> str:
    """What is no number, at any door: an error of the package that names the door."""
    import re

    from tests.attack.attacks import Fault

    cases, (ways, wrong) = doors()
    door, name = rng.choice(cases)
    try:
        ways[door][1](wrong[name])
    except JourdainError as error:
        if not re.search(ways[door][0], str(error)):
            raise Fault(f"{door}, {name}: {error}") from error
        return REFUSED
    raise Fault(f"{door} took {name}")
