"""Dumping: one file for each distinct content, an index, and nothing half done."""

import gc
import hashlib
import json
from pathlib import Path

import pytest
from elementwise_specs import marking
from iree.compiler import ir as mlir

from tuninglink.errors import SpecError, TuninglinkError
from tuninglink.mlir import collect, names
from tuninglink.specs import (
    INDEX,
    Dump,
    DumpedSpec,
    Use,
    collect_specs,
    embedding,
    load_embedded_spec,
    load_spec,
    spec_attribute,
)

CPU = '<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver4", target_triple = "x86_64-linux-gnu"}>'
CUDA = '<"cuda", "cuda-nvptx-fb">'


def program(*contents: bytes | None, target: str = CPU) -> mlir.Operation:
    """Return a program with a dispatch for each content, which carries it."""
    executables = (
        f"hal.executable private @e{i} {{ hal.executable.variant public @v target({target}) {{"
        " builtin.module {} } }"
        for i in range(len(contents))
    )
    root = mlir.Module.parse("\n".join(executables), mlir.Context()).operation
    for module, content in zip(collect(root, names.MODULE)[1:], contents, strict=True):
        if content is not None:
            module.attributes[names.EMBEDDED_SPEC] = spec_attribute(content, root.context)
    return root


def bytecode(name: str) -> bytes:
    return load_spec(marking(name)).bytecode()


def test_shared_content_is_one_file(tmp_path: Path) -> None:
    a, b = bytecode("a"), bytecode("b")
    dump = collect_specs(program(a, b, None, a))
    assert [each.name for each in dump.specs] == ["a", "b"]
    assert [(use.dispatch, use.target) for use in dump.uses] == [
        ("@e0::@v", "znver4"),
        ("@e1::@v", "znver4"),
        ("@e3::@v", "znver4"),
    ]
    assert dump.uses[0].file == dump.uses[2].file == dump.specs[0].file
    dump.write(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {
        INDEX,
        dump.specs[0].file,
        dump.specs[1].file,
    }
    assert load_spec(tmp_path / dump.specs[1].file).text() == load_spec(b).text()


def test_files_are_named_after_target_and_content(tmp_path: Path) -> None:
    (dumped,) = collect_specs(program(bytecode("a"))).specs
    collect_specs(program(bytecode("a"))).write(tmp_path)
    content = (tmp_path / dumped.file).read_bytes()
    assert dumped.sha256 == hashlib.sha256(content).hexdigest()
    assert dumped.file == f"znver4-{dumped.sha256[:8]}.mlir"


def test_the_index_says_which_dispatch_uses_which(tmp_path: Path) -> None:
    dump = collect_specs(program(bytecode("a"), bytecode("b")), "mlirbc")
    dump.write(tmp_path)
    index = json.loads((tmp_path / INDEX).read_text())
    assert index == {
        "version": 1,
        "specs": [
            {"file": each.file, "name": each.name, "sha256": each.sha256, "entries": 1}
            for each in dump.specs
        ],
        "dispatches": [
            {"dispatch": f"@e{i}::@v", "target": "znver4", "spec": dump.specs[i].file}
            for i in range(2)
        ],
    }
    assert index["specs"][0]["file"].endswith(".mlirbc")


def test_bytecodes_that_differ_in_locations_only_are_one_text() -> None:
    other_lines = load_spec(b"\n\n" + marking("a")).bytecode()
    root = program(bytecode("a"), other_lines)
    assert other_lines != bytecode("a")
    assert len(collect_specs(root, "mlir").specs) == 1
    assert len(collect_specs(root, "mlirbc").specs) == 2


def test_the_same_specs_are_dumped_to_the_same_files(tmp_path: Path) -> None:
    for _ in range(2):
        collect_specs(program(bytecode("a"), bytecode("b"))).write(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_ten_thousand_dispatches_share_a_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = []

    def counting(attribute: mlir.Attribute, *rest: object) -> object:
        decoded.append(attribute)
        return load_embedded_spec(attribute, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(embedding, "load_embedded_spec", counting)
    root = program(*[bytecode("a")] * 10_000)
    dump = collect_specs(root)
    dump.write(tmp_path)
    assert len(decoded) == 1
    assert len(list(tmp_path.iterdir())) == 2
    assert len(dump.uses) == 10_000


def test_carriers_other_than_the_module_of_a_dispatch() -> None:
    root = program(None, target=CUDA)
    attribute = spec_attribute(bytecode("a"), root.context)
    variant = collect(root, names.EXECUTABLE_VARIANT)[0]
    for carrier in (root, collect(root, names.EXECUTABLE)[0], variant):
        carrier.attributes[names.EMBEDDED_SPEC] = attribute
    dump = collect_specs(root)
    assert [(use.dispatch, use.target) for use in dump.uses] == [
        ("the module", None),
        ("@e0", None),
        ("@e0::@v", "cuda"),
    ]
    assert dump.specs[0].file.startswith("any-")


def test_a_target_with_odd_characters_makes_a_plain_file_name() -> None:
    root = program(bytecode("a"), target='<"../some where", "else">')
    (dumped,) = collect_specs(root).specs
    assert dumped.file.startswith(".._some_where-")


def test_files_that_would_have_the_same_name_get_longer_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedding, "_HASH_DIGITS", 0)
    first, second = collect_specs(program(bytecode("a"), bytecode("b"))).specs
    assert first.file == "znver4-.mlir"
    assert second.file == f"znver4-{second.sha256}.mlir"


def test_a_damaged_spec_is_told_with_its_dispatch() -> None:
    good = bytecode("a")
    with pytest.raises(SpecError) as caught:
        collect_specs(program(good, good[: len(good) // 2]))
    message = "the tuning spec that is embedded in @e1::@v cannot be read: "
    assert caught.value.diagnostics[0].message.startswith(message)


def test_text_on_a_stream_can_be_split_again() -> None:
    dump = collect_specs(program(bytecode("a"), bytecode("b"), bytecode("a")))
    first, second = dump.as_stream().decode().split("// -----\n")
    assert first.startswith(f"// {dump.specs[0].file}: @e0::@v and 1 more\n")
    assert second.startswith(f"// {dump.specs[1].file}: @e1::@v\n")
    assert load_spec(second.encode()).name == "b"


def test_bytecode_on_a_stream_is_of_one_spec() -> None:
    dump = collect_specs(program(bytecode("a"), bytecode("a")), "mlirbc")
    assert load_spec(dump.as_stream()).name == "a"
    with pytest.raises(TuninglinkError, match="cannot write 2 specs as bytecode to one stream"):
        collect_specs(program(bytecode("a"), bytecode("b")), "mlirbc").as_stream()


def test_a_program_that_carries_nothing(tmp_path: Path) -> None:
    dump = collect_specs(program(None))
    assert (dump.specs, dump.uses, dump.as_stream()) == ((), (), b"")
    dump.write(tmp_path)
    assert json.loads((tmp_path / INDEX).read_text()) == {
        "version": 1,
        "specs": [],
        "dispatches": [],
    }


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TuninglinkError) as caught:
        collect_specs(program(None)).write(tmp_path / "file" / "specs")
    assert "not a directory" in str(caught.value)


def test_the_index_comes_last(tmp_path: Path) -> None:
    specs = tuple(
        DumpedSpec(file, "name", "0" * 64, 1, b"content") for file in ("a.mlir", "no/such/b.mlir")
    )
    with pytest.raises(TuninglinkError):
        Dump("mlir", specs, (Use("@e::@v", None, "a.mlir"),)).write(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.mlir"]


def test_nothing_of_a_program_outlives_its_context() -> None:
    """The compiler ends a context with its session, and does not wait for Python to look for garbage."""
    contents = bytecode("one"), bytecode("two")
    gc.collect()
    gc.disable()
    try:
        before = mlir.Context._get_live_count()
        root = program(*contents)
        assert len(collect_specs(root).specs) == 2
        del root
        assert mlir.Context._get_live_count() == before
    finally:
        gc.enable()
