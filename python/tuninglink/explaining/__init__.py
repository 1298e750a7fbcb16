"""Explaining what specs do to a program, dispatch by dispatch."""

from tuninglink.explaining.calls import explain, explain_file, until_configured
from tuninglink.explaining.explainer import Explainer
from tuninglink.explaining.model import Explanation

__all__ = ["Explainer", "Explanation", "explain", "explain_file", "until_configured"]
