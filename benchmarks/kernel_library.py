"""Makes the library of kernels from the specs of `tuninglink tune --kernels`: the same choices, made again.

    python benchmarks/kernel_library.py tuned/*.mlir library:kernels-sm90a -o specs/library/kernels-sm90a.mlir

Of several kernels for the same problem, that of the first spec stays. Without specs, the library itself is made again, as is
needed after a change of the sources of kernels. Needs the package with the extra `kernels`, and no GPU.
"""

from __future__ import annotations

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.kernels import Candidate, KernelCall, KernelProblem, TritonProvider, kernel_problem
from tuninglink.mlir import DiagnosticSink, body, collect, names, symbol_name, thread_context
from tuninglink.replacing import spec as spec_of
from tuninglink.specs import (
    PROVENANCE,
    Spec,
    SpecFiles,
    bind,
    load_spec,
    provenance_attribute,
    read_specs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME: Final = "kernels-sm90a"
ARCHITECTURE: Final = "sm_90a"
MACHINE: Final = "sm_90"
"""What the library is bound to."""

SOURCE: Final = "tune --kernels on NVIDIA H200"

_OPTIONS: Final = re.compile(r"_(m\d+(?:_[a-z]+\d+)*)' for " + ARCHITECTURE)
_OPTION: Final = re.compile(r"([a-z]+)(\d+)")


def choices(specs: Iterable[Spec]) -> dict[KernelProblem, Candidate]:
    """Return the kernels of Triton in specs by problem, as the matchers show it; of several, the first one."""
    chosen: dict[KernelProblem, Candidate] = {}
    covered: set[KernelProblem] = set()
    for spec in specs:
        for entry in spec.replace_entries:
            options = _OPTIONS.search(entry.form)
            if options is None or spec.replacing is None:
                continue
            (graph,) = collect(spec.replacing.table.lookup(entry.matcher), names.MATCH_DAG)
            *_, last, _ = body(graph)
            problem = kernel_problem(last)
            if problem not in covered:
                covered |= {*problem.spellings}
                values = tuple((name, int(value)) for name, value in _OPTION.findall(options[1]))
                chosen[problem] = Candidate(TritonProvider.name, problem, ARCHITECTURE, values)
    return chosen


def made(candidate: Candidate) -> KernelCall:
    """Return the call of a kernel that is made now."""
    return KernelCall(candidate.problem, TritonProvider().make(candidate))


def library(calls: list[KernelCall]) -> str:
    """Return the text of a library."""
    spec = load_spec(spec_of(calls).encode(), name=NAME)
    assert spec.replacing is not None
    with spec.module.context:
        for module in (spec.module, spec.replacing.module):
            bind(module, (MACHINE,))
        spec.module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(NAME.replace("-", "_"))
        spec.module.attributes[PROVENANCE] = provenance_attribute({"source": SOURCE})
    # Functions are in generic form: the older release has another syntax for kernels.
    text = spec.text()
    module = mlir.Module.parse(text, thread_context()).operation
    for function in collect(module, names.UTIL_FUNCTION):
        generic = function.get_asm(print_generic_op_form=True, use_local_scope=True)
        start = text.index(f"  util.func private @{symbol_name(function)}(")
        end = "\n  }\n"
        text = f"{text[:start]}  {generic}\n{text[text.index(end, start) + len(end) :]}"
    return text


def main() -> None:
    """Make the kernels that the specs name, and write the library."""
    from libraries import portable  # noqa: PLC0415 - of this folder

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("specs", nargs="*", metavar="SPEC", default=[f"library:{NAME}"])
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    sink = DiagnosticSink(print)
    specs = SpecFiles(read_specs(options.specs, sink), upgrade=True, diagnostics=sink)
    with thread_context(), ProcessPoolExecutor() as pool:
        calls = list(pool.map(made, choices(specs).values()))
    header = (
        f"{NAME}: made by benchmarks/kernel_library.py with Triton {version('triton')}.",
        "What 'tuninglink tune --kernels' chose on an NVIDIA H200 for the models of docs/benchmarks.md.",
    )
    text = "".join(f"// {line}\n" for line in header) + f"\n{portable(library(calls))}"
    options.output.write_text(text)
    for call in calls:
        print(f"{len(call.kernel.content):8} bytes  {call.kernel.name}")
    print(f"{len(text):8} bytes in all")


if __name__ == "__main__":
    main()
