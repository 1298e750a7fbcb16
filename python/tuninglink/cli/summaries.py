"""The commands of `tuninglink`, with a sentence on each."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "link": "Link specs into one that `iree-compile --iree-codegen-tuning-spec-path` accepts.",
    "compile": "Compile a program as `iree-compile` does, tuned by specs, on every backend.",
    "explain": "Say what specs do to a program, dispatch by dispatch, and why an entry does not match.",
    "init": "Write a spec to start from: the compiler's own configurations of a program, with comments on the knobs.",
    "tune": "Measure configurations on a device, and write a spec with those that are faster than the compiler's own.",
    "verify": "Compare what a program's dispatches compute with a reference for another target, and with NumPy.",
    "retune": "Measure the entries of specs again, and drop, keep or improve each.",
    "check": "Check specs, entry by entry: structure, matchers, configurations, and what is never reached.",
    "diff": "Say what changed from one report to a later one: dispatches that are not tuned any more, and times.",
    "dump": "Write the specs that the dispatches of a program carry, each distinct content once.",
    "targets": "List the default specs, their entries in order, the sources of the configurations, and the libraries.",
    "lock": "Pin the specs of a project: write their hashes to `tuninglink.lock` next to the project file.",
    "demo": "Compile a matmul for a GPU of AMD, one of NVIDIA and a CPU, each with its own spec; then tune one.",
    "upgrade": "Bring a spec that was written for an older compiler into today's syntax.",
    "database show": "Show the problems of a database with their trials, the default's time and the best.",
    "database merge": "Add the trials of other databases; what is there already is not added again.",
    "database export": "Write all trials of a database.",
    "database insights": "Say what fast candidates have in common that the compiler's choice lacks, and what failures have in common.",
    "database import": "Add the trials of recorded tables and of exports.",
    "doctor": "Show versions, extras, drivers, devices and caches, and check the compiler.",
}
"""The first word is the module of a command, the last one its function."""

INSTALL_FLAG: Final = "--install-completion"

COMPLETION_REQUEST: Final = "_TUNINGLINK_COMPLETE"
"""The variable with which a shell requests completions."""
