"""Reading the graphs that kernels compute from programs, and programs of graphs."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.kernels.attentions import ScaledAttention
from tuninglink.kernels.convolutions import ConvolutionProblem
from tuninglink.kernels.decomposed import decomposed_attention
from tuninglink.kernels.layouts import unmoved
from tuninglink.kernels.problems import ProductProblem
from tuninglink.kernels.quantized import quantized_product
from tuninglink.kernels.steps import is_elementwise
from tuninglink.mlir import collect, defining_op, names, thread_context, to_text
from tuninglink.payloads import build, new_function
from tuninglink.replacing import NoFormError

_DIALECTS: Final = ("linalg.", "iree_linalg_ext.")

_MOST_OPS: Final = 24
"""The number of ops before an op among which a product is looked for."""

KernelProblem = ProductProblem | ConvolutionProblem | ScaledAttention


def kernel_problem(operation: mlir.Operation) -> KernelProblem:
    """Read the graph that ends with an op of a program at the preprocessing stage.

    Raises:
        NoFormError: no kernel computes it, with the reason.
    """
    problem, _ = _graph(operation.operation)
    return problem


def _graph(operation: mlir.Operation) -> tuple[KernelProblem, list[mlir.Operation]]:
    """Read the graph that ends with an op of a program; return also its product and the ops after it.

    Raises:
        NoFormError: no kernel computes it, with the reason.
    """
    start, moves = unmoved(operation)
    if start.name == names.ATTENTION:
        return ScaledAttention.of(start, moves), [start, *moves]
    with suppress(NoFormError):
        return decomposed_attention(start, moves)
    if operation.name == names.QUANTIZE:
        source = defining_op(operation.operands[0])
        if source is None or len([*source.results[0].uses]) != 1:
            raise NoFormError("other ops use what it quantizes")
        graph = [*_graph(source)[1], operation]
        return quantized_product(graph), graph
    # An op may follow several products. The nearest one leaves the others to their own graphs.
    following = sorted(_graphs_before(operation).items(), key=lambda graph: len(graph[1]))
    for product, after in [(operation, list[mlir.Operation]()), *following]:
        is_convolution = product.name == names.CONVOLUTION_NCHW
        with suppress(NoFormError):
            return quantized_product([product, *after]), [product, *after]
        try:
            read = (ConvolutionProblem if is_convolution else ProductProblem).of(product, after)
        except NoFormError as failure:
            reason = failure
        else:
            return read, [product, *after]
    raise reason


def _graphs_before(last: mlir.Operation) -> dict[mlir.Operation, list[mlir.Operation]]:
    """Return each product before an elementwise op, with the ops between them and the op itself, in order.

    Nothing else uses a value of these ops.
    """
    # Ops that the op follows, in an order in which each comes after its operands.
    ordered: dict[mlir.Operation, None] = {}

    def visit_before(operation: mlir.Operation) -> None:
        if operation in ordered or len(ordered) >= _MOST_OPS:
            return
        if is_elementwise(operation):
            for value in operation.operands[:-1]:
                producer = defining_op(value)
                if producer is not None and _is_structured(producer):
                    visit_before(producer)
        ordered[operation] = None

    if last.name == names.GENERIC:
        visit_before(last.operation)
    graphs = {}
    for product in ordered:
        if product == last.operation or is_elementwise(product):
            continue
        following = list[mlir.Operation]()
        for operation in ordered:
            before = {defining_op(value) for value in operation.operands[:-1]}
            if before.intersection([product, *following]):
                following.append(operation)
        used = {
            use.owner.operation for op in [product, *following[:-1]] for use in op.results[0].uses
        }
        if following and following[-1] == last.operation and used <= {*following}:
            graphs[product] = following
    return graphs


def problems_of(module: mlir.Operation) -> dict[KernelProblem, int]:
    """Return the problems of a program at the preprocessing stage for kernels, the largest graphs, with their numbers."""
    problems: Counter[KernelProblem] = Counter()
    covered: set[mlir.Operation] = set()
    for operation in reversed(collect(module)):
        if operation in covered or not operation.name.startswith(_DIALECTS):
            continue
        with suppress(NoFormError):
            problem, graph = _graph(operation)
            problems[problem] += 1
            covered.update(graph)
    # Ops are replaced in the order of the program: an entry for the beginning of a graph comes before one for all of it,
    # unless the ops after it are a chain.
    for problem in list(problems):
        beginnings = [other for other in problems if _begins(other, problem)]
        if beginnings:
            problems[min(beginnings, key=_length)] += problems.pop(problem)
    return dict(problems)


def repeated_inputs(problem: KernelProblem, count: int) -> list[mlir.Type]:
    """Return the types of the arguments of a program that computes a problem several times."""
    kinds = problem.tensors()
    first, *shared = problem.taken
    return [kinds[first]] * count + [kinds[at] for at in shared]


def repeated_program(problem: KernelProblem, count: int) -> str:
    """Return a program that computes a problem several times, from operands of which the first one differs."""
    with thread_context(), mlir.Location.unknown():
        kinds = problem.tensors()
        module, block = new_function(repeated_inputs(problem, count), [kinds[-1]] * count, "main")
        with mlir.InsertionPoint(block):
            results = []
            for own in block.arguments[:count]:
                given = dict(zip(problem.taken, [own, *block.arguments[count:]], strict=True))
                operands = [
                    given[at] if at in given else build("tensor.empty", kind)
                    for at, kind in enumerate(kinds)
                ]
                results.append(problem.build(operands))
            mlir.Operation.create("func.return", operands=results)
        module.verify()
        return to_text(module)


def _is_structured(operation: mlir.Operation) -> bool:
    return operation.name.startswith("linalg.") and operation.name != names.FILL


def _begins(beginning: KernelProblem, problem: KernelProblem) -> bool:
    """Return whether a graph is the beginning of another one, in whose place its entries match."""
    if isinstance(problem, ScaledAttention):
        if not isinstance(beginning, ScaledAttention) or not problem.following:
            return False
        plain = ScaledAttention(problem.attention, problem.scale)
        own = replace(beginning, graph="")
        return own in (replace(problem, following=(), graph=""), plain)
    is_begun = beginning != problem and problem.begins_with(beginning)
    return is_begun and not problem.ops_after(beginning)


def _length(problem: KernelProblem) -> int:
    """Return the number of ops of a graph besides its product or attention."""
    if isinstance(problem, ScaledAttention):
        return len(problem.moves) + len(problem.following)
    return len(problem.steps)
