"""The rules for specs: their codes, which do not change, their usual severities and their descriptions."""

from __future__ import annotations

from enum import Enum
from typing import Final, Self

_ERROR, _WARNING, _REMARK = "error", "warning", "remark"


class Rule(Enum):
    """A rule for specs; the value is its code, which diagnostics show in brackets.

    Attributes:
        severity: the usual severity of its findings: `error`, `warning` or `remark`.
        description: what is wrong where it is broken.
    """

    def __new__(cls, code: str, severity: str, description: str) -> Self:
        """Return the rule with a code."""
        rule = object.__new__(cls)
        rule._value_ = code
        rule.severity = severity
        rule.description = description
        return rule

    severity: str
    description: str

    # The spec.
    UNREADABLE = "unreadable-spec", _ERROR, "The spec cannot be read"
    STRUCTURE = "spec-structure", _ERROR, "The structure of the spec is unsound"
    ENTRY_POINT = "entry-point", _WARNING, "The entry point is not run as it is written"
    UNKNOWN_NAME = "unknown-attribute", _WARNING, "The compiler reads no attribute of this name"
    OLD_SYNTAX = "old-syntax", _REMARK, "The spec was written for an older compiler"
    UNKNOWN_TARGET = "unknown-target", _WARNING, "The spec is bound to no known target"
    RANGES = "specialization-ranges", _ERROR, "The ranges of sizes do not fit the loops"
    MATCHER = "invalid-matcher", _ERROR, "The compiler cannot run the matcher as it is written"
    PARAMETER = "parameter-type", _ERROR, "A constant does not have the type of its parameter"
    # The entries.
    MATCHES_NOTHING = "matches-nothing", _ERROR, "The entry matches nothing"
    UNREACHABLE = "unreachable-entry", _WARNING, "The entry is never reached"
    CONFIGURES_NOTHING = "configures-nothing", _WARNING, "The entry configures nothing"
    NO_EFFECT = "no-effect", _WARNING, "Code generation does not read what the entry sets"
    IGNORED = "ignored-configuration", _WARNING, "The compiler ignores the configuration"
    UNPINNED = "unpinned-replacement", _ERROR, "The entry replaces more than its function computes"
    KERNEL = "kernel-declaration", _ERROR, "The declaration of the kernel does not fit its object"
    KERNEL_SIZES = "kernel-sizes", _ERROR, "The kernel is for other sizes"
    # The knobs of a configuration, read by themselves.
    UNREAD_KNOB = "unread-knob", _WARNING, "Code generation does not read the knob"
    MISSING_KNOB = "missing-knob", _ERROR, "A knob is missing that code generation needs"
    KNOB_VALUE = "knob-value", _ERROR, "The value of the knob is not one that it can have"
    LOOP_COUNT = "loop-count", _WARNING, "The knob is for other loops than those of the op"
    THREAD_COUNT = "thread-count", _WARNING, "The numbers of threads do not fit together"
    REPEATED_WORK = "repeated-work", _WARNING, "Threads repeat the work of others"
    INTRINSIC_TYPES = "intrinsic-types", _ERROR, "The intrinsic is for other types"
    OTHER_TARGET = "other-target", _ERROR, "The configuration is for another target"
    # The configuration on a program.
    INVALID = "invalid-configuration", _ERROR, "The configuration is invalid"
    INVALID_IN_MODEL = "invalid-in-model", _ERROR, "The configuration is invalid in the model"
    DISCOURAGED = "discouraged-configuration", _REMARK, "The compiler's constraints reject it"
    DOES_NOT_COMPILE = "does-not-compile", _ERROR, "The configured program does not compile"
    STACK_OVERFLOW = (
        "stack-overflow",
        _WARNING,
        "The configured program overflows the stack of the runtime's workers",
    )
    WRONG_RESULT = (
        "wrong-result",
        _WARNING,
        "The compiler generates wrong code for the configuration",
    )
    SLOW = "slow-to-compile", _WARNING, "The configuration may take minutes to compile"
    SPILLS = "register-spills", _WARNING, "The code spills registers to memory"
    UNDECIDED = "undecided", _REMARK, "A question about the entry was not decided"
    # What the check itself needs.
    MODEL = "invalid-model", _ERROR, "The model does not compile as far as configurations"
    PLUGIN = "unusable-plugin", _WARNING, "A plug-in with constraints cannot be used"


CODES: Final = tuple(rule.value for rule in Rule)
