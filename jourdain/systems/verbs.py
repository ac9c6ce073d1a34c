"""Verbs that follow from the linear equations of a system, the same for every formulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..analysis.modal import FrequencyResponse, Modes, RootLocus


class LinearVerbs:
    """Modes, frequency response and root locus of a system that has ``linearise`` and ``equilibrium``."""

    def modal(self, state: Any = None, **options: Any) -> Modes:
        """Eigenvalues and modes about a state or an equilibrium; see :func:`jourdain.analysis.modal.modal`."""
        from ..analysis.modal import modal

        return modal(self, state, **options)  # type: ignore[arg-type]

    def frequency_response(self, input: str, output: Any, frequencies: Any, state: Any = None, **options: Any) -> FrequencyResponse:
        """Response of an output to a harmonic input; see :func:`jourdain.analysis.modal.frequency_response`."""
        from ..analysis.modal import frequency_response

        return frequency_response(self, input, output, frequencies, state, **options)  # type: ignore[arg-type]

    def root_locus(self, parameter: str, values: Any, state: Any = None, **options: Any) -> RootLocus:
        """Eigenvalues over a parameter; see :func:`jourdain.analysis.modal.root_locus`."""
        from ..analysis.modal import root_locus

        return root_locus(self, parameter, values, state, **options)  # type: ignore[arg-type]
