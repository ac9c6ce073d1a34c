"""Words of other programs for what solutions have, and what to say where one is asked for."""

from __future__ import annotations

from typing import Any

from jourdain.errors import nearest

OTHER_WORDS = {
    "time": "t", "times": "t", "tout": "t", "ts": "t", "show": "view", "animate": "view", "animation": "view", "display": "view", "render": "view",
    "keys": "names", "channels": "names", "columns": "names", "to_csv": "save", "to_file": "save", "write": "save", "to_dataframe": "to_pandas", "df": "to_pandas",
    "screenshot": "save_picture", "save_gif": "save_movie", "save_animation": "save_movie", "save_html": "save_page", "interpolate": "at", "sample": "at",
    "interp": "at", "stats": "statistics", "end": "final_state", "last": "final_state",
}  # fmt: skip


def meant(name: str) -> str:
    """What a solution calls something that has another name elsewhere."""
    return OTHER_WORDS.get(name, name)


def not_there(solution: Any, name: str) -> str:
    """What to say about a name that a solution does not have."""
    told = f"a solution has no '{name}'"
    if name.startswith("_"):
        return told
    if meant(name) != name:
        return f"{told}; did you mean sol.{meant(name)}?"
    channels = [n for n in getattr(solution.system, "coordinate_names", ()) if n == name or n.startswith(f"{name}.")]
    if channels:
        return f"{told}; channels are read by their names: sol['{channels[0]}']"
    near = nearest(name, [n for n in dir(type(solution)) if not n.startswith("_")], 1)
    return (
        f"{told}; did you mean sol.{near[0]}?"
        if near
        else f"{told}; channels are read by their names, which print(sol) lists: sol['hinge.angle']"
    )


__all__ = ["meant", "not_there"]
