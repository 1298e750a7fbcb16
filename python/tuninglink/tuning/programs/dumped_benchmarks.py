"""The benchmarks that the compiler dumps of the dispatches of a program."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree.dispatches import find_dispatches

_REFLECTION: Final = "iree.reflection"
_BENCHMARK: Final = "iree.benchmark"


def dump_benchmarks(program: mlir.Operation) -> list[mlir.Operation]:
    """Return a module with the benchmark of each dispatch that the compiler can make one of.

    The compiler writes them as text without the contents of resources, so the code of each dispatch is copied from
    the program again.

    Args:
        program: a program at `executable-sources`; it must outlive the benchmarks.
    """
    with tempfile.TemporaryDirectory(prefix="tuninglink-") as directory:
        pipeline = f"builtin.module(iree-hal-dump-executable-benchmarks{{path={directory}}})"
        PassManager.parse(pipeline, program.context).run(program)
        texts = [path.read_text() for path in sorted(Path(directory).iterdir())]
    benchmarks = [mlir.Module.parse(text, program.context).operation for text in texts]
    code = {dispatch.name: dispatch.module for dispatch in find_dispatches(program)}
    for benchmark in benchmarks:
        for dispatch in find_dispatches(benchmark):
            code[dispatch.name].clone(ip=mlir.InsertionPoint(dispatch.module))
            dispatch.module.erase()
    return benchmarks


def is_benchmark(operation: mlir.Operation) -> bool:
    """Return whether an operation is the function of a dumped benchmark."""
    reflection = operation.attributes.get(_REFLECTION)
    return isinstance(reflection, mlir.DictAttr) and _BENCHMARK in reflection
