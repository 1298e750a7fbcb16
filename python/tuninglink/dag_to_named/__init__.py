"""Rewriting DAG matchers as matchers of contractions and convolutions."""

from tuninglink.dag_to_named.modernizer import modernize
from tuninglink.dag_to_named.report import Modernized, ModernizedEntry

__all__ = ["Modernized", "ModernizedEntry", "modernize"]
