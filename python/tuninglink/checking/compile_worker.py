"""Compiles one program with one spec, in a process that may crash or be ended.

The request comes on standard input as JSON: the program as text, the spec as bytecode in base64, and the flags.
The answer goes to standard output as JSON: how many operations the spec configured and, if the compiler refused
the program, what it said.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import TypedDict


class Request(TypedDict):
    """What is to be compiled."""

    program: str
    spec: str
    flags: list[str]


class Answer(TypedDict):
    """What came of it; `error` is None if the program compiles."""

    configured: int
    error: str | None


def run(request: Request) -> Answer:
    """Compiles, and returns what came of it."""
    from tuninglink.compiler import compile as compile_program  # noqa: PLC0415 - who asks needs no compiler
    from tuninglink.errors import TuninglinkError  # noqa: PLC0415

    try:
        result = compile_program(
            request["program"].encode(),
            specs=[base64.b64decode(request["spec"])],
            default_specs=False,
            flags=request["flags"],
            name="payload.mlir",
        )
    except TuninglinkError as failure:
        return {"configured": 0, "error": failure.diagnostics[0].message}
    return {"configured": len(result.applied), "error": None}


def main() -> None:
    """Answers the one request."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the compiler prints must not get into the answer
    request: Request = json.load(sys.stdin)
    json.dump(run(request), answers)
    answers.close()


if __name__ == "__main__":
    main()
