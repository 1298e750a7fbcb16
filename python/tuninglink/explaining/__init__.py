"""Explanation of the effects of specs on a program, dispatch by dispatch."""

from tuninglink.explaining.api import explain, explain_file, until_configured
from tuninglink.explaining.explainer import Explainer
from tuninglink.explaining.explanation import Explanation
from tuninglink.explaining.times import read_profile, with_times

__all__ = [
    "Explainer",
    "Explanation",
    "explain",
    "explain_file",
    "read_profile",
    "until_configured",
    "with_times",
]
