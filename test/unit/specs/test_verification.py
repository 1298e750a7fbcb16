"""Verifying specs: nothing is claimed that the compiler and its interpreter do not bear out."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from generated_specs import GeneratedEntry, GeneratedSpec, Shape, payloads, spec_lists
from hypothesis import given, settings
from interpreter import apply_spec, numbered_attributes
from iree.compiler import ir as mlir
from places import ROOT
from processes import PATIENCE

from tuninglink.errors import Diagnostic, Severity
from tuninglink.mlir import DiagnosticSink, collected_diagnostics, names
from tuninglink.passes.verify_specs import VerifySpecs, report_unreachable
from tuninglink.specs import Spec, link_specs, load_spec
from tuninglink.specs.verification import verify_spec

CAMPAIGN = settings(max_examples=30)
PAYLOAD = """
func.func @payload(%in: tensor<4x4xf32>, %c: f32) -> tensor<4x4xf32> {
  %0 = linalg.fill {number = 0 : i64} ins(%c : f32) outs(%in : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.copy {number = 1 : i64} ins(%0 : tensor<4x4xf32>) outs(%in : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}"""


def findings(module: mlir.Operation) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    sink = DiagnosticSink(found.append)
    verify_spec(module, sink)
    if not sink.error_count:
        report_unreachable(module, sink)
    return found


def errors(module: mlir.Operation) -> list[str]:
    return [each.message for each in findings(module) if each.severity is Severity.ERROR]


def spec_text(
    matcher: str = "",
    *,
    helper: str = "",
    argument: str = "!transform.any_op",
    action: str | None = None,
    parameter: str = "!transform.any_param",
) -> str:
    """Return a spec with one entry for `linalg.copy`, and further text in one place."""
    action = (
        action
        or f"""
      transform.named_sequence @apply(%op: {argument} {{transform.readonly}}, %value: {parameter} {{transform.readonly}}) {{
        transform.annotate %op "lowering_config" = %value : {argument}, {parameter}
        transform.yield
      }}"""
    )
    return f"""
    module attributes {{
      transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
    }} {{
      {helper}
      transform.named_sequence @match(%op: {argument} {{transform.readonly}}) -> ({argument}, !transform.any_param) {{
        {matcher}
        transform.match.operation_name %op ["linalg.copy"] : {argument}
        %value = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[1]]> -> !transform.any_param
        transform.yield %op, %value : {argument}, !transform.any_param
      }}
      {action}
      transform.named_sequence @__kernel_config(%module: !transform.any_op {{transform.consumed}})
          -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
        %done = transform.foreach_match in %module @match -> @apply : (!transform.any_op) -> !transform.any_op
        transform.yield %done : !transform.any_op
      }}
    }}"""


def annotating(body: str) -> str:
    return f"""
      transform.named_sequence @helper(%op: !transform.any_op {{transform.readonly}}) {{
        {body}
        transform.yield
      }}"""


INCLUDE_HELPER = "transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()"

# --- Errors: what the compiler takes, and what then goes wrong -----------------------------------------

BREAKS_LATER = {
    "changes the payload in matcher": spec_text(
        'transform.annotate %op "seen" : !transform.any_op'
    ),
    "cannot be in matcher": spec_text(
        "%users = transform.get_consumers_of_result %op[0] : (!transform.any_op) -> !transform.any_op"
    ),
    "takes only 'linalg.copy'": spec_text(argument='!transform.op<"linalg.copy">'),
    "reference to '@apply', which is declared": spec_text(
        action="transform.named_sequence private @apply("
        "!transform.any_op {transform.readonly}, !transform.any_param {transform.readonly})"
    ),
    "reference to '@helper', which is declared": spec_text(
        INCLUDE_HELPER,
        helper="transform.named_sequence private @helper(!transform.any_op {transform.readonly})",
    ),
    "does not fit '!transform.param<i64>'": spec_text(parameter="!transform.param<i64>"),
    "does not fit '!transform.param<i32>'": spec_text(
        "%wide = transform.param.constant 1 : i64 -> !transform.param<i32>"
    ),
}


@pytest.mark.parametrize("message", BREAKS_LATER)
def test_what_is_an_error_fails_when_applied(message: str) -> None:
    spec = load_spec(BREAKS_LATER[message].encode())
    found = errors(spec.module)
    assert len(found) == 1
    assert message in found[0]
    with pytest.raises(mlir.MLIRError):
        apply_spec(spec, PAYLOAD)


def test_the_same_spec_without_the_mistake_is_applied() -> None:
    spec = load_spec(spec_text().encode())
    assert findings(spec.module) == []
    assert set(numbered_attributes(apply_spec(spec, PAYLOAD), names.LOWERING_CONFIG)) == {1}


def test_a_helper_with_side_effects_marks_what_its_matcher_does_not_match() -> None:
    helper = annotating('transform.annotate %op "seen" : !transform.any_op')
    spec = load_spec(spec_text(INCLUDE_HELPER, helper=helper).encode())
    assert "on behalf of matcher '@match'" in errors(spec.module)[0]
    applied = apply_spec(spec, PAYLOAD)
    assert set(numbered_attributes(applied, "seen")) == {0, 1}
    assert set(numbered_attributes(applied, names.LOWERING_CONFIG)) == {1}


@pytest.mark.parametrize(
    "operation",
    [
        '%0 = transform.cast %op : !transform.any_op to !transform.op<"linalg.copy">',
        "%0 = transform.get_consumers_of_result %op[0] : (!transform.any_op) -> !transform.any_op",
        "%0 = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value",
        "%0 = transform.get_parent_op %op : (!transform.any_op) -> !transform.any_op",
        "%0 = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op",
        "%0 = transform.get_result %op[0] : (!transform.any_op) -> !transform.any_value",
        "%0 = transform.merge_handles %op, %op : !transform.any_op",
        "%0 = transform.num_associations %op : (!transform.any_op) -> !transform.param<i64>",
        "%0 = transform.param.constant 1 : i64 -> !transform.param<i64>",
        '%0 = transform.structured.match ops{["linalg.fill"]} in %op : (!transform.any_op) -> !transform.any_op',
        "transform.apply_cse to %op : !transform.any_op",
        "transform.apply_licm to %op : !transform.any_op",
        "transform.foreach %op : !transform.any_op {\n^bb0(%each: !transform.any_op):\n}",
        "transform.iree.match.has_no_lowering_config %op : !transform.any_op",
        "transform.match.operation_empty %op : !transform.any_op",
        "transform.print %op : !transform.any_op",
        "transform.sequence %op : !transform.any_op failures(propagate) {\n^bb0(%each: !transform.any_op):\n}",
        "transform.verify %op : !transform.any_op",
    ],
)
def test_operations_in_matchers_are_refused_where_the_interpreter_refuses_them(
    operation: str, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = load_spec(spec_text(operation).encode())
    refusal = ""
    try:
        apply_spec(spec, PAYLOAD)
    except mlir.MLIRError as failure:
        refusal = str(failure)
    capfd.readouterr()
    assert bool(errors(spec.module)) == ("to implement MatchOpInterface" in refusal)


# --- Nothing false ------------------------------------------------------------------------------------


@CAMPAIGN
@given(spec_lists(reaches=True, can_fail=True))
def test_no_errors_in_specs_that_link(specs: list[GeneratedSpec]) -> None:
    loaded = [load_spec(each.text().encode(), name=f"spec {n}") for n, each in enumerate(specs)]
    for spec in (*loaded, link_specs(loaded).spec):
        assert errors(spec.module) == []


@CAMPAIGN
@given(spec_lists((Shape.DEFAULT, Shape.UNMARKED_LIST), reaches=True), payloads())
def test_unreachable_entries_are_those_whose_ops_an_earlier_one_takes(
    specs: list[GeneratedSpec], payload: str
) -> None:
    """What the matchers that reach for other ops do is not understood; they are recognized by their structure."""
    spec = specs[0]
    expected = []
    for index, entry in enumerate(spec.entries):
        accepted = spec.accepts(entry)
        if any(
            spec.accepts(each) == accepted
            if entry.reaches
            else set(spec.accepts(each)) >= set(accepted)
            for each in spec.entries[:index]
            if each.reaches == entry.reaches
        ):
            expected.append(f"'@m{index} -> @a{index}' is unreachable")
    warnings = [each.message for each in findings(load_spec(spec.text().encode()).module)]
    unreachable = [each for each in warnings if "unreachable" in each]
    assert len(unreachable) == len(expected)
    for text, warning in zip(expected, unreachable, strict=True):
        assert text in warning
    default = GeneratedSpec(spec.name, Shape.DEFAULT, spec.entries)
    configured = numbered_attributes(
        apply_spec(load_spec(default.text().encode()), payload), names.LOWERING_CONFIG
    )
    never = {
        entry.value
        for n, entry in enumerate(spec.entries)
        if f"'@m{n} -> @a{n}' is unreachable" in expected
    }
    assert not any(f"[[{value}]]" in each for value in never for each in configured.values())


def test_the_shipped_specs_are_sound() -> None:
    directory = ROOT / "specs" / "default"
    for path in directory.glob("*.mlir"):
        assert findings(load_spec(path).module) == []


# --- The compiler's verifier --------------------------------------------------------------------------


def _without_argument_attributes(spec: mlir.Operation) -> None:
    del sequence(spec, "match").attributes["arg_attrs"]


def _with_dangling_matcher(spec: mlir.Operation) -> None:
    foreach_match(spec).attributes["matchers"] = mlir.Attribute.parse("[@nowhere]", spec.context)


def _with_wrong_action(spec: mlir.Operation) -> None:
    foreach_match(spec).attributes["actions"] = mlir.Attribute.parse("[@match]", spec.context)


def _with_more_matchers_than_actions(spec: mlir.Operation) -> None:
    attribute = mlir.Attribute.parse("[@match, @match]", spec.context)
    foreach_match(spec).attributes["matchers"] = attribute


def _with_a_list_of_anything(spec: mlir.Operation) -> None:
    foreach_match(spec).attributes["matchers"] = mlir.Attribute.parse("[1, 1]", spec.context)


def _without_the_trait(spec: mlir.Operation) -> None:
    del spec.attributes[names.WITH_NAMED_SEQUENCE]


def _with_a_wrong_mark(spec: mlir.Operation) -> None:
    entry_point = sequence(spec, names.KERNEL_CONFIG)
    entry_point.attributes[names.ENTRY_POINT] = mlir.Attribute.parse("1 : i32", spec.context)


def _without_entry_point(spec: mlir.Operation) -> None:
    sequence(spec, names.KERNEL_CONFIG).erase()


def _with_two_entry_points(spec: mlir.Operation) -> None:
    for each in spec.regions[0].blocks[0].operations:
        each.attributes[names.ENTRY_POINT] = mlir.UnitAttr.get(spec.context)


def _with_results(spec: mlir.Operation) -> None:
    kind = "(!transform.any_op) -> (!transform.any_op, !transform.any_op)"
    entry_point = sequence(spec, names.KERNEL_CONFIG)
    with spec.context:
        entry_point.attributes["function_type"] = mlir.TypeAttr.get(mlir.Type.parse(kind))


def sequence(spec: mlir.Operation, name: str) -> mlir.Operation:
    children = [each.operation for each in spec.regions[0].blocks[0].operations]
    return next(each for each in children if each.attributes[names.SYMBOL_NAME].value == name)


def foreach_match(spec: mlir.Operation) -> mlir.Operation:
    return sequence(spec, names.KERNEL_CONFIG).regions[0].blocks[0].operations[0].operation


@pytest.mark.parametrize(
    "damage",
    [
        _without_argument_attributes,
        _with_dangling_matcher,
        _with_wrong_action,
        _with_more_matchers_than_actions,
        _with_a_list_of_anything,
        _without_the_trait,
        _with_a_wrong_mark,
        _without_entry_point,
        _with_two_entry_points,
        _with_results,
    ],
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_what_the_compiler_refuses_is_refused(damage: object, *, is_nested: bool) -> None:
    assert callable(damage)
    text = spec_text()
    if is_nested:
        text = f"module attributes {{transform.with_named_sequence}} {{\n{text}\n}}"
    module = mlir.Module.parse(text, mlir.Context()).operation
    spec = module.regions[0].blocks[0].operations[0].operation if is_nested else module
    damage(spec)
    with pytest.raises(mlir.MLIRError) as refusal, collected_diagnostics(module.context):
        spec.verify()
    said = {each.message for each in refusal.value.error_diagnostics}
    assert said <= set(errors(module))


def test_warnings_of_the_compiler_are_said_once() -> None:
    text = """
    module attributes {transform.with_named_sequence} {
      module @a attributes {transform.with_named_sequence} {
        transform.named_sequence @main(%module: !transform.any_op {transform.consumed})
            -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
          transform.print %module : !transform.any_op
          transform.yield %module : !transform.any_op
        }
      }
    }"""
    context = mlir.Context()
    with collected_diagnostics(context):
        module = mlir.Module.parse(text, context).operation
    (warning,) = findings(module)
    assert warning.severity is Severity.WARNING
    assert "is not consumed in the body but is marked as consumed" in warning.message
    assert warning.place


def run_apart(code: str) -> str:
    """Run Python code that may crash or hang in a separate process; return its output."""
    program = "from test_verification import *\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_repeated_matcher_is_an_error_and_no_crash() -> None:
    """The compiler's verifier warns about it, and to print the operation, verifies it again."""
    printed = run_apart(
        """
        module = mlir.Module.parse(spec_text(), mlir.Context()).operation
        for side, symbol in (("matchers", "match"), ("actions", "apply")):
            attribute = mlir.Attribute.parse(f"[@{symbol}, @{symbol}]", module.context)
            foreach_match(module).attributes[side] = attribute
        print(*findings(module), sep="\\n")
        """
    )
    (line,) = printed.splitlines()
    assert "error: matcher '@match' is used more than once" in line


def test_warnings_in_nested_modules_do_not_lock_up() -> None:
    """The compiler verifies them in several threads, and calls the handler from where it happens to be."""
    printed = run_apart(
        """
        sequences = "\\n".join(
            f"transform.named_sequence @s{n}(%v: !transform.any_op {{transform.consumed}}) {{ transform.yield }}"
            for n in range(6)
        )
        entry_point = (
            "transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op "
            "attributes {iree_codegen.tuning_spec_entrypoint} "
            "{ transform.print %v : !transform.any_op transform.yield %v : !transform.any_op }"
        )
        nested = "\\n".join(
            f"module @m{n} attributes {{transform.with_named_sequence}} {{ {sequences} }}" for n in range(20)
        )
        text = f"module attributes {{transform.with_named_sequence}} {{ {nested} {entry_point} }}"
        for _ in range(30):
            context = mlir.Context()
            context.enable_multithreading(False)
            module = mlir.Module.parse(text, context).operation
            context.enable_multithreading(True)
            found = findings(module)
        print(len(found))
        """
    )
    assert printed.strip() == "120"


# --- The pass -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "severity"),
    [
        (VerifySpecs(), Severity.WARNING),
        (VerifySpecs(warnings_as_errors=True), Severity.ERROR),
    ],
)
def test_warnings_fail_the_pass_on_demand(options: VerifySpecs, severity: Severity) -> None:
    entry = GeneratedEntry(("linalg.fill",), None, None, action_helper=False)
    spec = load_spec(GeneratedSpec("silent", Shape.DEFAULT, (entry,)).text().encode())
    found: list[Diagnostic] = []
    sink = DiagnosticSink(found.append)
    options.apply(spec.module, sink)
    assert [each.severity for each in found] == [severity]
    assert sink.error_count == (severity is Severity.ERROR)


def test_nothing_is_changed() -> None:
    spec: Spec = load_spec(spec_text().encode())
    before = spec.text()
    verify_spec(spec.module, DiagnosticSink(lambda _: None))
    assert spec.text() == before
