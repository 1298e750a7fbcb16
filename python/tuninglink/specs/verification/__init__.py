"""Verifying specs: what the compiler refuses, and what breaks later and says nothing."""

from tuninglink.specs.verification.configurations import check_configurations
from tuninglink.specs.verification.verify import verify_spec

__all__ = ["check_configurations", "verify_spec"]
