"""Initial specs: entries for the dispatches of a program, with the compiler's own configurations."""

from tuninglink.scaffolding.api import init_spec, init_spec_for_file
from tuninglink.scaffolding.scaffold import InitSpec

__all__ = ["InitSpec", "init_spec", "init_spec_for_file"]
