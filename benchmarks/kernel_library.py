"""Makes the library of kernels from the specs of `tuninglink tune --kernels`: the same choices, made again.

    python benchmarks/kernel_library.py bert tuned/bert.mlir --program models/bert/program.mlirbc
    python benchmarks/kernel_library.py

The library has a spec for each model. Of several kernels for the same problem, that of the first of the given specs stays. With
a program, the spec has kernels for its problems only: for one without a kernel that of the same product with other ops after it,
or Triton's first candidate. The second command makes all specs of the library again, as is needed after a change of the sources
of kernels. Needs the package with the extra `kernels`, and no GPU.
"""

from __future__ import annotations

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

import tuninglink
from tuninglink.kernels import (
    Candidate,
    KernelCall,
    KernelProblem,
    ScaledAttention,
    TritonProvider,
    kernel_problem,
    problems_of,
)
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
    from collections.abc import Iterable, Mapping

FOLDER: Final = Path(__file__).parent.parent / "specs" / "library" / "kernels-sm90a"
ARCHITECTURE: Final = "sm_90a"
MACHINE: Final = "sm_90"
"""What the library is bound to."""

SOURCE: Final = "tune --kernels on NVIDIA H200, else first candidates"
LEAST_SHARE: Final = 0.01

_OPTIONS: Final = re.compile(r"_(m\d+(?:_[a-z]+\d+)*)' for " + ARCHITECTURE)
_OPTION: Final = re.compile(r"([a-z]+)(\d+)")


def choices(specs: Iterable[Spec]) -> dict[KernelProblem, Candidate]:
    """Return the kernels of Triton in specs by problem, as the matchers show it; of several, the first one."""
    chosen: dict[KernelProblem, Candidate] = {}
    covered: set[KernelProblem] = set()
    for spec in specs:
        problems: dict[str, list[KernelProblem]] = {}
        options: dict[str, str] = {}
        for entry in spec.replace_entries:
            match = _OPTIONS.search(entry.form)
            if match is not None and spec.replacing is not None:
                (graph,) = collect(spec.replacing.table.lookup(entry.matcher), names.MATCH_DAG)
                *_, last, _ = body(graph)
                problems.setdefault(entry.function, []).append(kernel_problem(last))
                options[entry.function] = match[1]
        for function, shown in problems.items():
            # The one whose spellings the others are.
            problem = next((one for one in shown if {*shown} <= {*one.spellings}), shown[0])
            if problem not in covered:
                covered |= {*problem.spellings, *shown}
                values = _OPTION.findall(options[function])
                choice = tuple((name, int(value)) for name, value in values)
                chosen[problem] = Candidate(TritonProvider.name, problem, ARCHITECTURE, choice)
    return chosen


def needed(
    program: Path, chosen: Mapping[KernelProblem, Candidate]
) -> dict[KernelProblem, Candidate]:
    """Return the kernels for the problems of a program: chosen ones, or others for a hundredth of the work."""
    spelled = {other: kernel for problem, kernel in chosen.items() for other in problem.spellings}
    bare = {_bare(problem): kernel for problem, kernel in spelled.items()}
    formed = tuninglink.compile(
        program, target="h200", default_specs=False, flags="--compile-to=preprocessing"
    )
    problems = problems_of(mlir.Module.parse(formed.output, thread_context()).operation)
    work = {problem: problem.work * count for problem, count in problems.items()}
    kernels = {}
    for problem in sorted(work, key=lambda one: -work[one]):
        own = [spelled[other] for other in problem.spellings if other in spelled]
        if not own and work[problem] >= LEAST_SHARE * sum(work.values()):
            own = [*TritonProvider().candidates(problem, ARCHITECTURE)[:1]]
            if own and (same := bare.get(_bare(problem))):
                own = [replace(same, problem=problem)]
            print(f"not chosen: {', '.join(kernel.name for kernel in own)}")
        kernels.update({kernel.problem: kernel for kernel in own[:1]})
    return kernels


def _bare(problem: KernelProblem) -> KernelProblem:
    """Return a problem without the ops after its product."""
    return problem if isinstance(problem, ScaledAttention) else replace(problem, steps=())


def made(candidate: Candidate) -> KernelCall:
    """Return the call of a kernel that is made now."""
    return KernelCall(candidate.problem, TritonProvider().make(candidate))


def library(name: str, calls: list[KernelCall]) -> str:
    """Return the text of a spec of the library."""
    spec = load_spec(spec_of(calls).encode(), name=name)
    assert spec.replacing is not None
    with spec.module.context:
        for module in (spec.module, spec.replacing.module):
            bind(module, (MACHINE,))
        symbol = f"kernels_{ARCHITECTURE}_{name}"
        spec.module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(symbol)
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
    """Make the kernels that the specs name, and write the specs of the library."""
    from libraries import portable  # noqa: PLC0415 - of this folder

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", nargs="?", help="the model, for the name of the spec")
    parser.add_argument("specs", nargs="*", metavar="SPEC")
    parser.add_argument("--program", type=Path)
    options = parser.parse_args()
    sink = DiagnosticSink(print)
    given = {path.stem: [str(path)] for path in sorted(FOLDER.glob("*.mlir"))}
    if options.name:
        given = {options.name: options.specs or given[options.name]}
    header = (
        f"Made by benchmarks/kernel_library.py with Triton {version('triton')}.",
        f"{SOURCE[0].upper()}{SOURCE[1:]}, for a model of docs/benchmarks.md.",
    )
    with thread_context(), ProcessPoolExecutor() as pool:
        for name, sources in given.items():
            chosen = choices(SpecFiles(read_specs(sources, sink), upgrade=True, diagnostics=sink))
            chosen = needed(options.program, chosen) if options.program else chosen
            calls = list(pool.map(made, chosen.values()))
            text = (
                "".join(f"// {line}\n" for line in header) + f"\n{portable(library(name, calls))}"
            )
            (FOLDER / f"{name}.mlir").write_text(text)
            print(f"{name}: {len(calls)} kernels, {len(text):,} bytes")


if __name__ == "__main__":
    main()
