"""What `check` finds in the declarations of kernels, and the machines that kernels are applied for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kernel_specs import PROGRAM, PTX, kernel_spec
from programs import TARGETS

import tuninglink
from tuninglink.checking import Checker
from tuninglink.errors import Severity
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink
from tuninglink.programs import read_program
from tuninglink.rules import Rule
from tuninglink.specs import KernelObject, architecture_runs, load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.errors import Diagnostic

BOUND = 'tuninglink.targets = ["{}"]'
PARAMETERS = ",\n\t.param .u64 .ptr .global .align 16 add_param_2"
SCRATCH = "".join(f",\n\t.param .u64 .ptr .global .align 1 add_param_{n}" for n in (3, 4))


def findings(spec: str) -> list[Diagnostic]:
    report = Checker().check(spec.encode(), "spec.mlir")
    return [finding for finding in report.structure if finding.rule is not None]


def replaced(spec: str, target: str, program: str = PROGRAM) -> tuple[int, str]:
    """Return the number of ops that a spec replaces in a program for a target, and the warnings."""
    messages: list[str] = []
    result = tuninglink.compile(
        program.encode(),
        specs=[spec.encode()],
        target=target,
        default_specs=False,
        flags="--compile-to=flow",
        diagnostics=DiagnosticSink(lambda found: messages.append(found.message)),
    )
    return len(result.replaced), " ".join(messages)


def test_a_declaration_that_fits_has_no_findings() -> None:
    assert not findings(kernel_spec())
    assert not findings(kernel_spec(attributes=BOUND.format("h200")))


@pytest.mark.parametrize(
    ("spec", "message", "remedy"),
    [
        (kernel_spec(PTX.replace(".entry add", ".entry sum")), "is not in its object", "sum"),
        (kernel_spec(PTX.replace(".target sm_80", "")), "without '.target'", "of its object"),
        (kernel_spec(PTX.replace(PARAMETERS, "")), "parameters of 64x64 bits", "then results"),
        (
            kernel_spec(PTX.replace(PARAMETERS, PARAMETERS + SCRATCH)),
            "parameters of 64x64x64x64x64 bits",
            "Triton adds two pointers",
        ),
        (
            kernel_spec(PTX.replace(PARAMETERS, PARAMETERS.replace(".u64 .ptr", ".u32"))),
            "parameters of 64x64x32 bits",
            "then constants",
        ),
        (
            kernel_spec(PTX.replace(".reqntid 128", ".reqntid 64, 2, 1")),
            "blocks of 128x1x1 threads",
            "requires 64x2x1",
        ),
        (kernel_spec(PTX.replace(".reqntid 128", ".maxntid 64")), "of 128 threads", "allows 64"),
        (
            kernel_spec(PTX.replace("128", "2048")).replace("[128 : index", "[2048 : index"),
            "blocks of 2,048 threads",
            "at most 1024 threads",
        ),
        (
            kernel_spec().replace("workgroup_size = [128 : index, 1 : index, 1 : index], ", ""),
            "blocks of no threads",
            "declare 'workgroup_size",
        ),
        (
            kernel_spec().replace("= 4096 : index", "= 200000 : index"),
            "needs 195.3 KiB of shared memory; a block on sm_80 has 163",
            "smaller tiles",
        ),
        (
            kernel_spec(
                PTX.replace("dynamic[]", "fixed[300000]")
                .replace(".extern", "")
                .replace("ret;", "mov.u32 %r1, fixed;")
            ),
            "needs 297 KiB",
            "fewer stages",
        ),
        (
            kernel_spec(PTX.replace("sm_80", "sm_90a"), attributes=BOUND.format("sm_80")),
            "is for sm_90a, and its entry is bound to sm_80",
            "its object names them",
        ),
        (
            kernel_spec(PTX.replace("8.4", "8.6").replace("sm_80", "sm_103a")),
            "has PTX 8.6; drivers refuse that for sm_103a",
            "write '.version 8.8' or later",
        ),
        (kernel_spec(b"\x7fELF\0"), "is bound to no target", 'tuninglink.targets = ["gfx942"]'),
    ],
)
def test_declarations_are_compared_with_objects(spec: str, message: str, remedy: str) -> None:
    (finding,) = findings(spec)
    assert finding.rule is Rule.KERNEL
    assert message in finding.message
    assert remedy in finding.notes[0].message
    assert finding.place is not None
    assert finding.place.line == 4  # that of the kernel


OTHER = """
.shared .align 4 .b8 whole[300000];
.func helper()
{
	.shared .f32 few[2][4];
	ret;
}
.visible .entry other()
{
	.shared .b8 own[300000];
	{ st.shared.u32 [whole], 0; }
}
"""


def test_shared_memory_of_other_kernels_does_not_count() -> None:
    assert not findings(kernel_spec(PTX + OTHER))
    object_ = KernelObject.read((PTX + OTHER).encode())
    assert object_ is not None
    assert {entry.name: entry.shared for entry in object_.entries} == {"add": 0, "other": 600_000}
    # That of a function counts where it is called, and that of all functions where it is used.
    body = "{\n\tcall.uni helper, ();\n\tmov.u32 %r1, whole;"
    (finding,) = findings(kernel_spec((PTX + OTHER).replace("{\n\tret;", body, 1)))
    assert "needs 297 KiB" in finding.message
    object_ = KernelObject.read((PTX + OTHER).replace("{\n\tret;", body, 1).encode())
    assert object_ is not None
    assert object_.entries[0].shared == 300_032


def test_a_matcher_must_show_the_sizes_of_a_kernel() -> None:
    cast = "cast_shape_dynamic_dims"
    (finding, *_) = findings(
        kernel_spec(shown="tensor<?x16xf32>").replace(cast, f"{cast} ignore_dynamic_info")
    )
    assert finding.rule is Rule.UNPINNED


def test_sizes_must_be_multiples_that_a_kernel_declares() -> None:
    declared = "}) {tuninglink.multiples = [[1, 16], [16, 1]]} : ("
    (finding,) = findings(kernel_spec().replace("}) : (", declared))
    assert finding.rule is Rule.KERNEL_SIZES
    assert "a multiple of 16 in dimension 0 of operand 1, which has 8" in finding.message


def test_kernels_that_do_not_run_on_the_target_are_named() -> None:
    checker, spec = Checker(target=Target.parse("gfx942")), kernel_spec()
    (finding,) = checker.check(spec.encode(), "spec.mlir").diagnostics()
    assert (finding.rule, finding.severity) == (Rule.OTHER_TARGET, Severity.WARNING)
    assert finding.message.startswith("spec 'spec.mlir' replaces nothing: kernel 'add' is for cuda")
    assert finding.message.partition(": ")[2] in replaced(spec, "gfx942")[1]
    same = Checker(target=Target.parse("sm_80")).check(spec.encode(), "spec.mlir")
    assert same.diagnostics() == []


@pytest.mark.parametrize("declared", ["16 : i64", "[16]", '[["x"]]'])
def test_multiples_of_another_form_are_an_error(declared: str) -> None:
    spec = kernel_spec().replace("}) : (", f"}}) {{tuninglink.multiples = {declared}}} : (", 1)
    (finding,) = findings(spec)
    assert "has 'tuninglink.multiples' of another form" in finding.message


def test_a_tied_result_is_the_buffer_of_its_operand() -> None:
    spec = kernel_spec(PTX.replace(PARAMETERS, ""))
    last = "storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]"
    assert last in spec
    spec = spec.replace(last, "storage_buffer>]").replace("[-1 : index]", "[1 : index]")
    assert findings(spec) == []


def test_an_object_that_is_not_ptx_is_not_decided() -> None:
    (finding,) = findings(kernel_spec(b"\x7fELF\0", attributes=BOUND.format("gfx942")))
    assert finding.rule is Rule.UNDECIDED


@pytest.mark.parametrize(
    ("architecture", "machines", "others"),
    [
        ("sm_80", ("sm_80", "sm_89", "h200", "b200"), ("sm_75", "gfx942", "znver4")),
        ("sm_90a", ("h100", "h200", "hopper"), ("sm_80", "b200", "rtx5090")),
        ("sm_100f", ("b200",), ("h200", "rtx5090")),
        ("sm_90", ("h200", "b200"), ("a100",)),
        ("gfx942", ("mi300x",), ("mi355x", "h200")),
    ],
)
def test_machines_run_older_code_and_their_own(
    architecture: str, machines: tuple[str, ...], others: tuple[str, ...]
) -> None:
    for name in machines:
        assert architecture_runs(architecture, Target.parse(name))
    for name in others:
        assert not architecture_runs(architecture, Target.parse(name))


def test_a_kernel_is_applied_for_machines_that_run_it_only() -> None:
    hopper = kernel_spec(PTX.replace("sm_80", "sm_90a"))
    assert replaced(hopper, "h200") == (1, "")
    assert replaced(kernel_spec(), "h200") == (1, "")
    assert replaced(kernel_spec(), "sm_86") == (1, "")
    count, warning = replaced(hopper, "sm_80")
    assert not count
    assert "kernel 'add' is for sm_90a ('--target sm_90' is for machines that run it)" in warning
    assert "the program is for sm_80" in warning
    for target in ("gfx942", "host"):
        count, warning = replaced(kernel_spec(), target)
        assert not count
        assert "kernel 'add' is for cuda, the program is for" in warning


def test_programs_with_kernels_have_dispatches_that_are_not_tuned(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    specs = [load_spec(kernel_spec(PTX.replace("sm_80", "sm_90a")).encode())]
    for machine, count in ((Target.parse("h200"), 1), (None, 0)):
        program = read_program(str(path), TARGETS["cuda"], specs=specs, machine=machine)
        reasons = [omission.reason for omission in program.omissions]
        assert reasons == ["its code is that of a kernel"] * count
        assert len(program.tasks) == 1 - count
        assert program.original.content != program.saved.content


def test_the_target_names_the_machine_and_the_code_is_for_an_older_one() -> None:
    bound = kernel_spec(attributes=BOUND.format("h200"))
    assert replaced(bound, "h200") == (1, "")
    count, warning = replaced(bound, "a100")
    assert not count
    assert "bound to h200" in warning


def test_a_constant_that_a_matcher_shows_in_a_body_is_compared() -> None:
    # The compiler moves the constant out of the body of the program's op, and compares no value from outside.
    square, scaled = "%s = arith.mulf %x, %x : f32", "%s = arith.mulf %x, %k : f32"
    constant = "%k = arith.constant 3.0 : f32\n"
    add = "%s = arith.addf %x, %y : f32"
    spec = kernel_spec().replace(add, constant + scaled)
    program = PROGRAM.replace(add, constant + scaled)
    assert replaced(spec, "a100", program)[0] == 1
    assert replaced(spec, "a100", program.replace("3.0", "2.0"))[0] == 0
    assert replaced(spec, "a100", PROGRAM.replace(add, square))[0] == 0


CUBIN = b"\x7fELF\0"


def test_an_object_that_is_not_ptx_is_applied_for_the_targets_of_its_entry_only() -> None:
    count, warning = replaced(kernel_spec(CUBIN), "a100")
    assert not count
    assert "kernel 'add' is for unknown machines: its entry is bound to no target" in warning
    bound = kernel_spec(CUBIN, attributes=BOUND.format("sm_80"))
    assert replaced(bound, "a100")[0] == 1
    # Configurations for sm_80 are good for sm_90 as well, other code is not.
    count, warning = replaced(bound, "h200")
    assert not count
    assert "kernel 'add' is for sm_80" in warning


TWICE = """%l = arith.constant 5.0 : f32
    %k = arith.constant 3.0 : f32
    %t = arith.mulf %y, %l : f32
    %u = arith.mulf %x, %k : f32
    %s = arith.addf %t, %u : f32"""


def test_the_order_of_constants_in_a_matcher_does_not_matter() -> None:
    lines = TWICE.splitlines()
    again = TWICE.replace("%k = ", "%v = arith.constant 3.0 : f32\n %k = ").replace(
        "%x, %k", "%x, %v"
    )
    add = "%s = arith.addf %x, %y : f32"
    for shown in (TWICE, "\n".join([lines[1], lines[0], *lines[2:]]), again):
        for body in (TWICE, "\n".join([lines[0], lines[2], lines[1], *lines[3:]])):
            spec, program = kernel_spec().replace(add, shown), PROGRAM.replace(add, body)
            assert replaced(spec, "a100", program)[0] == 1
            assert replaced(spec, "a100", program.replace("3.0", "2.0"))[0] == 0


def test_an_action_may_canonicalize_a_program_whose_constants_were_put_back() -> None:
    # It moves constants out of bodies again, and erases those without uses.
    add = "%s = arith.addf %x, %y : f32"
    spec = kernel_spec().replace(add, TWICE)
    action = "    %module = transform.util.get_nearest_symbol_table %root"
    canonicalized = f"""    %f = transform.get_parent_op %root {{op_name = "util.func"}} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %f {{
      transform.apply_patterns.canonicalization
    }} : !transform.any_op
{action}"""
    program = PROGRAM.replace(add, TWICE)
    first, second = program.split("  return")
    generic = first[first.index("  %c") :].replace("%c =", "%d =").replace("5.0", "7.0")
    program = f"{first}{generic.replace('%b :', '%c :')}  return{second.replace('%c', '%d')}"
    assert replaced(spec, "a100", program)[0] == 1
    assert replaced(spec.replace(action, canonicalized), "a100", program)[0] == 1


def test_kernels_are_explained_and_dumped_in_words(tmp_path: Path) -> None:
    words = "kernel 'add' for sm_80: blocks of 128 threads, 4 KiB of shared memory"
    explained = tuninglink.explain(
        PROGRAM.encode(), specs=[kernel_spec().encode()], target="h200", default_specs=False
    )
    (sentence,) = explained.replacements
    assert words in sentence
    spec = load_spec(kernel_spec().encode())
    assert f'0x{PTX.encode().hex().upper()}"' in spec.text()
    assert "0x" not in spec.outline()
    # Files have the contents, standard output has words.
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    result = tuninglink.compile(
        path,
        specs=[kernel_spec().encode()],
        target="h200",
        default_specs=False,
        dump_specs_to=tmp_path / "specs",
    )
    assert len(result.replaced) == 1
    (file,) = (tmp_path / "specs").glob("preprocessing-*.mlir")
    assert PTX.encode().hex().upper() in file.read_text()
