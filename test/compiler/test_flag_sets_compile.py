"""The flag sets do in the compiler what they are listed for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cpu_dispatches import flags_for
from programs import TARGETS, run
from tuning_programs import matmul

from tuninglink.errors import TuninglinkError
from tuninglink.tuning.deciding import TuneOptions, TuningSettings
from tuninglink.tuning.flag_sets import (
    CHANNELS_LAST,
    DEFAULT,
    NOT_COMPILED,
    CompiledSource,
    FlagSet,
    SetCompiler,
    flag_sets,
)
from tuninglink.workers import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ATTENTION = """
func.func @main(%q: tensor<2x40x16xf32>, %k: tensor<2x48x16xf32>, %v: tensor<2x48x16xf32>) -> tensor<2x40x16xf32> {
  %scale = arith.constant 0.25 : f32
  %empty = tensor.empty() : tensor<2x40x16xf32>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
      ins(%q, %k, %v, %scale : tensor<2x40x16xf32>, tensor<2x48x16xf32>, tensor<2x48x16xf32>, f32)
      outs(%empty : tensor<2x40x16xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x40x16xf32>
  return %result : tensor<2x40x16xf32>
}
"""


CONVOLUTION = """
func.func @main(%image: tensor<1x8x18x18xf32>, %filter: tensor<16x8x3x3xf32>, %sum: tensor<1x16x16x16xf32>)
    -> tensor<1x16x16x16xf32> {
  %result = linalg.conv_2d_nchw_fchw ins(%image, %filter : tensor<1x8x18x18xf32>, tensor<16x8x3x3xf32>)
      outs(%sum : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  return %result : tensor<1x16x16x16xf32>
}
"""


CONVOLUTIONS = """
func.func @main(%image: tensor<2x64x14x14xf16>, %narrow: tensor<128x64x1x1xf16>, %wide: tensor<64x128x3x3xf16>,
                %sum: tensor<2x128x14x14xf32>, %result: tensor<2x64x12x12xf32>) -> tensor<2x64x12x12xf32> {
  %first = linalg.conv_2d_nchw_fchw ins(%image, %narrow : tensor<2x64x14x14xf16>, tensor<128x64x1x1xf16>)
      outs(%sum : tensor<2x128x14x14xf32>) -> tensor<2x128x14x14xf32>
  %half = arith.truncf %first : tensor<2x128x14x14xf32> to tensor<2x128x14x14xf16>
  %second = linalg.conv_2d_nchw_fchw ins(%half, %wide : tensor<2x128x14x14xf16>, tensor<64x128x3x3xf16>)
      outs(%result : tensor<2x64x12x12xf32>) -> tensor<2x64x12x12xf32>
  return %second : tensor<2x64x12x12xf32>
}
"""


def _stock_flags(flag_set: FlagSet, directory: Path) -> list[str]:
    """Return the flags of a set for `iree-compile`, with a file of its forms."""
    path = directory / "forms.mlir"
    path.write_text(flag_set.forms)
    return [*flag_set.flags, f"--iree-preprocessing-transform-spec-filename={path}"]


def _lowered(flag_set: FlagSet, source: str, phase: str = "executable-sources", *more: str) -> str:
    flags = (*flags_for("znver4"), *flag_set.flags, *more, f"--compile-to={phase}")
    return run("iree-compile", *flags, source=source)


def test_attention_becomes_products() -> None:
    sets = {each.name: each for each in flag_sets("llvm-cpu", "", [])}
    assert "iree_linalg_ext.attention" in _lowered(
        sets["data tiling, im2col, unrolling"], ATTENTION
    )
    for name in ("attention as products", "attention as products, data tiling, im2col, unrolling"):
        dispatches = _lowered(sets[name], ATTENTION)
        assert "attention" not in dispatches
        assert "math.exp2" in dispatches
    assert "iree_encoding.set_encoding" in dispatches


def test_channels_come_last() -> None:
    sets = {flag_set.name: flag_set for flag_set in flag_sets("llvm-cpu", "", [])}
    for name in ("channels last, unrolling", "channels last, data tiling, unrolling"):
        preprocessed = _lowered(sets[name], CONVOLUTION, "preprocessing")
        assert "nchw" not in preprocessed
        assert "linalg.conv_2d_nhwc_hwcf" in preprocessed


def test_channels_last_avoid_defaults_that_are_known_to_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(CONVOLUTIONS)
    cuda = tuple(TARGETS["cuda"])
    assert CHANNELS_LAST in flag_sets("cuda", "", cuda, program=str(path))
    programs = compiled(path, cuda, DEFAULT, CHANNELS_LAST)
    wrong_defaults = [
        program.wrong_defaults for program in programs if isinstance(program, CompiledSource)
    ]
    assert wrong_defaults == [1, 0]
    # The difference is known once the dispatches are formed.
    with SetCompiler(TuneOptions(input=str(path), flags=cuda)) as compiler:
        jobs = {each: compiler.submit(each) for each in (DEFAULT, CHANNELS_LAST)}
        assert len(compiler.awaited(jobs)) in (0, 1)
        assert all(isinstance(job.result(), CompiledSource) for job in jobs.values())
        assert compiler.awaited(jobs) == [jobs[CHANNELS_LAST]]


def test_programs_are_compiled_one_after_another_in_a_process_that_waits(tmp_path: Path) -> None:
    cuda, idle, images = tuple(TARGETS["cuda"]), list[Pool](), list[bytes]()
    path = tmp_path / "program.mlir"
    for number in range(3):
        path.write_text(CONVOLUTIONS if number != 1 else "module")
        with SetCompiler(TuneOptions(input=str(path), flags=cuda), idle) as compiler:
            result = compiler.submit(DEFAULT).result()
        images += [result.image] if isinstance(result, CompiledSource) else []
        # A program that is not finished takes its process along.
        assert len(idle) == (0 if number == 1 else 1)
    for pool in idle:
        pool.close()
    assert images == [images[0]] * 2


def _attention(queries: int) -> str:
    """Return a program of an attention in f16 with 257 keys."""
    halves = {"0.25 : f32": "0.25 : f16", ", f32)": ", f16)"}
    text = ATTENTION
    for old, new in {"40x16xf32": f"{queries}x64xf16", "48x16xf32": "257x64xf16", **halves}.items():
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("queries", [257, 256])
def test_attention_is_padded_for_intrinsics(tmp_path: Path, queries: int) -> None:
    path = tmp_path / "program.mlir"
    text = _attention(queries)
    path.write_text(text)
    cuda = tuple(TARGETS["cuda"])
    with SetCompiler(TuneOptions(input=str(path), flags=cuda)) as compiler:
        default = compiler.submit(DEFAULT)
        assert compiler.backends(60.0) == ("cuda",)
        sets = compiler.form_sets()
        jobs = [compiler.submit(flag_set) for flag_set in sets]
        images = [job.result() for job in (default, *jobs)]
    padded = "257 to 288 queries, 257 to 288 keys" if queries == 257 else "257 to 288 keys"
    assert sets[0].name == f"padded: {padded}"
    assert all(isinstance(image, CompiledSource) for image in images)
    assert len({image.image for image in images if isinstance(image, CompiledSource)}) == len(
        images
    )
    # The file of the entries is not a flag that a user needs.
    assert [flag_set.flags for flag_set in sets] == [()] * len(sets)
    dispatches = run(
        "iree-compile",
        *(*cuda, *_stock_flags(sets[0], tmp_path), "--compile-to=executable-sources"),
        source=text,
    )
    assert "tensor<2x288x64xf16>" in dispatches


PRODUCTS = """
func.func @products(%a: tensor<1028x64xf16>, %b: tensor<64x256xf16>, %c: tensor<788x64xbf16>, %d: tensor<64x32xbf16>)
    -> (tensor<1028x256xf32>, tensor<788x32xbf16>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1028x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1028x256xf32>) -> tensor<1028x256xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1028x64xf16>, tensor<64x256xf16>) outs(%start : tensor<1028x256xf32>) -> tensor<1028x256xf32>
  %narrow = arith.constant 0.0 : bf16
  %other = tensor.empty() : tensor<788x32xbf16>
  %first = linalg.fill ins(%narrow : bf16) outs(%other : tensor<788x32xbf16>) -> tensor<788x32xbf16>
  %1 = linalg.matmul ins(%c, %d : tensor<788x64xbf16>, tensor<64x32xbf16>) outs(%first : tensor<788x32xbf16>) -> tensor<788x32xbf16>
  return %0, %1 : tensor<1028x256xf32>, tensor<788x32xbf16>
}
"""


@pytest.mark.parametrize("backend", ["cuda", "hip"])
def test_sums_in_bf16_compile_with_their_form_alone(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "program.mlir"
    # As JAX exports it, but for the sizes of the other product.
    path.write_text(PRODUCTS.replace("788x", "256x"))
    with SetCompiler(TuneOptions(input=str(path), flags=TARGETS[backend])) as compiler:
        default = compiler.submit(DEFAULT)
        compiler.backends(60.0)
        first, *_ = (compiler.submit(flag_set) for flag_set in compiler.form_sets())
        assert isinstance(first.result(), CompiledSource)
        assert default.result() == "'func.func' op failed to distribute"


@pytest.mark.parametrize("backend", ["cuda", "hip", "llvm-cpu"])
@pytest.mark.parametrize("with_attention", [True, False])
def test_forms_of_contractions_are_compared_after_those_of_other_ops_alone(
    tmp_path: Path, backend: str, *, with_attention: bool
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PRODUCTS + (_attention(257) if with_attention else ""))
    flags = flags_for("znver4") if backend == "llvm-cpu" else TARGETS[backend]
    with SetCompiler(TuneOptions(input=str(path), flags=tuple(flags))) as compiler:
        default = compiler.submit(DEFAULT)
        compiler.backends(60.0)
        sets = compiler.form_sets()
        images = [job.result() for job in (default, *map(compiler.submit, sets))]
    if backend == "llvm-cpu":
        assert not sets
        return
    assert all(isinstance(image, CompiledSource) for image in images)
    assert len({image.image for image in images if isinstance(image, CompiledSource)}) == len(
        images
    )
    names = [flag_set.name for flag_set in sets]
    # The heaviest is named.
    heaviest = [
        "padded: 1028 to 1088 along m, and 1 more",
        "padded: 1028 to 1056 along m, and 1 more",
        "padded: 1028 to 1040 along m, and 1 more",
    ]
    if not with_attention:
        assert names == heaviest
        return
    attention = "padded: 257 to 288 queries, 257 to 288 keys"
    assert names[:2] == [attention, f"{attention}, and 2 more"]
    for name, flag_set in zip(names, sets, strict=True):
        assert ("sum_matmul_in_f32_788x32x64_bf16" in flag_set.forms) == (name == names[1])
        assert ("pad_matmul_1028" in flag_set.forms) == ("more" in name)


@pytest.mark.parametrize(
    ("flags", "forms"),
    [
        ((*TARGETS["cuda"], "--iree-preprocessing-transform-spec-filename=own.mlir"), True),
        (tuple(TARGETS["cuda"]), False),
        (tuple(flags_for("znver4")), False),
    ],
)
def test_programs_have_no_forms_beside_an_own_spec_or_if_not_requested(
    tmp_path: Path, flags: tuple[str, ...], *, forms: bool
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(ATTENTION)
    with SetCompiler(TuneOptions(input=str(path), flags=flags, forms=forms)) as compiler:
        compiler.submit(DEFAULT)
        compiler.backends(60.0)
        assert not compiler.form_sets()


def test_attention_has_sets_with_its_form_for_a_cpu_with_data_tiling_and_without(
    tmp_path: Path,
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(ATTENTION)
    with SetCompiler(TuneOptions(input=str(path), flags=tuple(flags_for("znver4")))) as compiler:
        compiler.submit(DEFAULT)
        compiler.backends(60.0)
        sets = compiler.form_sets()
        tiling = "--iree-opt-data-tiling"
        assert [tiling in flag_set.flags for flag_set in sets] == [True, False]
        for flag_set in sets:
            assert flag_set.name.startswith("attention as products")
            assert not any("spec-filename" in flag for flag in flag_set.flags)
            more = _stock_flags(flag_set, tmp_path)[-1]
            assert "iree_linalg_ext.attention" not in _lowered(
                flag_set, ATTENTION, "executable-sources", more
            )


def compiled(
    path: Path, flags: Sequence[str], *sets: FlagSet, jobs: int = 2
) -> list[CompiledSource | str]:
    """Compile a program under sets of flags, some of them at a time."""
    settings = TuningSettings(jobs=jobs)
    options = TuneOptions(input=str(path), flags=tuple(flags), settings=settings)
    with SetCompiler(options) as compiler:
        return [job.result() for job in [compiler.submit(flag_set) for flag_set in sets]]


O2, O3 = (FlagSet(level, (f"--iree-opt-level={level}",)) for level in ("O2", "O3"))
SETS = (
    *(DEFAULT, O2, O3, CHANNELS_LAST),
    FlagSet("im2col", ("--iree-global-opt-use-im2col-for-convs",)),
    FlagSet("tiling", ("--iree-opt-data-tiling",)),
    FlagSet("peeling", ("--iree-llvmcpu-vector-pproc-strategy=peel",)),
)


@pytest.mark.parametrize("target", ["cuda", "znver4"])
@pytest.mark.parametrize("name", ["convolution", "matmul"])
def test_sets_that_form_the_same_dispatches_have_the_same_code(
    tmp_path: Path, target: str, name: str
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(CONVOLUTION if name == "convolution" else matmul(64, 64, 64))
    flags = TARGETS["cuda"] if target == "cuda" else flags_for(target)
    programs = compiled(path, flags, *SETS, jobs=len(SETS))
    images: dict[str, bytes] = {}
    for flag_set, program in zip(SETS, programs, strict=True):
        if isinstance(program, CompiledSource):
            images[flag_set.title] = program.image
            continue
        # Without the comparison, its code is that of the other set, byte for byte.
        other = program.removeprefix("the same code as ")
        (alone,) = compiled(path, (*flags, *flag_set.flags), DEFAULT)
        assert isinstance(alone, CompiledSource)
        assert alone.image == images[other]
    assert "the default" in images
    assert "'peeling'" in images


def test_a_pipeline_that_does_not_parse_is_an_error(tmp_path: Path) -> None:
    """`iree-compile` prints one, and writes the default program."""
    path = tmp_path / "program.mlir"
    path.write_text(matmul(16, 16, 16))
    flag = "--iree-preprocessing-pass-pipeline=builtin.module(nonsense)"
    with pytest.raises(TuninglinkError, match="malformed value of '--iree-preprocessing"):
        compiled(path, flags_for("znver4"), DEFAULT, FlagSet("set", (flag,)))


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_compilation_ends_when_the_compiler_is_stopped(tmp_path: Path, seconds: float) -> None:
    """At once, and when the dispatches of the default are formed."""
    path = tmp_path / "program.mlir"
    path.write_text(matmul(16, 16, 16))
    options = TuneOptions(input=str(path), flags=tuple(flags_for("znver4")))
    with SetCompiler(options) as compiler:
        jobs = [compiler.submit(flag_set) for flag_set in SETS]
        assert compiler.backends(seconds) == (("llvm-cpu",) if seconds else None)
        compiler.stop()
        assert all(
            job.cancelled() or job.result() == NOT_COMPILED for job in jobs[len(jobs) // 2 :]
        )
        assert all(job.cancelled() or job.result() for job in jobs)
