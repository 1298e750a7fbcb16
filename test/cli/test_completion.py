"""Completion by the shells themselves."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

TUNINGLINK = str(Path(sys.executable).with_name("tuninglink"))

BASH = """
eval "$({command} --show-completion bash)"
COMP_WORDBREAKS={breaks}
for COMP_LINE in {lines}; do
  COMP_POINT=${{#COMP_LINE}}
  _tuninglink_completion {command}
  echo ${{COMPREPLY[*]}}
done
"""


def bash_completions(lines: Iterable[str], breaks: str) -> list[str]:
    typed = shlex.join(f"tuninglink {line}" for line in lines)
    script = BASH.format(command=TUNINGLINK, lines=typed, breaks=shlex.quote(breaks))
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


COMPLETED_PARTS = {
    "database ex": "export",
    "help tu": "tune",
    "help database ins": "insights",
    "explain x.mlir --target mi300": "mi300a mi300x",
    "tune --help-": "--help-all",
    "tune x.mlir --numerics r": "rounding",
    "tune x.mlir --numerics=r": "rounding",
    "check --str": "--strict",
    "compile x.mlir --spec gfx942=library:au": "auto",
    "compile x.mlir --spec=library:au": "auto",
    "compile --iree-rocm-targ": "--iree-rocm-target --iree-rocm-target-features",
    "tune x.mlir --iree-hal-target-device=v": "vulkan",
    "explain x.mlir --iree-llvmcpu-target-float-abi=h": "hard",
}
"""Command lines, and what bash replaces the part behind their last break with."""


def test_bash_completes() -> None:
    completions = bash_completions(COMPLETED_PARTS, " \t\n\"'><=;|&(:")
    assert dict(zip(COMPLETED_PARTS, completions, strict=True)) == COMPLETED_PARTS


def test_bash_completes_values_where_equal_signs_do_not_part_words() -> None:
    lines = ("tune --numerics=r", "compile --spec gfx942=library:au")
    assert bash_completions(lines, " \n") == ["--numerics=rounding", "gfx942=library:auto"]


COMPLETED = [
    ("database ex", "export"),
    ("tune x.mlir --numerics r", "rounding"),
    ("tune x.mlir --numerics=r", "--numerics=rounding"),
    ("compile x.mlir --spec gfx942=library:au", "gfx942=library:auto"),
    ("compile x.mlir --spec=gfx942=library:au", "--spec=gfx942=library:auto"),
    ("compile x.mlir --spec spe", "spec.mlir"),
    ("compile x.mlir --spec=spe", "--spec=spec.mlir"),
    ("tune 'x.mlir' --iree-hal-target-device=v", "--iree-hal-target-device=vulkan"),
]
"""Command lines, and what their last words become."""

FISH = """
{command} --show-completion fish | source
for line in {lines}
  complete -C $line | head -n 1
end
"""

ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'show() {{ print -rn -- $'\''\x01'\''$BUFFER$'\''\x02'\'' }}; zle -N show; bindkey "^X" show'
zpty -w shell 'autoload -U compinit; compinit -u -D; eval "$({command} --show-completion zsh)"; PS1=$'\''\x03'\'
zpty -r shell output $'*\x03*'
zpty -wn shell {line}$'\t\x18'
zpty -r shell output $'*\x01*\x02*'
print -r -- ${{${{output#*$'\x01'}}%$'\x02'*}}
"""
"""Types a line and a tab in a shell of its own, and prints what the line becomes."""


def completed_by(shell: str, script: str, folder: Path) -> str:
    """Run a script in a folder with a file `spec.mlir`; return what it prints."""
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    (folder / "spec.mlir").touch()
    variables = {
        **os.environ,
        "PATH": f"{Path(TUNINGLINK).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
    }
    command = [shell, "-c", script]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=variables,
        timeout=PATIENCE,
    )
    return done.stdout.strip()


def test_fish_completes(tmp_path: Path) -> None:
    typed = (shlex.quote(f"tuninglink {line}").replace("'\"'\"'", r"\'") for line, _ in COMPLETED)
    script = FISH.format(command=TUNINGLINK, lines=" ".join(typed))
    shown = completed_by("fish", script, tmp_path).splitlines()
    answers = [answer.split("\t")[0] for answer in shown]
    assert answers == [answer for _, answer in COMPLETED]


@pytest.mark.parametrize(("line", "answer"), COMPLETED)
def test_zsh_completes(line: str, answer: str, tmp_path: Path) -> None:
    script = ZSH.format(command=TUNINGLINK, line=shlex.quote(f"tuninglink {line}"))
    becomes = completed_by("zsh", script, tmp_path)
    assert becomes == f"tuninglink {line.rpartition(' ')[0]} {answer}"
