"""Crashworthiness: devices that are crushed, trains on a line, scenarios and measures.

After J. P. Dias and M. S. Pereira, "Multicriteria optimization of train structures for crashworthiness".
"""

from .buffers import contact_device, draft_gear, flat_contact_stiffness, hydraulic_buffer
from .crush import crush_device, in_series
from .curves import steps_of_curve
from .files import crash_scenario
from .hinges import rayleigh
from .measures import crash_criteria, crash_measures
from .sbeam import s_beam
from .scenarios import barrier, buffer_stop, head_on, truck, wagon_into_wagons
from .spatial import spatial_train
from .studies import crash_test_problem, s_beam_problem, train_devices_problem
from .trains import occupant, train

__all__ = [
    "barrier", "buffer_stop", "contact_device", "crash_criteria", "crash_measures", "crash_scenario", "crash_test_problem", "crush_device", "draft_gear", "flat_contact_stiffness", "head_on",
    "hydraulic_buffer", "in_series", "occupant", "rayleigh", "s_beam", "s_beam_problem", "spatial_train", "steps_of_curve", "train", "train_devices_problem", "truck", "wagon_into_wagons",
]  # fmt: skip
