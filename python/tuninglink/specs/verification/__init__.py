"""Verifying specs: what the compiler refuses, and what breaks later and says nothing."""

from tuninglink.specs.verification.configuration_faults import check_configurations
from tuninglink.specs.verification.spec_verifier import verify_spec

__all__ = ["check_configurations", "verify_spec"]
