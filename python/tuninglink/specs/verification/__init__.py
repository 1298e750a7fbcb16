"""Verification of specs: errors of the compiler, and faults that it does not diagnose."""

from tuninglink.specs.verification.configuration_faults import check_configurations
from tuninglink.specs.verification.spec_verifier import verify_spec

__all__ = ["check_configurations", "verify_spec"]
