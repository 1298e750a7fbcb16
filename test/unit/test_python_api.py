"""The face of the package: what its functions take, and what they say about wrong arguments."""

from __future__ import annotations

import inspect
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from elementwise_specs import PROGRAM, spec
from places import ROOT

import tuninglink
from tuninglink.errors import TuninglinkError

if TYPE_CHECKING:
    from collections.abc import Callable

VMVX = "--iree-hal-target-backends=vmvx"
GFX942 = ROOT / "examples" / "spec_gfx942.mlir"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.mlir"
    path.write_text(spec("vmvx", "mine"))
    return path


def test_a_spec_is_given_in_any_form() -> None:
    loaded = tuninglink.load_spec(GFX942)
    texts = {
        tuninglink.link(given, target="gfx942").text()
        for given in (
            [loaded],
            loaded,
            [str(GFX942)],
            str(GFX942),
            [GFX942],
            GFX942,
            GFX942.read_bytes(),
            (item for item in [bytearray(GFX942.read_bytes())]),
            [memoryview(loaded.bytecode())],
        )
    }
    assert len(texts) == 1
    assert "match_linear_2048x1280x5120" in texts.pop()


def test_sources_of_specs_are_those_of_the_command_line() -> None:
    linked = tuninglink.link("library:boo-gfx942")
    assert len(linked.entries) > 100
    bound = tuninglink.link(f"gfx942={GFX942}")
    assert "tuninglink.targets" in bound.text()


def test_a_program_and_flags_are_given_in_any_form(program: Path, mine: Path) -> None:
    outputs = {
        tuninglink.compile(source, specs=specs, flags=flags).output
        for source, specs, flags in (
            (program, mine, VMVX),
            (str(program), [str(mine)], [VMVX]),
            (str(program), mine, f"  {VMVX} --iree-opt-level='O0'"),
        )
    }
    assert len(outputs) == 1
    content = tuninglink.compile(bytearray(PROGRAM.encode()), specs=mine, flags=(VMVX,))
    assert content.applied
    explanation = tuninglink.explain(program, specs=mine, flags=VMVX)
    assert explanation.program == str(program)
    assert tuninglink.init_spec(program, flags=VMVX, dispatches="add").entries


def test_an_old_spec_is_given_in_any_form() -> None:
    path = ROOT / "test" / "cli" / "upgrade.mlir"
    texts = {
        tuninglink.upgrade(source).text
        for source in (path, str(path), path.read_text(), path.read_bytes())
    }
    assert len(texts) == 1


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "spec": (
        lambda: tuninglink.link([3]),
        TypeError,
        "a spec is a path, or content as bytes; found 3",
    ),
    "specs": (
        lambda: tuninglink.link(None),
        TypeError,
        "'specs' takes one item or several, found None",
    ),
    "content": (
        lambda: tuninglink.link([spec("vmvx", "mine")]),
        TuninglinkError,
        r"a text is the path of a spec; give its content as bytes, as in text.encode\(\)",
    ),
    "loaded content": (
        lambda: tuninglink.load_spec("module {\n}"),
        TuninglinkError,
        "a text is the path of a spec",
    ),
    "target": (
        lambda: tuninglink.link(GFX942, target=9),
        TypeError,
        "a target is a Target or its name",
    ),
    "program": (
        lambda: tuninglink.compile(3, flags=VMVX),
        TypeError,
        "a program is a path, or content as bytes; found 3 of type 'int'",
    ),
    "program content": (
        lambda: tuninglink.explain(PROGRAM, flags=VMVX),
        TuninglinkError,
        "a text is the path of the program; give its content as bytes",
    ),
    "flag": (
        lambda: tuninglink.compile(b"", flags=[Path("x")]),
        TypeError,
        "a flag is text, such as '--name=value'; found .*of type 'PosixPath'",
    ),
    "flags": (
        lambda: tuninglink.compile(b"", flags=None),
        TypeError,
        "'flags' takes one item or several",
    ),
    "quote": (
        lambda: tuninglink.compile(b"", flags="--a 'b"),
        TuninglinkError,
        "cannot split the flags",
    ),
    "old spec": (
        lambda: tuninglink.upgrade(3),
        TypeError,
        "a spec is text, a path, or bytes; found 3",
    ),
    "missing old spec": (
        lambda: tuninglink.upgrade("nowhere.mlir"),
        TuninglinkError,
        "cannot read the spec 'nowhere.mlir'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_argument_is_an_error_in_words(mistake: str) -> None:
    call, kind, words = MISTAKES[mistake]
    with pytest.raises(kind, match=words):
        call()


def test_tracebacks_show_remedies(program: Path) -> None:
    with pytest.raises(TuninglinkError) as caught:
        tuninglink.compile(program)
    remedy = "note: name a target, such as 'host' for the CPU of this machine"
    assert remedy in traceback.format_exception(caught.value)[-1]


def test_torch_names_its_extra_where_it_is_missing() -> None:
    command = "import sys; sys.modules['torch'] = None; import tuninglink.torch"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stderr.endswith(
        "ModuleNotFoundError: tuninglink.torch needs the package 'torch'; install the extra: "
        "pip install 'tuninglink[torch]'\n"
    )


def test_all_public_names_are_found_typed_and_documented() -> None:
    assert set(tuninglink.__all__) <= set(dir(tuninglink))
    for name in tuninglink.__all__:
        value = getattr(tuninglink, name)
        assert inspect.getdoc(value), name
        if inspect.isfunction(value):
            signature = inspect.signature(value)
            assert signature.return_annotation is not inspect.Signature.empty, name
    with pytest.raises(AttributeError, match="module 'tuninglink' has no attribute 'tun'"):
        _ = tuninglink.tun
