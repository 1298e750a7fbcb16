"""Rewriting dag matchers as matchers of contractions and convolutions."""

from tuninglink.modernizing.modernizer import modernize
from tuninglink.modernizing.report import Modernized, ModernizedEntry

__all__ = ["Modernized", "ModernizedEntry", "modernize"]
