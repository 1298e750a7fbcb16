"""Specs within a compilation: they take effect on every backend, and reports agree with the effects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from elementwise_specs import (
    PROGRAM,
    configuration,
    lowering_config,
    matcher,
    matcher_list,
    spec,
)
from iree.compiler import ir as mlir
from programs import TARGETS, iree_compile

import tuninglink
from tuninglink.errors import CompileError, Diagnostic, Place, Severity, SpecError
from tuninglink.mlir import DiagnosticSink, collect, names

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.compiler import Compilation

VMVX = TARGETS["vmvx"]
CPU = TARGETS["llvm-cpu"]
CONFIGURED = "--compile-to=executable-configurations"
TRANSLATED = "--compile-to=executable-targets"
TO_SOURCES = "--compile-to=executable-sources"
FROM_SOURCES = "--compile-from=executable-sources"
CONFIGURING = (*VMVX, CONFIGURED)
X86_64 = (*CPU, "--iree-llvmcpu-target-triple=x86_64-linux-gnu", CONFIGURED)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def who(compiled: Compilation) -> list[tuple[str, str | None, bool | None]]:
    """Return, for each operation that was configured: the spec, the entry, and whether it is its own."""
    return [
        (each.spec_name, each.entry.matcher if each.entry else None, each.is_own)
        for each in compiled.applied
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_a_spec_takes_effect_on_every_backend(target: str, program: Path, tmp_path: Path) -> None:
    flags = (*TARGETS[target], TRANSLATED)
    mine = spec(target, "mine").encode()
    tuned = tuninglink.compile(program, specs=[mine], default_specs=False, flags=flags)
    (applied,) = tuned.applied
    assert applied.operation == "linalg.generic"
    assert applied.dispatch.startswith("@add_dispatch_0::@")
    assert applied.function == "add_dispatch_0_elementwise_16_f32"
    assert applied.place == Place(str(program), 3, 10)
    assert (applied.position, applied.spec, applied.spec_name) == (0, "<memory>", "mine")
    assert applied.entry
    assert applied.entry.matcher == "match_mine"
    assert applied.is_own is True
    assert applied.target
    assert tuned.output != tuninglink.compile(program, default_specs=False, flags=flags).output

    configured = tuninglink.compile(program, specs=[mine], flags=[*TARGETS[target], CONFIGURED])
    assert lowering_config(target) in configured.output.decode()
    assert b"tuninglink" not in configured.output

    # Without a trace the output is the same: with fewer tags, and without any.
    fewer = tuninglink.compile(program, specs=[mine], default_specs=False, flags=flags, trace=False)
    assert fewer.output == tuned.output
    sources = tmp_path / "sources.mlir"
    embedded = tuninglink.compile(
        program, specs=[mine], default_specs=False, flags=[*TARGETS[target], TO_SOURCES]
    )
    sources.write_bytes(embedded.output)
    untagged = tuninglink.compile(sources, default_specs=False, flags=[*flags, FROM_SOURCES])
    again = tuninglink.compile(
        sources, specs=[mine], default_specs=False, flags=[*flags, FROM_SOURCES]
    )
    assert untagged.applied == ()
    assert again.output == untagged.output


@pytest.mark.parametrize("target", ["hip", "llvm-cpu"])
def test_the_output_is_that_of_iree_compile_with_the_same_spec(
    target: str, program: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.mlir"
    path.write_text(spec(target, "mine"))
    flags = [*TARGETS[target], f"--iree-codegen-tuning-spec-path={path}"]
    for more in ([], [CONFIGURED]):
        compiled = tuninglink.compile(program, default_specs=False, flags=[*flags, *more])
        assert compiled.output == iree_compile(program, *flags, *more)
        assert who(compiled) == [("mine", "match_mine", True)]


def test_the_entry_is_the_one_that_matched_even_if_all_give_the_same() -> None:
    names = {f"m{i}": "linalg.pack" for i in range(40)} | {
        "m40": "linalg.generic",
        "m41": "linalg.generic",
    }
    text = matcher_list("many", {n: matcher(n, "vmvx", op) for n, op in names.items()})
    exact = tuninglink.compile(PROGRAM.encode(), specs=[text.encode()], flags=CONFIGURING)
    assert who(exact) == [("many", "m40", True)]
    assert exact.applied[0].entry
    assert exact.applied[0].entry.action == "configure"
    rough = tuninglink.compile(
        PROGRAM.encode(), specs=[text.encode()], flags=CONFIGURING, trace=False
    )
    assert who(rough) == [("many", None, None)]
    assert rough.output == exact.output


def test_entries_keep_the_names_that_they_were_given() -> None:
    mine, other = spec("vmvx", "same", "linalg.pack"), spec("vmvx", "same")
    compiled = tuninglink.compile(
        PROGRAM.encode(), specs=[mine.encode(), other.encode()], flags=CONFIGURING
    )
    assert who(compiled) == [("same", "match_same", True)]
    assert compiled.applied[0].position == 1
    (warning,) = compiled.diagnostics
    assert warning.message.startswith("spec '<memory>' configured nothing")


OPAQUE = f"""
module @opaque attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @give(%op: !transform.any_op {{transform.readonly}}) {{
    %info = transform.param.constant {configuration("vmvx")} -> !transform.any_param
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @entry(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    transform.annotate %root "asked" : !transform.any_op
    %updated = transform.foreach_match in %root @match -> @give
      : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }}
}}
"""


def test_opaque_specs_are_traced_through_the_chain() -> None:
    packs = spec("vmvx", "packs", "linalg.pack")
    compiled = tuninglink.compile(
        PROGRAM.encode(), specs=[OPAQUE.encode(), packs.encode()], flags=CONFIGURING
    )
    assert who(compiled) == [("opaque", "match", True)]
    (warning,) = compiled.diagnostics
    assert "configured nothing" in warning.message
    compiled = tuninglink.compile(
        PROGRAM.encode(), specs=[packs.encode(), OPAQUE.encode()], flags=CONFIGURING
    )
    assert [(each.spec_name, each.position) for each in compiled.applied] == [("opaque", 1)]


INDIRECT = f"""
module @indirect attributes {{
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
}} {{
  transform.named_sequence @info(%op: !transform.any_op {{transform.readonly}})
      -> !transform.any_param {{
    %info = transform.param.constant {configuration("vmvx")} -> !transform.any_param
    transform.yield %info : !transform.any_param
  }}
  transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %info = transform.include @info failures(propagate) (%op)
      : (!transform.any_op) -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }}
  transform.named_sequence @helper(%op: !transform.any_op {{transform.readonly}},
      %info: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @configure(%op: !transform.any_op {{transform.readonly}},
      %info: !transform.any_param {{transform.readonly}}) {{
    transform.include @helper failures(propagate) (%op, %info)
      : (!transform.any_op, !transform.any_param) -> ()
    transform.yield
  }}
  transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %updated = transform.foreach_match in %root @match -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }}
}}
"""


@pytest.mark.parametrize("trace", [True, False])
def test_configurations_are_followed_through_includes(*, trace: bool) -> None:
    compiled = tuninglink.compile(
        PROGRAM.encode(), specs=[INDIRECT.encode()], flags=CONFIGURING, trace=trace
    )
    assert who(compiled) == [("indirect", "match", True)]


GROUPED = f"""
module @grouped attributes {{
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
}} {{
  transform.named_sequence @any(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @give(%op: !transform.any_op {{transform.readonly}}) {{
    %info = transform.param.constant {configuration("vmvx")} -> !transform.any_param
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @group(%op: !transform.any_op {{transform.consumed}}) {{
    %updated = transform.foreach_match restrict_root in %op @any -> @give
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }}
  transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %updated = transform.foreach_match in %root @any -> @group
      : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }}
}}
"""


def test_an_action_that_asks_on_is_traced_to_its_entry() -> None:
    compiled = tuninglink.compile(PROGRAM.encode(), specs=[GROUPED.encode()], flags=CONFIGURING)
    (applied,) = compiled.applied
    assert applied.entry
    assert (applied.entry.matcher, applied.entry.action) == ("any", "group")
    assert applied.is_own is None


UNMARKED = spec("vmvx", "old").replace(
    """-> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {""", "{"
).replace("    transform.yield %updated : !transform.any_op\n", "    transform.yield\n").replace(
    ", iree_codegen.tuning_spec_with_default_entrypoint", ""
)  # fmt: skip


def test_an_old_spec_without_marker_and_result_takes_effect_beside_a_default(
    tmp_path: Path,
) -> None:
    (tmp_path / "vmvx.mlir").write_text(spec("vmvx", "default"))
    assert "iree_codegen.tuning_spec" not in UNMARKED
    compiled = tuninglink.compile(
        PROGRAM.encode(), specs=[UNMARKED.encode()], spec_directories=[tmp_path], flags=CONFIGURING
    )
    assert who(compiled) == [("old", "match_old", True)]


def test_the_users_spec_wins_over_the_default_in_whatever_form_it_is(tmp_path: Path) -> None:
    (tmp_path / "vmvx.mlir").write_text(spec("vmvx", "default"))
    mine = spec("vmvx", "mine").replace(", iree_codegen.tuning_spec_with_default_entrypoint", "")
    for given, winner in (
        ([mine.encode()], "mine"),
        ([OPAQUE.encode()], "opaque"),
        ([], "default"),
    ):
        compiled = tuninglink.compile(
            PROGRAM.encode(), specs=given, spec_directories=[tmp_path], flags=CONFIGURING
        )
        assert [each.spec_name for each in compiled.applied] == [winner]


def test_each_target_gets_its_own_default_spec(tmp_path: Path) -> None:
    (tmp_path / "vmvx.mlir").write_text(spec("vmvx", "for_vmvx"))
    (tmp_path / "znver4.mlir").write_text(spec("llvm-cpu", "for_znver4"))
    backends = ["vmvx", "llvm-cpu"]
    flags = [f"--iree-hal-local-target-device-backends={each}" for each in backends]
    flags += ["--iree-hal-target-device=local", "--iree-llvmcpu-target-triple=x86_64-linux-gnu"]
    flags += ["--iree-llvmcpu-target-cpu=znver4"]
    dump = tmp_path / "dump"
    compiled = tuninglink.compile(
        PROGRAM.encode(), spec_directories=[tmp_path], flags=flags, dump_specs_to=dump
    )
    assert {(str(each.target), each.spec_name, each.is_own) for each in compiled.applied} == {
        ("vmvx", "for_vmvx", True),
        ("znver4", "for_znver4", True),
    }
    index = json.loads((dump / "index.json").read_text())
    assert {each["target"] for each in index["dispatches"]} == {"vmvx", "znver4"}
    assert len(index["specs"]) == 2


def test_many_dispatches_share_one_dumped_file(tmp_path: Path) -> None:
    compiled = tuninglink.compile(PROGRAM.encode(), default_specs=False, flags=[*VMVX, TO_SOURCES])
    module = mlir.Module.parse(compiled.output, mlir.Context())
    (executable,) = collect(module.operation, names.EXECUTABLE)
    for number in range(1, 300):
        clone = executable.clone(mlir.InsertionPoint(module.body)).operation
        clone.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(str(number), module.context)
    tuninglink.compile(
        str(module).encode(),
        specs=[spec("vmvx", "mine").encode()],
        flags=[*VMVX, FROM_SOURCES, CONFIGURED],
        dump_specs_to=tmp_path,
    )
    index = json.loads((tmp_path / "index.json").read_text())
    assert len(index["dispatches"]) == 300
    (only,) = index["specs"]
    assert {path.name for path in tmp_path.iterdir()} == {"index.json", only["file"]}


def test_a_damaged_embedded_spec_fails_the_compilation(program: Path, tmp_path: Path) -> None:
    flags = [*VMVX, TO_SOURCES]
    carried = tuninglink.compile(program, specs=[spec("vmvx", "mine").encode()], flags=flags)
    text = carried.output.decode()
    before, start, rest = text.partition('dense<"0x')
    content, end, after = rest.partition('"> : vector<')
    _, size, after = after.partition("xi8>")
    assert start
    assert end
    damaged = tmp_path / "damaged.mlir"
    damaged.write_text(f"{before}{start}{content[:400]}{end}200{size}{after}")

    untuned = iree_compile(damaged, *VMVX, FROM_SOURCES)
    assert untuned  # The compiler alone says something, and that it has succeeded.
    with pytest.raises(CompileError) as caught:
        tuninglink.compile(damaged, default_specs=False, flags=[*VMVX, FROM_SOURCES])
    assert "attempting to parse" in str(caught.value)
    with pytest.raises(SpecError, match="embedded in @add_dispatch_0::@vmvx_bytecode_fb"):
        tuninglink.compile(damaged, flags=[*VMVX, FROM_SOURCES])


# A pipeline for operations on buffers: the configuration is taken, and code generation fails on tensors.
FAILING = spec("llvm-cpu", "failing").replace("DoubleTilingExpert", "BufferOpsTileAndVectorize")


@pytest.mark.parametrize("mode", ["std", "hal-executable"])
def test_dumped_dispatches_take_specs(mode: str, program: Path, tmp_path: Path) -> None:
    iree_compile(program, *VMVX, f"--iree-hal-dump-executable-sources-to={tmp_path}")
    dispatch = tmp_path / "module_add_dispatch_0.mlir"
    path = tmp_path / "mine.mlir"
    path.write_text(spec("vmvx", "mine"))
    # In a separate program, the dispatch is not called, so it would be removed.
    flags = [*VMVX, f"--compile-mode={mode}", *([CONFIGURED] if mode == "std" else [])]
    compiled = tuninglink.compile(dispatch, specs=[path], default_specs=False, flags=flags)
    assert who(compiled) == [("mine", "match_mine", True)]
    assert compiled.output != iree_compile(dispatch, *flags)


def test_a_dispatch_that_is_configured_keeps_its_configuration(
    program: Path, tmp_path: Path
) -> None:
    iree_compile(program, *VMVX, f"--iree-hal-dump-executable-configurations-to={tmp_path}")
    (configured,) = tmp_path.glob("configured_*.mlir")
    compiled = tuninglink.compile(
        configured, specs=[spec("vmvx", "mine").encode()], flags=VMVX, trace=False
    )
    assert who(compiled) == [("mine", "match_mine", False)]
    (warning,) = compiled.diagnostics
    assert "kept another configuration" in warning.message
    assert "strip-configs" in warning.notes[0].message


def test_parts_of_a_file_are_traced_together() -> None:
    source = f"{PROGRAM}// -----\n{PROGRAM.replace('@add', '@plus')}"
    compiled = tuninglink.compile(
        source.encode(),
        specs=[spec("vmvx", "mine").encode()],
        flags=[*VMVX, "--split-input-file"],
    )
    assert [each.dispatch.partition("::")[0] for each in compiled.applied] == [
        "@add_dispatch_0",
        "@plus_dispatch_0",
    ]
    assert compiled.diagnostics == ()


def test_specs_come_loaded_as_paths_or_as_contents(tmp_path: Path) -> None:
    text = spec("vmvx", "mine")
    path = tmp_path / "mine.mlir"
    path.write_text(text)
    outputs = set()
    for each in (path, str(path), text.encode(), tuninglink.load_spec(path)):
        compiled = tuninglink.compile(PROGRAM.encode(), specs=[each], flags=CONFIGURING)
        assert who(compiled) == [("mine", "match_mine", True)]
        outputs.add(compiled.output)
    linked = tuninglink.link([tuninglink.load_spec(path)], target="vmvx")
    compiled = tuninglink.compile(PROGRAM.encode(), specs=[linked], flags=CONFIGURING)
    outputs.add(compiled.output)
    assert len(outputs) == 1
    with pytest.raises(SpecError):
        tuninglink.compile(PROGRAM.encode(), specs=[b"nonsense"], flags=CONFIGURING)


def old_spec() -> str:
    """Return a spec of an older compiler, the second entry of which nothing today can do."""
    today = "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>"
    good = matcher("match_old", "llvm-cpu").replace(today, "CPUDoubleTilingExpert")
    gone = matcher("match_gone", "llvm-cpu").replace(today, "LLVMGPUMatmulSimt")
    return matcher_list("old", {"match_old": good, "match_gone": gone})


@pytest.mark.parametrize("where", ["spec", "flag", "directory"])
def test_old_specs_are_upgraded_and_what_is_left_out_is_among_the_diagnostics(
    where: str, recwarn: pytest.WarningsRecorder, tmp_path: Path
) -> None:
    path = tmp_path / "x86_64.mlir"
    path.write_text(old_spec())
    said: list[Diagnostic] = []
    compiled = tuninglink.compile(
        PROGRAM.encode(),
        specs=[path] if where == "spec" else [],
        spec_directories=[tmp_path] if where == "directory" else [],
        flags=[*X86_64, f"--spec={path}"] if where == "flag" else X86_64,
        diagnostics=DiagnosticSink(said.append),
    )
    assert who(compiled) == [("old", "match_old", True)]
    assert tuple(said) == compiled.diagnostics
    (warning,) = (each for each in said if each.severity is Severity.WARNING)
    assert warning.message.startswith("'@match_gone' is excluded, as it cannot be upgraded")
    assert warning.place is not None
    assert warning.place.file == str(path)
    assert not recwarn.list


@pytest.mark.parametrize("how", ["argument", "flag"])
@pytest.mark.parametrize("where", ["spec", "directory"])
def test_old_specs_are_refused_on_request(how: str, where: str, tmp_path: Path) -> None:
    (tmp_path / "x86_64.mlir").write_text(old_spec())
    with pytest.raises(SpecError, match="the spec was written for an older compiler: the pipeline"):
        tuninglink.compile(
            PROGRAM.encode(),
            specs=[tmp_path / "x86_64.mlir"] if where == "spec" else [],
            spec_directories=[tmp_path] if where == "directory" else [],
            flags=[*X86_64, "--no-upgrade"] if how == "flag" else X86_64,
            upgrade=how != "argument",
        )


TWO_OPS = """
#map = affine_map<(i, j) -> (i, j)>
func.func @f(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {
      indexing_maps = [#map, #map, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %total = arith.addf %product, %z : f32
    linalg.yield %total : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}
"""


@pytest.mark.parametrize("trace", [True, False])
def test_two_entries_that_configure_one_dispatch_are_both_named(
    tmp_path: Path, *, trace: bool
) -> None:
    """The compiler takes one configuration for a dispatch, and reports the operation with the second."""
    packs = {f"pack{i}": matcher(f"pack{i}", "vmvx", "linalg.pack") for i in range(3)}
    fills = matcher("fills", "vmvx", "linalg.fill").replace(
        "distribution = [8]", "distribution = [16]"
    )
    paths = [tmp_path / "generics.mlir", tmp_path / "fills.mlir"]
    paths[0].write_text(
        spec("vmvx", "generics").replace("distribution = [8]", "distribution = [8, 0]")
    )
    paths[1].write_text(matcher_list("fills", {**packs, "fills": fills}))
    with pytest.raises(CompileError) as caught:
        tuninglink.compile(
            TWO_OPS.encode(), specs=paths, flags=CONFIGURING, trace=trace, name="two.mlir"
        )
    first = caught.value.diagnostics[0]
    assert "multiple ops within dispatch trying to set the translation info" in first.message
    dispatch = "@f_dispatch_0::@vmvx_bytecode_fb"
    assert [each.message for each in first.notes[-3:]] == [
        f"entry 'fills' of '{paths[1]}' configured linalg.fill at two.mlir:6:11 in {dispatch}",
        f"entry 'match_generics' of '{paths[0]}' configured linalg.generic at two.mlir:7:10 in {dispatch}",
        (
            "'tuninglink check SPEC --target vmvx --compile' checks the configuration; "
            "'--skip-failing-entries' compiles the dispatch without specs"
        ),
    ]
    for each, path in zip(first.notes[-3:-1], (paths[1], paths[0]), strict=True):
        assert each.place is not None
        line = path.read_text().splitlines()[each.place.line - 1]
        assert each.place.file == str(path)
        assert "transform.named_sequence" in line
        assert each.message.split("'")[1] in line


def test_an_error_behind_the_configuration_names_the_entry_that_gave_it() -> None:
    with pytest.raises(CompileError) as caught:
        tuninglink.compile(PROGRAM.encode(), specs=[FAILING.encode()], flags=CPU, name="add.mlir")
    notes = [each.message for each in caught.value.diagnostics[0].notes]
    assert notes[-2].startswith("entry 'match_failing' of '<memory>' configured linalg.generic at ")
