"""Ready models by field, written with the public interface alone: each function returns a fresh, uncompiled model.  A field is loaded when asked for."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ..told import told_name as _told_name
from .human import human  # at once: field and model have one name

globals()["human"] = _told_name(_import_module(".human", __name__), "human")

if TYPE_CHECKING:  # for editors and type checkers
    from .course import course_slider_crank
    from .crash import (
        barrier,
        buffer_stop,
        contact_device,
        crash_criteria,
        crash_measures,
        crash_scenario,
        crash_test_problem,
        crush_device,
        draft_gear,
        flat_contact_stiffness,
        head_on,
        hydraulic_buffer,
        in_series,
        occupant,
        rayleigh,
        s_beam,
        s_beam_problem,
        spatial_train,
        steps_of_curve,
        train,
        train_devices_problem,
        truck,
        wagon_into_wagons,
    )
    from .elastic_legs import hinge_friction, rolling_manipulator
    from .flexible_arms import cooperating_arms, flexible_arm, flexible_scara, ist_link, spin_up_beam
    from .four_link import four_link_axle
    from .hexapod import Hexapod, hexapod_machine, hexapod_map
    from .mechanisms import (
        andrews,
        ball_row,
        bennett,
        bouncing_ball,
        bricard,
        double_pendulum,
        flyball_governor,
        four_bar,
        free_body,
        heavy_top,
        n_four_bar,
        pendulum,
        rssr,
        slider_crank,
        stiff_governor,
    )
    from .nonholonomic import ball_on_plate, benchmark_bicycle, chaplygin_sleigh, rolling_disk
    from .ride import bathe_oscillator, half_car, quarter_car, spring_pendulum
    from .rotors import helicopter_rotor
    from .suspensions import double_wishbone_suspension, five_link_suspension, mcpherson_suspension
    from .trebuchets import elastic_trebuchet
    from .variator.element_belt import element_belt
    from .variator.variator import push_belt_variator
    from .vehicles import plane_vehicle

#: Field -> its models.
_FIELDS = {
    "course": ("course_slider_crank",),
    "crash": (
        "barrier",
        "buffer_stop",
        "contact_device",
        "crash_criteria",
        "crash_measures",
        "crash_scenario",
        "crash_test_problem",
        "crush_device",
        "draft_gear",
        "flat_contact_stiffness",
        "head_on",
        "hydraulic_buffer",
        "in_series",
        "occupant",
        "rayleigh",
        "s_beam",
        "s_beam_problem",
        "spatial_train",
        "steps_of_curve",
        "train",
        "train_devices_problem",
        "truck",
        "wagon_into_wagons",
    ),
    "flexible_arms": ("cooperating_arms", "flexible_arm", "flexible_scara", "ist_link", "spin_up_beam"),
    "four_link": ("four_link_axle",),
    "hexapod": ("Hexapod", "hexapod_machine", "hexapod_map"),
    "mechanisms": (
        "andrews",
        "ball_row",
        "bennett",
        "bouncing_ball",
        "bricard",
        "double_pendulum",
        "flyball_governor",
        "four_bar",
        "free_body",
        "heavy_top",
        "n_four_bar",
        "pendulum",
        "rssr",
        "slider_crank",
        "stiff_governor",
    ),
    "nonholonomic": ("ball_on_plate", "benchmark_bicycle", "chaplygin_sleigh", "rolling_disk"),
    "ride": ("bathe_oscillator", "half_car", "quarter_car", "spring_pendulum"),
    "elastic_legs": ("hinge_friction", "rolling_manipulator"),
    "rotors": ("helicopter_rotor",),
    "trebuchets": ("elastic_trebuchet",),
    "variator.element_belt": ("element_belt",),
    "variator.variator": ("push_belt_variator",),
    "suspensions": ("double_wishbone_suspension", "five_link_suspension", "mcpherson_suspension"),
    "vehicles": ("plane_vehicle",),
}
_PLACE = {name: field for field, names in _FIELDS.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _PLACE:
        # with the module itself Python's traceback proposes a near name
        raise AttributeError(f"module 'jourdain.library' has no attribute '{name}'", name=name, obj=_import_module(__name__))
    found = globals()[name] = _told_name(_import_module(f".{_PLACE[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Hexapod", "hexapod_machine", "hexapod_map", "andrews", "ball_on_plate", "ball_row", "bennett", "bathe_oscillator", "benchmark_bicycle", "bouncing_ball", "bricard", "chaplygin_sleigh", "cooperating_arms", "course_slider_crank", "double_wishbone_suspension", "five_link_suspension", "mcpherson_suspension", "double_pendulum",
    "flexible_arm", "flexible_scara", "flyball_governor", "four_bar", "four_link_axle", "free_body", "half_car", "heavy_top", "helicopter_rotor", "elastic_trebuchet", "hinge_friction", "rolling_manipulator", "human", "ist_link", "n_four_bar", "pendulum", "plane_vehicle", "quarter_car", "rolling_disk",
    "barrier", "buffer_stop", "contact_device", "crash_criteria", "crash_measures", "crash_scenario", "crash_test_problem", "crush_device", "draft_gear", "flat_contact_stiffness", "head_on", "hydraulic_buffer", "in_series", "occupant", "rayleigh", "s_beam", "s_beam_problem", "spatial_train", "steps_of_curve", "train", "train_devices_problem", "truck", "wagon_into_wagons",
    "element_belt", "push_belt_variator", "rssr", "slider_crank", "spin_up_beam", "spring_pendulum", "stiff_governor",
]  # fmt: skip
