"""What `check` finds in replace entries. Each error about a matcher is shown on a program that is replaced wrongly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from places import ROOT
from programs import TARGETS

import tuninglink
from tuninglink.checking import Checker
from tuninglink.compiler import compile_flags, executable_target
from tuninglink.errors import Diagnostic, Severity
from tuninglink.forms import FormProblem, forms_of
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink, thread_context
from tuninglink.replacing import Attention, Contraction, spec as spec_of
from tuninglink.rules import Rule
from tuninglink.solver import Verdict
from tuninglink.specs import link_specs, load_spec

if TYPE_CHECKING:
    from tuninglink.specs import Spec

ROWS = (ROOT / "test" / "cli" / "Inputs" / "replace-rows.mlir").read_text()
FLAGS = (*TARGETS["llvm-cpu"], "--compile-to=preprocessing")
NAMED = 'transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op\n'
ALL = "get_operand %root[all]"
USE = "tensor.pad %acc low"
MAPS = """indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"""
SIGNATURE = """func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>, %e: tensor<34x32xf32>) -> tensor<34x32xf32> {
  %one = arith.constant 1.0 : f32
"""
PRODUCT = """  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
"""
FROM_ONE = f"{SIGNATURE} %i = linalg.fill ins(%one : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>\n{PRODUCT}"
NEGATED = f"""{SIGNATURE}
  %c = linalg.generic {{{MAPS}, iterator_types = ["parallel", "parallel", "reduction"]}} ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%e : tensor<34x32xf32>) {{
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %n = arith.negf %a : f32
    %p = arith.mulf %n, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }} -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}}
"""


def dag(body: str, arguments: str, *, only_root: bool = True) -> str:
    """Return the spec with a DAG matcher instead of a named one."""
    begin, end = (
        ROWS.index("    transform.match.operation_name"),
        ROWS.index("    transform.yield %op"),
    )
    matcher = f"""    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
    ^bb0({arguments}):
      {body}
    }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
"""
    text = ROWS[:begin] + matcher + ROWS[end:]
    if only_root:
        return text
    text = text.replace(
        "transform.yield %op : !transform.any_op",
        "transform.yield %op, %ins : !transform.any_op, !transform.any_value",
    )
    text = text.replace(
        "-> !transform.any_op {\n    %ins, %outs",
        "-> (!transform.any_op, !transform.any_value) {\n    %ins, %outs",
    )
    text = text.replace(
        "(%root: !transform.any_op {transform.readonly})",
        "(%root: !transform.any_op {transform.readonly}, %ins: !transform.any_value {transform.readonly})",
    )
    return text.replace(
        "    %ins = transform.get_operand %root[all] : (!transform.any_op) -> !transform.any_value\n",
        "",
    )


OPERANDS = "%l: tensor<34x48xf32>, %r: tensor<48x32xf32>, %i: tensor<34x32xf32>"
SHOWN = "%c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>"
START = """%zero = arith.constant 0.0 : f32
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
      """
WITHOUT_ACC = ROWS.replace(", %acc: tensor<34x32xf32>)", ")").replace(
    "%p1 = tensor.pad %acc low[0, 0] high[14, 0] {\n    ^bb0(%i0: index, %i1: index):\n      tensor.yield %z : f32\n    } : tensor<34x32xf32> to tensor<48x32xf32>",
    "%t = tensor.empty() : tensor<48x32xf32>\n    %p1 = linalg.fill ins(%z : f32) outs(%t : tensor<48x32xf32>) -> tensor<48x32xf32>",
)


def findings(spec: str) -> list[Diagnostic]:
    report = Checker().check(spec.encode(), "spec.mlir")
    return [each for each in report.structure if each.rule is not None]


def replaces(spec: str, program: str) -> bool:
    """Return whether the compiler replaces the only product of a program."""
    sink = DiagnosticSink(lambda _: None)
    result = tuninglink.compile(
        program.encode(), specs=[spec.encode()], flags=FLAGS, diagnostics=sink
    )
    return len(result.replaced) == 1


SOUND = {
    "a named op, with all operands": ROWS,
    "all of an op": dag(SHOWN, OPERANDS),
    "all free values": dag(SHOWN, OPERANDS, only_root=False),
    "regions": ROWS.replace(
        NAMED,
        f"transform.iree.match.regions %op : !transform.any_op {{\n ^bb0({OPERANDS}):\n {SHOWN}\n }}\n",
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_entries_have_no_findings(name: str) -> None:
    assert not findings(SOUND[name])
    assert replaces(SOUND[name], FROM_ONE)
    # The function gets the accumulator. Only a body that differs may not be replaced.
    assert not replaces(SOUND[name], NEGATED)


def test_a_pinned_start_need_not_be_passed() -> None:
    spec = WITHOUT_ACC.replace(ALL, "get_operand %root[0, 1]")
    pinned = ROWS.index("    transform.match.operation_name"), ROWS.index("    transform.yield %op")
    shown = dag(START + SHOWN, OPERANDS.replace("%i:", "%e:"))
    matcher = shown[pinned[0] : shown.index("    transform.yield %op")]
    begin, end = (
        spec.index("    transform.match.operation_name"),
        spec.index("    transform.yield %op"),
    )
    spec = spec[:begin] + matcher + spec[end:]
    assert not findings(spec)
    assert not replaces(spec, FROM_ONE)
    assert replaces(
        spec, FROM_ONE.replace("%one = arith.constant 1.0", "%one = arith.constant 0.0")
    )


FUNCTION = ROWS[ROWS.index("  util.func") : ROWS.index("  transform.")]
TWO_ARGUMENTS = WITHOUT_ACC[WITHOUT_ACC.index("  util.func") : WITHOUT_ACC.index("  transform.")]
TAKES_ACC = (
    ") -> tensor<34x32xf32> {\n",
    ", %acc: tensor<34x32xf32>) -> tensor<34x32xf32> {\n    %first = arith.constant 0 : index\n",
)
SQUARE = "tensor<32x32xf32>"


def square(text: str) -> str:
    """Return a spec or a program for square operands, whose function does not pad."""
    begin, end = text.find("    %z = arith"), text.find("    util.return")
    if begin >= 0:
        matmul = "    %r = linalg.matmul ins(%a0, %a1 : T, T) outs(%acc : T) -> T\n"
        text = text[:begin] + matmul.replace("T", SQUARE) + text[end:]
    return (
        re.sub(r"tensor<\d+x\d+xf32>", SQUARE, text).replace("[34]", "[32]").replace("[48]", "[32]")
    )


TRANSPOSED = square(
    NEGATED.replace("(m, n, k) -> (k, n)", "(m, n, k) -> (n, k)")
    .replace("%n = arith.negf %a : f32", "")
    .replace("arith.mulf %n", "arith.mulf %a")
)
REGIONS = ROWS.replace(
    NAMED,
    f"transform.iree.match.regions %op : !transform.any_op {{\n ^bb0({OPERANDS}):\n {SHOWN}\n }}\n",
)
DYNAMIC = """func.func @main(%l: tensor<?x48xf32>, %r: tensor<48x32xf32>, %e: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %c = linalg.matmul ins(%l, %r : tensor<?x48xf32>, tensor<48x32xf32>) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %c : tensor<?x32xf32>
}"""
TO_STATIC = ("cast_shape_dynamic_dims }", "cast_shape_dynamic_dims ignore_dynamic_info }")
SPLIT = """%s:2 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<34x48xf32>) outs(%y, %y : tensor<34x48xf32>, tensor<34x48xf32>) {
      ^bb0(%a: f32, %b0: f32, %b1: f32):
        %n = arith.negf %a : f32
        linalg.yield %a, %n : f32, f32
      } -> (tensor<34x48xf32>, tensor<34x48xf32>)
      """
OF_SPLIT = (
    "%x: tensor<34x48xf32>, %y: tensor<34x48xf32>, %r: tensor<48x32xf32>, %i: tensor<34x32xf32>"
)
SECOND_RESULT = f"""func.func @main({OF_SPLIT}) -> (tensor<34x32xf32>, tensor<34x48xf32>) {{
  {SPLIT}{SHOWN.replace("%l,", "%s#1,")}
  return %c, %s#0 : tensor<34x32xf32>, tensor<34x48xf32>
}}"""

UNSOUND = {
    "all operands but the accumulator are passed": (
        WITHOUT_ACC.replace(ALL, "get_operand %root[except(2)]"),
        FROM_ONE,
        "the action does not pass it",
    ),
    "operands are counted from the last": (
        WITHOUT_ACC.replace(ALL, "get_operand %root[0, -2]"),
        FROM_ONE,
        "the action does not pass it",
    ),
    "only the size of the accumulator is used": (
        WITHOUT_ACC.replace(*TAKES_ACC, 1).replace(
            "    %z", "    %rows = tensor.dim %acc, %first : tensor<34x32xf32>\n    %z", 1
        ),
        FROM_ONE,
        "'@rows' does not use it",
    ),
    "the accumulator is only written to": (
        WITHOUT_ACC.replace(*TAKES_ACC, 1)
        .replace("to tensor<48x48xf32>\n", "to tensor<48x48xf32>\n    %w = FILL\n    %q = PAD\n", 1)
        .replace(
            "FILL", "linalg.fill ins(%z : f32) outs(%acc : tensor<34x32xf32>) -> tensor<34x32xf32>"
        )
        .replace(
            "PAD",
            "tensor.pad %w low[0, 0] high[14, 0] {\n^bb0(%i: index, %j: index):\ntensor.yield %z : f32\n} : tensor<34x32xf32> to tensor<48x32xf32>",
        )
        .replace("outs(%p1", "outs(%q"),
        FROM_ONE,
        "'@rows' does not use it",
    ),
    "nothing depends on what the accumulator is used for": (
        WITHOUT_ACC.replace(*TAKES_ACC, 1).replace(
            "    %z", "    %twice = arith.addf %acc, %acc : tensor<34x32xf32>\n    %z", 1
        ),
        FROM_ONE,
        "'@rows' does not use it",
    ),
    "regions are compared without maps": (
        square(
            re.sub(r"output_type = f32,\s+indexing_maps = .*\] :", "output_type = f32 :", REGIONS)
        ),
        TRANSPOSED,
        "an operand transposed",
    ),
    "dynamic sizes are cast to static ones": (
        re.sub(r"    transform.iree.match.dims_equal %m, .*\n", "", ROWS).replace(*TO_STATIC),
        DYNAMIC,
        "relies on the sizes of the operand 0",
    ),
    "any number of rows is matched": (
        ROWS.replace("dims_equal %m, [34]", "dims_equal %m, [-1]").replace(*TO_STATIC),
        DYNAMIC,
        "relies on the sizes of the operand 0",
    ),
    "a DAG has dynamic sizes": (
        dag(SHOWN.replace("34x", "?x"), OPERANDS.replace("34x", "?x")).replace(*TO_STATIC),
        DYNAMIC,
        "relies on the sizes of the operand 0",
    ),
    "a DAG reads one of two results": (
        dag(SPLIT + SHOWN.replace("%l,", "%s#0,"), OF_SPLIT, only_root=False).replace(
            FUNCTION,
            FUNCTION.replace(
                "%a1: tensor<48x32xf32>", "%y: tensor<34x48xf32>, %a1: tensor<48x32xf32>"
            ).replace(
                "%p0 = tensor.pad %a0 low",
                "%both = arith.addf %a0, %y : tensor<34x48xf32>\n    %p0 = tensor.pad %a0 low",
            ),
        ),
        SECOND_RESULT,
        "which result of 'linalg.generic' is read",
    ),
    "the accumulator is not passed": (
        WITHOUT_ACC.replace(ALL, "get_operand %root[0, 1]"),
        FROM_ONE,
        "accumulator starts at 1",
    ),
    "the accumulator is not used": (
        WITHOUT_ACC.replace(
            ") -> tensor<34x32xf32> {\n    %z",
            ", %acc: tensor<34x32xf32>) -> tensor<34x32xf32> {\n    %z",
        ),
        FROM_ONE,
        "'@rows' does not use it",
    ),
    "a DAG leaves the accumulator free": (
        dag(SHOWN, OPERANDS)
        .replace(
            ROWS[: ROWS.index("  transform.")], WITHOUT_ACC[: WITHOUT_ACC.index("  transform.")]
        )
        .replace(ALL, "get_operand %root[0, 1]"),
        FROM_ONE,
        "the action does not pass it",
    ),
    "the body is not compared": (ROWS.replace(NAMED, ""), NEGATED, "arith.negf"),
    "generics have any body": (
        ROWS.replace('["linalg.matmul"]', '["linalg.matmul", "linalg.generic"]'),
        NEGATED,
        "arith.negf",
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_a_matcher_does_not_see_is_an_error_with_a_program(name: str) -> None:
    spec, program, words = UNSOUND[name]
    finding, *others = findings(spec)
    # A function relies on the sizes of each operand.
    assert all("the sizes of" in other.message for other in others)
    assert (finding.rule, finding.severity) == (Rule.UNPINNED, Severity.ERROR)
    assert words in finding.message
    assert finding.place is not None
    assert finding.place.line > spec[: spec.index("@match_rows(")].count("\n")
    assert finding.notes
    assert replaces(spec, program)


@pytest.mark.parametrize(
    "types", [("i8", "i8", "i32"), ("i8", "i8", "f32"), ("i8", "f32", "f32"), ("f32", "f32", "i32")]
)
def test_integers_may_be_extended_without_their_sign(types: tuple[str, str, str]) -> None:
    def typed(text: str) -> str:
        for shape, element in zip(("34x48x", "48x32x", "34x32x"), types, strict=True):
            text = text.replace(f"{shape}f32", shape + element)
        return text

    spec = (
        ROWS.partition("    %z =")[0]
        + "%o = linalg.matmul ins(%a0, %a1 : tensor<34x48xf32>, tensor<48x32xf32>) outs(%acc : tensor<34x32xf32>) -> tensor<34x32xf32>\n    util.return %o : tensor<34x32xf32>\n  }\n"
        + ROWS[ROWS.index("  transform.named_sequence @match") :]
    )
    expected = [
        f"{name}_type = {kind}" for name, kind in zip(("lhs", "rhs", "output"), types, strict=True)
    ]
    spec = typed(spec).replace(
        "lhs_type = f32, rhs_type = f32, output_type = f32", ", ".join(expected)
    )
    (finding,) = findings(spec)
    assert "by 'cast_unsigned'" in finding.message
    for cast in ("", "{cast = #linalg.type_fn<cast_unsigned>}"):
        program = f"func.func @main({OPERANDS}) -> tensor<34x32xf32> {{\n{SHOWN}\nreturn %c : tensor<34x32xf32> }}"
        assert replaces(spec, typed(program.replace("linalg.matmul", f"linalg.matmul {cast}")))


WINDOWS = "%a0: tensor<1x4x4x8xf32>, %w: tensor<3x3xf32>, %acc: tensor<1x2x2x8xf32>"
POOLING = "%r = linalg.pooling_nhwc_max ins(%a0, %w : tensor<1x4x4x8xf32>, tensor<3x3xf32>) outs(%acc : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>"


@pytest.mark.parametrize("accepted", [["max"], ["max", "min"]])
def test_names_of_poolings_pin_what_they_compute(accepted: list[str]) -> None:
    op_names = ", ".join(f'"linalg.pooling_nhwc_{name}"' for name in accepted)
    matcher = f"""    transform.match.operation_name %op [{op_names}] : !transform.any_op
    %n, %o, %c, %f, %i, %d, %s, %dil = transform.iree.match.convolution %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(n, y, x, c, v, w) -> (n, y + v, x + w, c)>, affine_map<(n, y, x, c, v, w) -> (v, w)>,
        affine_map<(n, y, x, c, v, w) -> (n, y, x, c)>] : !transform.any_op -> !transform.param<i64>
"""
    begin, end = (
        ROWS.index("    transform.match.operation_name"),
        ROWS.index("    transform.yield %op"),
    )
    # The window, of which only the sizes count, is not read.
    function = f"  util.func private @rows({WINDOWS}) -> tensor<1x2x2x8xf32> {{\n{POOLING}\nutil.return %r : tensor<1x2x2x8xf32>\n}}\n"
    spec = (ROWS[:begin] + matcher + ROWS[end:]).replace(FUNCTION, function)
    for name in ("max", "min"):
        pooling = POOLING.replace("max", name)
        program = f"func.func @main({WINDOWS}) -> tensor<1x2x2x8xf32> {{\n{pooling}\nreturn %r : tensor<1x2x2x8xf32> }}"
        assert replaces(spec, program) is (name in accepted)
    words = [finding.message for finding in findings(spec)]
    assert len(words) == len(accepted) - 1
    assert all(
        "'linalg.pooling_nhwc_max' instead of 'linalg.pooling_nhwc_min'" in word for word in words
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "%ins = transform.get_operand %root[all] : (!transform.any_op) -> !transform.any_value",
            (
                "%some = transform.get_operand %root[1, 2] : (!transform.any_op) -> !transform.any_value\n"
                "%first = transform.get_operand %root[0] : (!transform.any_op) -> !transform.any_value\n"
                "%ins = transform.merge_handles %first, %some : !transform.any_value"
            ),
            "what '@replace_rows' passes is not known",
        ),
        (
            "    %out = transform.get_result",
            '    transform.annotate %root "x" : !transform.any_op\n    %out = transform.get_result',
            "'@replace_rows' also runs 'transform.annotate', whose effect is not known",
        ),
        (
            "transform.match.operation_name %op",
            (
                "%p = transform.get_producer_of_operand %op[2] : (!transform.any_op) -> !transform.any_op\n"
                "transform.match.operation_name %p"
            ),
            "does not see the body beyond its product and sum",
        ),
    ],
)
def test_what_is_not_decided_is_a_warning(old: str, new: str, reason: str) -> None:
    finding = findings(ROWS.replace(old, new))[0]
    assert finding.severity is Severity.WARNING
    assert reason in finding.message


ATTENTION_MAPS = """indexing_maps = [affine_map<(b, m, n, k, j) -> (b, m, k)>, affine_map<(b, m, n, k, j) -> (b, j, k)>,
  affine_map<(b, m, n, k, j) -> (b, j, n)>, affine_map<(b, m, n, k, j) -> ()>, affine_map<(b, m, n, k, j) -> (b, m, n)>]"""
ATTENTION = f"""%o = iree_linalg_ext.attention <{{{ATTENTION_MAPS}}}> ins(%q, %k, %v, %s : tensor<2x9x4xf16>, tensor<2x9x4xf16>, tensor<2x9x4xf16>, f16) outs(%e : tensor<2x9x4xf16>) {{
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  }} -> tensor<2x9x4xf16>"""
MODIFIED = ATTENTION.replace(
    "iree_linalg_ext.yield %x", "%y = arith.mulf %x, %x : f32\n iree_linalg_ext.yield %y"
)
NAMED_ATTENTION = f"""%b, %m, %n, %k, %j = transform.iree.match.attention %op, query_type = f16, key_type = f16, value_type = f16, output_type = f16,
  {ATTENTION_MAPS} : !transform.any_op -> !transform.param<i64>"""
FREE = "%q: tensor<2x9x4xf16>, %k: tensor<2x9x4xf16>, %v: tensor<2x9x4xf16>"
DAG_ATTENTION = f"""%ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
  ^bb0({FREE}, %s: f16, %e: tensor<2x9x4xf16>):
  {ATTENTION}
  }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)"""
PINNED_ATTENTION = DAG_ATTENTION.replace("%s: f16, ", "").replace(
    "):\n", "):\n %s = arith.constant 0.125 : f16\n", 1
)


def attention_spec(matcher: str, *, passes_scale: bool) -> str:
    scale, operands = (", %s: f16", "0, 1, 2, 3") if passes_scale else ("", "0, 1, 2")
    constant = "" if passes_scale else "%s = arith.constant 0.125 : f16"
    function = f"""util.func private @rows({FREE}{scale}) -> tensor<2x9x4xf16> {{
    {constant}
    %e = tensor.empty() : tensor<2x9x4xf16>
    {ATTENTION}
    util.return %o : tensor<2x9x4xf16>
  }}
"""
    end = ROWS.index("    transform.yield %op")
    begin = ROWS.index("    transform.match.operation_name")
    head = ROWS[ROWS.index("  transform.named_sequence @match") : begin]
    module = "module attributes {transform.with_named_sequence} {\n"
    return (module + function + head + matcher + "\n" + ROWS[end:]).replace(
        "[all] : (!transform.any_op) -> !transform.any_value\n    %out",
        f"[{operands}] : (!transform.any_op) -> !transform.any_value\n    %out",
    )


def attention_program(attention: str = ATTENTION, scale: float = 0.125) -> str:
    return f"""func.func @main({FREE}) -> tensor<2x9x4xf16> {{
  %s = arith.constant {scale} : f16
  %e = tensor.empty() : tensor<2x9x4xf16>
  {attention}
  return %o : tensor<2x9x4xf16>
}}"""


@pytest.mark.parametrize(
    ("matcher", "passes_scale", "unseen"),
    [
        (NAMED_ATTENTION, False, ["scale is 3", "modification of the scores"]),
        (NAMED_ATTENTION, True, ["modification of the scores"]),
        (DAG_ATTENTION, False, ["operand 3"]),
        (DAG_ATTENTION, True, []),
        (PINNED_ATTENTION, False, []),
    ],
)
def test_attention_pins_its_scale_and_its_scores(
    matcher: str, *, passes_scale: bool, unseen: list[str]
) -> None:
    spec = attention_spec(matcher, passes_scale=passes_scale)
    errors = [finding.message for finding in findings(spec)]
    assert len(errors) == len(unseen)
    assert all(words in message for words, message in zip(unseen, errors, strict=True))
    assert replaces(spec, attention_program())
    # Another scale may be replaced where it is passed; other scores may not.
    scale_is_seen = matcher == PINNED_ATTENTION
    assert replaces(spec, attention_program(scale=3.0)) is not scale_is_seen
    assert replaces(spec, attention_program(MODIFIED)) is (matcher == NAMED_ATTENTION)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (ALL, "get_operand %root[0, 1]", "passes 2 values to '@rows', which takes 3"),
        (ALL, "get_operand %root[1, 0, 2]", "passes the operand 1 of type"),
        ("@rows into", "@match_rows into", "calls '@match_rows', which is not a 'util.func'"),
        ("get_result %root", "get_operand %root", "does not replace the results of the matched op"),
        (
            "util.return %r : tensor<34x32xf32>",
            "%w = arith.truncf %r : tensor<34x32xf32> to tensor<34x32xf16>\n util.return %w : tensor<34x32xf16>",
            "which returns tensor<34x32xf16> in place of tensor<34x32xf32>",
        ),
        ("    %4 = ", "", "calls 0 functions"),
    ],
)
def test_calls_must_fit(old: str, new: str, words: str) -> None:
    spec = dag(SHOWN, OPERANDS)
    if not new:
        lines = [line for line in spec.splitlines() if "cast_and_call" not in line]
        spec = "\n".join(lines)
    spec = (
        spec.replace("-> tensor<34x32xf32> {\n    %z", "-> tensor<34x32xf16> {\n    %z")
        if "f16" in new
        else spec
    )
    found = findings(spec.replace(old, new))
    assert words in found[0].message
    assert (found[0].rule, found[0].severity) == (Rule.STRUCTURE, Severity.ERROR)
    assert found[0].place is not None
    assert found[0].notes


LONG_ATTENTION = Attention(
    ("bhmk", "bhjk", "bhjn", "", "bhmn"), ("f16",) * 5, "bhmnkj", (2, 2, 257, 64, 64, 257)
)


@pytest.mark.parametrize(
    "problem",
    [
        LONG_ATTENTION,
        Contraction(("mk", "nk", "mn"), ("f16", "f16", "f32"), "mnk", (1028, 64, 64)),
        Contraction(("amk", "akn", "amn"), ("bf16",) * 3, "amnk", (2, 1028, 64, 64)),
    ],
    ids=str,
)
def test_the_entries_of_forms_are_sound(problem: FormProblem) -> None:
    flags = compile_flags(Target.parse("gfx942"))
    target = Target.from_attribute(executable_target(flags, thread_context()))
    forms = forms_of(problem, target)
    text = spec_of(forms)
    assert forms
    # The first form has an entry for each spelling.
    assert len(load_spec(text.encode()).replace_entries) == len(forms[0].spellings) > 1
    assert not findings(text)


def test_a_matcher_of_another_kind_is_not_decided() -> None:
    begin, end = ROWS.index("    %b, %m"), ROWS.index("    transform.yield %op")
    (finding,) = findings(ROWS[:begin] + ROWS[end:])
    assert (finding.rule, finding.severity) == (Rule.UNDECIDED, Severity.WARNING)


def test_a_report_has_an_answer_for_each_replace_entry() -> None:
    rows = load_spec(ROWS.encode())
    begin, end = ROWS.index("    %b, %m"), ROWS.index("    transform.yield %op")
    undecided = load_spec((ROWS[:begin] + ROWS[end:]).encode())
    unsound = load_spec(UNSOUND["the body is not compared"][0].encode())
    text = link_specs([unsound, rows, undecided, rows]).spec.bytecode()
    report = Checker().check(text, "spec.mlir")
    yes, no, open_ = Verdict.PROVEN, Verdict.REFUTED, Verdict.NOT_DECIDED
    assert report.replacing == {"sound": [no, yes, open_, yes], "reachable": [yes, no, open_, no]}


def test_a_compilation_warns_of_what_check_refuses() -> None:
    spec, program, words = UNSOUND["the body is not compared"]
    diagnostics: list[Diagnostic] = []
    tuninglink.compile(
        program.encode(),
        specs=[spec.encode()],
        flags=FLAGS,
        diagnostics=DiagnosticSink(diagnostics.append),
    )
    (warning,) = diagnostics
    assert warning.severity is Severity.WARNING
    assert words in warning.message


def test_entries_that_others_hide_are_reported_as_those_that_configure() -> None:
    def hidden(*specs: Spec) -> list[str]:
        found = Checker().check(link_specs(specs).spec.bytecode(), "spec").diagnostics()
        return [finding.message for finding in found if finding.rule is Rule.UNREACHABLE]

    rows, other = load_spec(ROWS.encode()), load_spec(ROWS.replace("%m, [34]", "%m, [35]").encode())
    never = (
        "replace entry '@match_rows_{} -> @replace_rows_{}' is never reached: '@match_rows' comes first and "
        "matches all ops that it matches"
    )
    assert hidden(rows, other) == []
    assert hidden(rows, rows) == [never.format(0, 0)]
    assert hidden(rows, other, rows) == [never.format(1, 1)]
    # Entries for different targets hide each other as little as those that configure.
    bound = [load_spec(ROWS.encode(), targets=[target]) for target in ("gfx942", "gfx90a")]
    assert hidden(*bound) == []
    assert hidden(*bound, rows) == []
    assert hidden(bound[0], bound[0], rows) == [never.format(0, 0)]
