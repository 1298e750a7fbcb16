"""Specs are loaded once, on first access, on any thread."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

import pytest
from matched_operations import spec_of

from tuninglink.errors import Diagnostic, SpecError
from tuninglink.mlir import DiagnosticSink, thread_context
from tuninglink.specs import SpecFiles, load_spec, read_specs, sources

if TYPE_CHECKING:
    from pathlib import Path

NAMED = '  transform.match.operation_name %op ["linalg.fill"] : !transform.any_op\n'


def test_files_are_loaded_when_they_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "one.mlir", tmp_path / "two.mlir"]
    for path in paths:
        path.write_text(spec_of([NAMED]))
    calls: list[str | None] = []
    load = sources.load_spec

    def counted(*arguments: object, name: str | None = None, **options: object) -> object:
        calls.append(name)
        return load(*arguments, name=name, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "load_spec", counted)
    specs = SpecFiles(
        read_specs(map(str, paths), DiagnosticSink(print)), upgrade=True, diagnostics=None
    )
    assert len(specs) == 2
    assert not calls
    thread = Thread(target=lambda: specs[0])
    thread.start()
    thread.join()
    assert calls == [str(each) for each in paths]
    assert [each.source for each in specs[0:2]] == calls
    assert specs[1].module.context == thread_context()
    assert len(calls) == 2


def test_a_spec_that_does_nothing_is_empty_and_others_are_opaque() -> None:
    empty = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.readonly})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %arg0 : !transform.any_op
  }
}"""
    assert load_spec(empty.encode()).kind_words == "empty spec"
    printing = empty.replace(
        "transform.yield", "transform.print %arg0 : !transform.any_op\n    transform.yield"
    )
    assert load_spec(printing.encode()).kind_words == "opaque spec"


def test_an_entry_point_may_include_a_nested_sequence_without_results() -> None:
    nested = """module attributes {transform.with_named_sequence} {
  module @inner attributes {transform.with_named_sequence} {
    transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
      transform.yield
    }
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.include @inner::@mark failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield %root : !transform.any_op
  }
}"""
    assert load_spec(nested.encode()).anatomy.driver is None


def test_what_fails_is_told_at_once_or_when_it_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot read the spec"):
        read_specs([str(tmp_path / "missing.mlir")], DiagnosticSink(print))
    path = tmp_path / "bad.mlir"
    path.write_text("module {")
    said: list[Diagnostic] = []
    sink = DiagnosticSink(said.append)
    specs = SpecFiles(read_specs([str(path)], sink), upgrade=True, diagnostics=sink)
    errors = []
    for _ in range(2):
        with pytest.raises(SpecError) as raised:
            specs[0]
        errors.append(str(raised.value))
    assert errors[0] == errors[1]
    assert not said


@pytest.mark.parametrize("before", ["", "// a form feed: \f, a separator: \u2028\n"])
@pytest.mark.parametrize("note", ["plain", "naïve — «ü»"])
def test_remedies_are_those_of_the_place(before: str, note: str) -> None:
    """The compiler counts lines by line feeds, and columns in bytes."""
    constant = f'  %c = transform.param.constant {{a = "{note}", b = #iree_gpu.pipeline<TileAndFuze>}} -> !transform.any_param\n'
    with pytest.raises(SpecError) as raised:
        load_spec((before + spec_of([constant + NAMED])).encode(), name="spec.mlir")
    remedies = [remedy.message for remedy in raised.value.diagnostics[0].notes]
    assert remedies[0] == "unknown name 'TileAndFuze'; did you mean 'TileAndFuse'?"
    assert remedies[1].startswith("in the sequence '@")
