"""Explaining what specs do to a program, dispatch by dispatch."""

from tuninglink.explaining.calls import explain_file
from tuninglink.explaining.explainer import Explainer
from tuninglink.explaining.model import Explanation

__all__ = ["Explainer", "Explanation", "explain_file"]
