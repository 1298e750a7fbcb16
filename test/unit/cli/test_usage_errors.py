"""Usage errors and inputs that cannot be read: each command line, with its output.

Commands run in forks of one process, as most of what they do is loading.

How commands end as processes, two of each, is tested in `test/cli`.
"""

from __future__ import annotations

import contextlib
import random
import re
import shlex
from typing import TYPE_CHECKING

import pytest
from elementwise_specs import PROGRAM, spec
from forked_commands import Ending, forked_commands
from places import ROOT

from tuninglink.cli.process import FAILURE, USAGE_ERROR
from tuninglink.cli.usage import SUMMARIES
from tuninglink.specs import load_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VMVX = "--iree-hal-target-backends=vmvx"
CUDA = "--iree-hal-target-device=cuda --iree-cuda-target=sm_80"
GENERIC = "--iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu"
HOST = f"{GENERIC} --iree-llvmcpu-target-cpu=host"
NO_TARGET = """^error: no target; name what to compile for
note: for the CPU of this machine: --target host
note: for a GPU of AMD: --target gfx942
note: for a GPU of NVIDIA: --target sm_80
$"""
PLACES = {
    "MMT": ROOT / "examples" / "mmt_2048x1280x5120.mlir",
    "GFX942": ROOT / "examples" / "spec_gfx942.mlir",
    "SM_80": ROOT / "examples" / "spec_sm_80.mlir",
    "DYNAMIC": ROOT / "test" / "cli" / "Inputs" / "tune_dynamic.mlir",
    "OLD": ROOT / "test" / "cli" / "upgrade.mlir",
}

USAGE_ERRORS = {
    "check GFX942 --target gfx9422": r"error: unknown target 'gfx9422'; did you mean 'gfx942'\? "
    "'tuninglink targets --all' lists the known ones\n$",
    "check GFX942 --target sm_100": "error: the compiler generates no code for 'sm_100'",
    "check GFX942 --compile": NO_TARGET,
    "check GFX942 --limit 0": "error: invalid value '0' for flag '--limit': expected a time above 0",
    "check GFX942 --stricct": r"error: unknown flag '--stricct'; did you mean '--strict'\?",
    "check GFX942 --model MMT": NO_TARGET,
    "verify MMT -o out": "error: '-o' is not a flag of this command\nnote: 'tuninglink compile' has this flag\n$",
    "tune MMT --compile-to=vm": "error: '--compile-to' is not a flag of this command",
    "link GFX942 --target mi300xx": r"error: unknown target 'mi300xx'; did you mean 'mi300x'\?",
    "link GFX942 --target gfx942 --no-default-specs": "error: --target selects a default spec and "
    "--no-default-specs none; give one of them",
    "link ''": "error: the argument SPEC is empty",
    "diff '' GFX942": "error: the argument OLD is empty",
    "diff GFX942 ''": "error: the argument NEW is empty",
    "database show ''": "error: the argument DATABASE is empty",
    "database merge tuning.db ''": "error: the argument OTHER is empty",
    "link --no-project": "error: no spec is given, and --no-project is",
    "link gfx94=GFX942": "error: .*'gfx94'",
    "lnik": r"error: no such command 'lnik'; did you mean 'link'\?\nnote: see 'tuninglink --help'",
    "upgrade GFX942 --from old": "error: invalid value 'old' for flag '--from': expected a version such as 3.4",
    "upgrade --check GFX942 --report": "error: --check writes nothing; leave --output, --report and --modernize "
    "out",
    "upgrade GFX942 SM_80": "error: one spec at a time; only --check takes several",
    "upgrade GFX942 --target gfx942 -o out": "error: --target selects the target of the checks in the --report; add --report",
    "upgrade GFX942 --target gfx0 --report -o out": "error: unknown target 'gfx0'",
    "upgrade ''": "error: the argument SPEC is empty",
    f"tune program.mlir {VMVX} --search best": "error: .*'best'",
    **{
        f"{command} program.mlir": NO_TARGET
        for command in ("explain", "init", "tune", "verify", "dump")
    },
    "retune GFX942": NO_TARGET,
    "tune --problem 'matmul 64x64x64 f16'": NO_TARGET,
    "explain program.mlir --target gfx9420": r"error: unknown target 'gfx9420'; did you mean 'gfx942'\?",
    "init program.mlir --target rdna3": "error: the compiler generates no code for 'rdna3'\nnote: name the architecture",
    "verify program.mlir --target gfx942 --iree-hal-target-device=cuda": "^error: --target gfx942 conflicts with "
    "--iree-hal-target-device=cuda; it stands for --iree-hal-target-device=hip --iree-rocm-target=gfx942\n$",
    "tune program.mlir --target host --iree-rocm-target=gfx942": "^error: --target host conflicts with "
    f"--iree-rocm-target=gfx942; it stands for {HOST}\n$",
    "check GFX942 --model MMT --target sm_80 --iree-cuda-target=sm_86": "error: --target sm_80 conflicts with ",
    "check GFX942 --iree-cuda-target=sm_80": "error: flag '--iree-cuda-target=sm_80' needs a --model",
    "database shwo tuning.db": r"error: no such command 'database shwo'; did you mean 'show'\?",
    "database show": "error: the argument DATABASE is missing\nnote: usage: tuninglink database show DATABASE",
    "database merge tuning.db": "error: the argument OTHER is missing",
    "diff a.json b.json c.json": "error: unexpected argument 'c.json'",
    "diff a.json b.json --min-change 7": "error: invalid value '7' for flag '--min-change': expected a part such as 2%",
    "dump --emit-bytecode": "error: no input; name a program",
    "lock --chekc": r"error: unknown flag '--chekc'; did you mean '--check'\?\nnote: see 'tuninglink lock --help'",
    "targets gfx942": "error: unexpected argument 'gfx942'",
    "doctor --format yaml": "error: invalid value 'yaml' for flag '--format': expected one of table, json",
    "demo --budget soon": "error: invalid value 'soon' for flag '--budget': expected a time such as 90s",
    "--show-completion bsh": r"error: no completion for shell 'bsh'; did you mean 'bash'\?",
    "upgrade": "error: the argument SPEC is missing",
    "database export missing.db --format tables": "error: ",
    f"retune --no-project {HOST}": "error: no spec is given, and --no-project is",
    "init program.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 --top 0": "error: invalid value '0' for flag '--top': expected a number above 0",
    f"tune program.mlir {HOST} --emit-script tuned.sh": "error: flag '--emit-script' needs a file for the spec, with '-o'",
    f"tune program.mlir {HOST} --emit-script tuned.sh -o tuned.mlir --dry-run": "error: flag '--emit-script' needs a spec that is decided",
    f"tune - {HOST} --emit-script tuned.sh -o tuned.mlir": "error: flag '--emit-script' needs a file for the program",
    f"tune program.mlir {HOST} --emit-script - -o tuned.mlir": "error: flag '--emit-script' needs a file, not standard output",
    "init program.mlir --all --top 2": "error: flags '--all' and '--top' exclude each other",
    "init program.mlir --spec mine.mlir": "error: flag '--spec' needs '--all'",
    **{
        f"{command} @missing.flags": "error: cannot read the response file 'missing.flags': no such file or directory"
        for command in SUMMARIES
        if command != "compile"
    },
    "check GFX942 @unbalanced.flags": "error: cannot read the response file 'unbalanced.flags': no closing quotation",
    "check GFX942 @nested.flags": "error: the response file 'nested.flags' is nested too deeply",
}

FAILURES = {
    "doctor --device run:env --device-dir '/a]b,c'": "error: device 'run:env': the directory of files on a board has other characters",
    **{
        f"tune program.mlir {HOST} -o tuned.mlir --emit-script {name}": f"error: .*'{message}"
        for name, message in {
            "tuned.mlir": "tuned.mlir' is also the script of '--emit-script tuned.mlir'",
            "program.mlir": "program.mlir' is also the script of ",
            "tuned.run": "tuned.run' is also the folder of its inputs of ",
            "nowhere/tuned.sh": "nowhere/tuned.sh': the directory '.*/nowhere' does not exist",
        }.items()
    },
    "compile program.mlir @garbage": "error: cannot read the response file 'garbage': it is not text in UTF-8\n$",
    "compile program.mlir @speck.mlir": r"error: cannot read the response file 'speck.mlir': .*; did you mean 'spec.mlir'\?",
    "compile a b c d e f": r"error: expected one input, found 6: 'a', 'b', 'c', 'd', 'e', \.\.\.\n$",
    f"check {'a' * 300}.mlir": r"error: cannot access 'a{300}\.mlir': file name too long\n$",
    f"compile program.mlir {VMVX} -o {'a' * 300}": "error: cannot access 'a{300}': file name too long\n$",
    f"database show {'a' * 300}": "error: cannot access 'a{300}': file name too long\n$",
    "link dangling.mlir": "error: cannot read the spec 'dangling.mlir': no such file or directory\n$",
    "link --project garbage": "error: cannot read 'garbage': it is not text in UTF-8\n$",
    "database show garbag": r"error: there is no database 'garbag'; did you mean 'garbage'\?",
    "database show .": r"error: there is no database '\.'\n$",
    "database show folder": "error: there is no database 'folder'\n$",
    "lock --project strange/pyproject.toml": "error: strange/pyproject.toml: 'tool.tuninglink' must be a table\n$",
    "lock --project stranger/pyproject.toml": r"error: there is no \[tool.tuninglink\] in 'stranger/pyproject.toml'\n$",
    "diff deep.json deep.json": "error: cannot read 'deep.json': it is nested too deeply\n$",
    "link wide.mlir": r"^wide.mlir:1:1: error: .*\nx{400}\.\.\.\n\^\n",
    "check sepc.mlir": r"error: cannot read the spec 'sepc.mlir': no such file or directory; did you mean 'spec.mlir'\?",
    "dump ./programm.mlirbc": r"error: cannot read './programm.mlirbc': .*; did you mean 'program.mlir'\?",
    "link boo-gfx942": "error: cannot read the spec 'boo-gfx942': .*\nnote: the library of this name is 'library:boo-gfx942'\n$",
    "link libary:boo-gfx94": "error: cannot read .*\nnote: the library of this name is 'library:boo-gfx942'\n$",
    "lock --project no-specs.toml": "error: there is nothing to lock: 'no-specs.toml' lists no specs\nnote: list the specs",
    "lock --check --project no-specs.toml": "error: there is nothing to lock: 'no-specs.toml' lists no specs",
    f"compile programm.mlir {VMVX} -o out.vmfb": r"error: cannot read 'programm.mlir': .*; did you mean 'program.mlir'\?",
    "check MMT": "mmt_2048x1280x5120.mlir:[0-9]+:1: error: expected a module that is or carries a tuning spec, "
    "found a program",
    "check GFX942 --target gfx942 --model missing.mlir": "error: .*missing.mlir",
    "check OLD --no-upgrade": "upgrade.mlir:[0-9:]+: error: the spec was written for an older compiler",
    "link empty.mlir": "^empty.mlir:1:1: error: the file is empty; expected MLIR text or bytecode",
    "link garbage": "^garbage:1:1: error:",
    "link truncated.mlirbc": "^truncated.mlirbc:1:1: error:",
    "link MMT": "mmt_2048x1280x5120.mlir:[0-9]+:[0-9]+: error:",
    "link GFX942 -o nowhere/out.mlir": "error: cannot write 'nowhere/out.mlir': the directory '.*/nowhere' does not exist",
    "check ''": "error: a spec has an empty name; expected a file, a library or a URL",
    "link http://": "error: cannot fetch 'http://': the URL has no host",
    "link 'http://[::1/x'": r"error: cannot fetch 'http://\[::1/x': the URL is malformed: Invalid IPv6 URL",
    "link http://host:port/x": "error: cannot fetch 'http://host:port/x': the URL is malformed: Port could not be cast",
    "upgrade empty.mlir": "^empty.mlir:1:1: error: the file is empty; expected MLIR text",
    "upgrade garbage": "^garbage:1:1: error:",
    "upgrade truncated.mlir": r"^truncated.mlir:\d+:\d+: error: .* the spec may be cut off\n.*\n *\^",
    "upgrade truncated.mlirbc": "error: bytecode cannot be upgraded; have the compiler that wrote it print it as "
    "text",
    "compile": "error: no input; name a program, or - for standard input",
    "compile program.mlir --iree-hal-target-backends=vmx": "error: target backend 'vmx' is not registered; known: "
    "cuda, llvm-cpu, metal-spirv, rocm, vmvx, vmvx-inline, vulkan-spirv",
    "compile program.mlir --iree-hal-target-device=hop": 'error: unregistered device alias "hop"; ensure it is '
    "linked into the compiler",
    "compile program.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx1": "error: Unknown ROCM target "
    "'gfx1'",
    "compile program.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_1": "error: the compiler rejects "
    "--iree-cuda-target=sm_1",
    f"compile . {VMVX}": r"error: cannot read '\.': is a directory",
    f"compile '' {VMVX}": "error: an input has an empty name; expected a file",
    f"compile empty.mlir {VMVX}": "error: 'empty.mlir' is empty; expected a program in MLIR",
    f"compile garbage {VMVX}": "error: 'garbage' is neither MLIR text nor MLIR bytecode",
    f"compile syntax.mlir {VMVX}": r"^syntax.mlir:1:18: error: custom op 'nonsense' is unknown .*\n"
    r"func.func @f\(\) { nonsense }\n {17}\^",
    f"compile spec.mlir {VMVX}": "^spec.mlir:2:1: error: this is a tuning spec, not a program; pass it with "
    "--spec, and a program as input",
    f"compile program.mlir --compile-from=hal --compile-to=flow {VMVX}": "error: compile-from phase hal must "
    "precede compile-to phase flow",
    f"compile program.mlir --spec nowhere.mlir {VMVX}": "error: cannot read the spec 'nowhere.mlir': no such file "
    "or directory\n$",
    f"compile program.mlir --spec program.mlir {VMVX}": "error: expected a module that is or carries a tuning "
    "spec",
    f"compile program.mlir --spec-dir nowhere {VMVX}": "error: the directory of default specs 'nowhere' does not "
    "exist",
    f"compile program.mlir --spec spec.mlir --dump-specs-to=spec.mlir {VMVX}": "error: cannot make the directory 'spec.mlir': it is a file",
    f"compile program.mlir {VMVX} -o nowhere/out.vmfb": "error: cannot write 'nowhere/out.vmfb': the directory "
    "'.*/nowhere' does not exist",
    f"compile program.mlir {VMVX} -o .": r"error: cannot write '\.': it is a directory",
    f"tune program.mlir {VMVX} -o nowhere/tuned.mlir": "error: cannot write 'nowhere/tuned.mlir': the directory "
    "'.*/nowhere' does not exist",
    "tune program.mlir --target host -o .": r"error: cannot write '\.': it is a directory",
    f"tune program.mlir {VMVX} --report empty.mlir": "error: cannot make 'empty.mlir'",
    f"tune program.mlir {VMVX} --database .": r"error: cannot write '\.': it is a directory",
    "compile program.mlir --target llvm-cpu --iree-hal-target-backends=vmvx": "error: --target llvm-cpu conflicts ",
    f"tune program.mlir {GENERIC} --device local-sync --only nothing --flag-sets none --jobs 1": "warning: the target is a generic x86_64 CPU; for this machine's, "
    "there is --target host",
    f"tune program.mlir {CUDA} --device local-sync --flag-sets none --jobs 1": "error: there is no dispatch to tune\n"
    "note: @add_dispatch_0::@cuda_nvptx_fb: driver 'local-sync' does not run what 'cuda' compiles",
    f"tune GFX942 {VMVX}": "error: this is a tuning spec, not a program",
    f"tune program.mlir {HOST} --device local-sync --only attention --flag-sets none --jobs 1": "error: no dispatch matches --only",
    f"tune DYNAMIC {HOST} --device local-sync --flag-sets none --jobs 1": "error: no dispatch can run alone\n"
    "note: .*: sizes are known only when the program runs\nnote: give sizes for dimension 0.0 of the arguments, as in --dim 0.0=64\n$",
    f"tune DYNAMIC --dim 1.0=8 {VMVX}": "error: '--dim 1.0=8' is about no dynamic dimension of the program's "
    "arguments\nnote: dynamic dimensions: 0.0",
    "dump GFX942 --target gfx942 -o empty.mlir": "error: cannot make the directory 'empty.mlir': it is a file",
    f"explain program.mlir {VMVX} -o .": r"error: cannot write '\.': it is a directory",
    f"compile program.mlir {VMVX} --explain=nowhere/report.html": "error: cannot write 'nowhere/report.html'",
    "check GFX942 -o .": r"error: cannot write '\.': it is a directory",
    "upgrade GFX942 -o .": r"error: cannot write '\.': it is a directory",
    f"init program.mlir {VMVX} -o .": r"error: cannot write '\.': it is a directory",
    "demo -o empty.mlir/programs": "error: cannot make the directory 'empty.mlir/programs': '.*empty.mlir' is a file",
    "init program.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 --dispatch other": "error: no "
    "dispatch in 'program.mlir' is called 'other'",
    "compile program.mlir": NO_TARGET,
    "compile @missing.flags": "error: cannot read the response file 'missing.flags': no such file or directory",
}
"""What is wrong with inputs and outputs, and everything about `compile`, which has the exit codes of iree-compile."""


@pytest.fixture(scope="module")
def run(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Sequence[str]], Ending]]:
    """Return a function that runs commands in a folder with inputs of all kinds."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "empty.mlir").touch()
    (folder / "deep.json").write_text("[" * 100_000)
    for name, project in (("strange", "[tool]\ntuninglink = 3"), ("stranger", "tool = 3")):
        (folder / name).mkdir()
        (folder / name / "pyproject.toml").write_text(project)
    (folder / "folder").mkdir()
    (folder / "dangling.mlir").symlink_to("nowhere")
    (folder / "wide.mlir").write_text("x" * 10_000)
    (folder / "nested.flags").write_text("@nested.flags")
    (folder / "unbalanced.flags").write_text("--spec 'mine.mlir")
    (folder / "garbage").write_bytes(random.Random(0).randbytes(1000))
    (folder / "no-specs.toml").write_text("default-specs = false\n")
    (folder / "program.mlir").write_text(PROGRAM)
    (folder / "spec.mlir").write_text(spec("vmvx", "mine"))
    (folder / "syntax.mlir").write_text("func.func @f() { nonsense }\n")
    (folder / "truncated.mlir").write_bytes(PLACES["GFX942"].read_bytes()[:700])
    bytecode = load_spec(PLACES["GFX942"]).bytecode()
    (folder / "truncated.mlirbc").write_bytes(bytecode[:700])
    before = sorted(folder.iterdir())
    with contextlib.chdir(folder), forked_commands() as run:
        yield run
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("line", [*USAGE_ERRORS, *FAILURES])
def test_a_usage_error_has_a_message(line: str, run: Callable[[Sequence[str]], Ending]) -> None:
    ending = run([str(PLACES.get(word, word)) for word in shlex.split(line)])
    code, message = (
        (USAGE_ERROR, USAGE_ERRORS[line]) if line in USAGE_ERRORS else (FAILURE, FAILURES[line])
    )
    assert ending.code == code
    assert re.search(message, ending.errors), ending.errors
    assert "Traceback" not in ending.errors
