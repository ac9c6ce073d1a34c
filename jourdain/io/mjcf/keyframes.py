"""Keyframes of MJCF: states that a file gives a name."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InputError
from ...model import Model
from ..xml_reader import Element


@dataclass(frozen=True)
class Keyframe:
    """``imported["keyframes"]``: positions and velocities by name (m, rad, entries of quaternions, m/s, rad/s)."""

    name: str
    values: dict[str, float]
    #: What else the keyframe says: time, act, ctrl, mpos, mquat.
    others: tuple[str, ...] = ()


def keyframes(root: Element, model: Model) -> list[Keyframe]:
    """The keyframes of a file; our coordinates stand in the order of MuJoCo's qpos, and our velocities in that of its qvel."""
    coordinates = [c for joint in model.joints.values() for c in joint.coordinates]
    names = {"qpos": [n for c in coordinates for n in c.names], "qvel": [n for c in coordinates for n in c.velocity_names]}
    found: list[Keyframe] = []
    for section in root.all("keyframe"):
        for key in section.all("key"):
            values: dict[str, float] = {}
            for attribute, own in names.items():
                if attribute in key.attributes:
                    values |= dict(zip(own, key.numbers(attribute, len(own)).tolist(), strict=True))
            others = [n for n in ("time", "act", "ctrl", "mpos", "mquat") if n in key.attributes and key.numbers(n).any()]
            found.append(Keyframe(key.get("name") or f"key{len(found)}", values, tuple(others)))
    return found


def start_at(model: Model, frames: list[Keyframe], name: str) -> list[str]:
    """Makes a keyframe the model's start; gives what of it is left out."""
    chosen = next((k for k in frames if k.name == name), None)
    if chosen is None:
        known = ", ".join(k.name for k in frames) or "none"
        raise InputError(f"model '{model.name}': there is no keyframe {name!r}; the file has {known}")
    model.initial |= chosen.values
    return [f"{', '.join(chosen.others)} of keyframe '{name}' is not taken over"] if chosen.others else []


__all__ = ["Keyframe", "keyframes", "start_at"]
