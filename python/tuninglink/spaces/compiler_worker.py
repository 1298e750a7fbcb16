"""Runs the compiler's passes for another process, so that a crash ends this one only.

Requests come in on standard input and answers go out on standard output, as frames: a length of eight bytes
and that many bytes. A request is two frames: a pass pipeline, and a module as bytecode. An answer is two as
well: `ok` and the module as bytecode, or `error` and what the compiler said.
"""

from __future__ import annotations

import io
import os
import struct
from typing import BinaryIO, Final

LENGTH: Final = struct.Struct("<Q")
OK: Final = b"ok"
ERROR: Final = b"error"


def run(pipeline: str, bytecode: bytes) -> tuple[bytes, bytes]:
    """Runs a pipeline on a module, and returns the two frames of the answer."""
    from iree.compiler import ir as mlir  # noqa: PLC0415 - who only talks to a worker needs no compiler
    from iree.compiler.passmanager import PassManager  # noqa: PLC0415

    with mlir.Context() as context:
        try:
            module = mlir.Module.parse(bytecode, context)
            PassManager.parse(pipeline, context).run(module.operation)
        except mlir.MLIRError as failure:
            messages = [each.message for each in failure.error_diagnostics]
            return ERROR, "; ".join(messages or [str(failure)]).encode()
        except Exception as failure:  # noqa: BLE001 - whatever it is, the other process is to hear of it
            return ERROR, f"{type(failure).__name__}: {failure}".encode()
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        return OK, buffer.getvalue()


def main() -> None:
    """Answers requests until there are no more."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the compiler prints must not get between the frames
    while (pipeline := _receive(requests)) is not None:
        bytecode = _receive(requests)
        if bytecode is None:
            return
        for each in run(pipeline.decode(), bytecode):
            answers.write(LENGTH.pack(len(each)))
            answers.write(each)
        answers.flush()


def _receive(stream: BinaryIO) -> bytes | None:
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None


if __name__ == "__main__":
    main()
