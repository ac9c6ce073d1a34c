"""A folder of models of others, read here and by MuJoCo (MJCF) or Pinocchio (URDF): how many are read, refused, agree or differ.

JOURDAIN_MODELS=FOLDER make importers

Compared are the mass matrix and the forces of inverse dynamics without loads at random states; a file that the other program refuses is not
counted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import jourdain as jd
from jourdain.errors import JourdainError

#: Relative difference up to which numbers agree; meshes of MuJoCo are in single precision.
CLOSE = {"mjcf": 1e-5, "urdf": 1e-9}


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Model files of a folder and what they are."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".urdf":
            yield "urdf", path
        elif path.suffix == ".xml" and "<mujoco" in path.read_text(encoding="utf-8", errors="replace")[:4000]:
            yield "mjcf", path


def by_mujoco(path: Path, rng: np.random.Generator) -> Any:
    """A random state, M and inverse dynamics there, by MuJoCo; None where it is not installed or refuses the file."""
    try:
        import mujoco

        model = mujoco.MjModel.from_xml_path(str(path))
    except (ImportError, ValueError):
        return None
    data = mujoco.MjData(model)
    moved = np.zeros(model.nv) if model.nv == 0 else 0.3 * rng.normal(size=model.nv)
    mujoco.mj_integratePos(model, data.qpos, moved, 1.0)
    data.qvel[:], a = rng.normal(size=model.nv), rng.normal(size=model.nv)
    q, v = data.qpos.copy(), data.qvel.copy()
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M) if "qM" not in dir(mujoco.MjData) else mujoco.mj_fullM(model, M, data.qM)
    data.qacc[:] = a
    force = np.zeros(model.nv)
    mujoco.mj_rne(model, data, 1, force)
    rotors = model.dof_armature
    return q, v, a, M, force + rotors * a


def by_pinocchio(path: Path, rng: np.random.Generator) -> Any:
    """The same by Pinocchio, its coordinates by the names of joints."""
    try:
        import pinocchio as pin

        model = pin.buildModelFromUrdf(str(path))
    except (ImportError, ValueError, RuntimeError):
        return None
    if any(joint.nv != 1 for joint in model.joints[1:]):
        return None  # joints of several freedoms have other coordinates there
    q, v, a = (rng.normal(size=model.nv) for _ in range(3))
    names = [model.names[j] for j in range(1, model.njoints)]
    return q, v, a, *_dynamics(model, q, v, a), names


def _dynamics(model: Any, angles: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M and inverse dynamics; an angle of a continuous joint is a sine and a cosine there."""
    import pinocchio as pin

    data, q = model.createData(), pin.integrate(model, pin.neutral(model), angles)
    M = pin.crba(model, data, q)
    return np.triu(M) + np.triu(M, 1).T, pin.rnea(model, data, q, v, a)


def verdict(kind: str, path: Path, rng: np.random.Generator) -> tuple[str, str]:
    """What became of a file, and words about it."""
    other = by_mujoco(path, rng) if kind == "mjcf" else by_pinocchio(path, rng)
    if other is None:
        return "not comparable", ""
    q, v, a, M, force = other[:5]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = jd.read_mjcf(path, shapes=False, root=path.parent.parent) if kind == "mjcf" else jd.read_urdf(path)
            s = model.compile(check=False)
    except JourdainError as error:
        return "refused", str(error)
    if kind == "urdf" and len(v) > s.nv:
        q, v, a, M, force, names = _followed(path, other)
        other = (q, v, a, M, force, names)
    if (s.nq, s.nv) != (len(q), len(v)):
        return "differs", f"{s.nq} coordinates and {s.nv} velocities, there {len(q)} and {len(v)}"
    if kind == "urdf":
        place = [other[5].index(n.rpartition(".")[0]) for n in s.coordinate_names]
        q, v, a, M, force = q[place], v[place], a[place], M[np.ix_(place, place)], force[place]
    ours, told = s.mass_matrix(q), s.inverse_dynamics(q, v, a)
    told = np.asarray(getattr(told, "tau", told), dtype=float)
    gap = max(_gap(ours, M), _gap(told, force))
    return ("agrees", "") if gap < CLOSE[kind] else ("differs", f"by {gap:.1e}; {'; '.join(model.notes[:2])}")


def _followed(path: Path, other: Any) -> Any:
    """M and forces of what leaders alone move: joints that mimic others have velocities of their own in Pinocchio."""
    q, v, a, M, force, names = other
    followers = {
        joint.get("name"): joint.find("mimic")
        for joint in ElementTree.parse(path).getroot().iter("joint")
        if joint.find("mimic") is not None and joint.get("name") in names
    }
    leaders = [n for n in names if n not in followers]
    G = np.zeros((len(names), len(leaders)))
    q0 = np.zeros(len(names))
    for i, name in enumerate(names):
        factor, mimic = 1.0, followers.get(name)
        while mimic is not None:  # leaders may follow others
            q0[i] += factor * float(mimic.get("offset", 0.0))
            factor, name = factor * float(mimic.get("multiplier", 1.0)), mimic.get("joint")
            mimic = followers.get(name)
        if name not in leaders:
            return q, v, a, M, force, names
        G[i, leaders.index(name)] = factor
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path))
    at = [names.index(n) for n in leaders]
    q, v, a = q[at], v[at], a[at]
    M, force = _dynamics(model, q0 + G @ q, G @ v, G @ a)
    return q, v, a, G.T @ M @ G, G.T @ force, leaders


def _gap(ours: np.ndarray, theirs: np.ndarray) -> float:
    size = float(np.abs(theirs).max(initial=0.0))
    return float(np.abs(ours - theirs).max(initial=0.0)) / size if size else float(np.abs(ours).max(initial=0.0))


def main() -> int:
    """Prints a line for each file that does not agree, and counts."""
    folder = Path(os.environ.get("JOURDAIN_MODELS", ""))
    if not os.environ.get("JOURDAIN_MODELS") or not folder.is_dir():
        print("Name a folder of models: JOURDAIN_MODELS=FOLDER make importers", file=sys.stderr)
        return 2
    counts: dict[str, Counter[str]] = {"mjcf": Counter(), "urdf": Counter()}
    for kind, path in files(folder):
        rng = np.random.default_rng(7)
        try:
            word, told = verdict(kind, path, rng)
        except Exception as error:  # a bare error is what this looks for
            word, told = "bare error", repr(error)
        counts[kind][word] += 1
        if word not in ("agrees", "not comparable"):
            print(f"{word:>10}  {path.relative_to(folder)}: {told.splitlines()[0] if told else ''}")
    for kind, found in counts.items():
        print(f"{kind}: {sum(found.values())} files; " + ", ".join(f"{n} {word}" for word, n in found.most_common()))
    return 1 if any(c["bare error"] for c in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
