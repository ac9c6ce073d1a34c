"""Ready models by field, written with the public interface alone: each function returns a fresh, uncompiled model."""

from .course import course_slider_crank
from .flexible_arms import cooperating_arms, flexible_arm, flexible_scara, ist_link, spin_up_beam
from .four_link import four_link_axle
from .human import human
from .mechanisms import (  # fmt: skip
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

__all__ = [
    "andrews", "ball_on_plate", "ball_row", "bennett", "bathe_oscillator", "benchmark_bicycle", "bouncing_ball", "bricard", "chaplygin_sleigh", "cooperating_arms", "course_slider_crank", "double_wishbone_suspension", "five_link_suspension", "mcpherson_suspension", "double_pendulum",
    "flexible_arm", "flexible_scara", "flyball_governor", "four_bar", "four_link_axle", "free_body", "half_car", "heavy_top", "helicopter_rotor", "human", "ist_link", "n_four_bar", "pendulum", "quarter_car", "rolling_disk",
    "rssr", "slider_crank", "spin_up_beam", "spring_pendulum", "stiff_governor",
]  # fmt: skip
