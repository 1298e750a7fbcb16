"""The code of attentions and products with and without forms: a row for each target, size, and mask or type of sums.

    python benchmarks/form_code.py --jobs 2

Problems are those of PyTorch's export in f16: 48 heads in one batch loop, a scale in f32, and no mask, or one into which
the frontend has broadcast the model's own; and products of 1,028 rows with sums in f32, or in their own type as JAX's
export writes them. For the default and each form, the number of matrix instructions in the
assembly (`mma.sync`, `v_mfma`, `v_wmma`) is printed, or `-` where the compiler fails. Needs no device. The exit code
is 1 if a form does not compile, or a first form has no such instruction.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tuninglink.compiler import executable_target
from tuninglink.forms import PaddedAttention, PaddedContraction, forms_of
from tuninglink.iree import Target
from tuninglink.mlir import thread_context
from tuninglink.replacing import MATMUL, Attention, Contraction, NoFormError, comparison

TARGETS: Final = {
    "sm_80": ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    "gfx942": ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
    "gfx1100": ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx1100"),
}
LENGTHS: Final = (197, 249, 257, 577)
HEADS: Final = (64, 72, 80, 96)
_HEAD_COUNT: Final = 48
_INTRINSIC: Final = re.compile(r"\b(?:w?mma\.(?:mma\.)?sync|v_(?:mfma|wmma|smfmac))")
_FUNCTION: Final = re.compile(
    r"^(?:\.visible |\.entry |\t?\.globl\s+|\s)*(plain|form)_dispatch_\d+_(?:attention|matmul)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Code:
    """The numbers of matrix instructions in the code of an attention; None where it does not compile."""

    plain: int | None
    form: int | None


def problem_of(length: int, head: int, mask: str) -> Attention:
    """Return the attention of PyTorch's export; `mask` is its element type, empty for none."""
    masks, types = (["amj"], [mask]) if mask else ([], [])
    operands = ("amk", "ajk", "ajn", "", *masks, "amn")
    sizes = (_HEAD_COUNT, length, head, head, length)
    return Attention(operands, ("f16", "f16", "f16", "f32", *types, "f16"), "amnkj", sizes)


def product_of(element: str, sums: str) -> Contraction:
    """Return a product of 1,028 rows and weights in rows, as frontends write it."""
    types = (element, element, sums)
    return Contraction(("mk", "nk", "mn"), types, "mnk", (1028, 1024, 4096), MATMUL)


def code_of(form: PaddedAttention | PaddedContraction, flags: tuple[str, ...]) -> Code:
    """Compile a form and its op, and count the matrix instructions of both."""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "program.mlir"
        program.write_text(comparison(form), encoding="utf-8")
        dump = Path(scratch) / "code"
        to = [
            f"--iree-hal-dump-executable-{kind}-to={dump}" for kind in ("intermediates", "binaries")
        ]
        module = Path(scratch) / "module.vmfb"
        done = subprocess.run(
            ["iree-compile", program, "-o", module, *flags, *to], capture_output=True, check=False
        )
        files = [*dump.glob("*.ptx"), *dump.glob("*.rocmasm")]
        text = "".join(path.read_text(errors="replace") for path in files)
    # The code of a function follows its name.
    counts: dict[str, int] = {}
    _, *parts = _FUNCTION.split(text)
    for name, code in zip(parts[::2], parts[1::2], strict=True):
        counts[name] = counts.get(name, 0) + len(_INTRINSIC.findall(code))
    if done.returncode:
        print(form.label, done.stderr.decode()[:500], file=sys.stderr)
        counts = {}
    return Code(counts.get("plain"), counts.get("form"))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--targets", nargs="*", choices=TARGETS, default=[*TARGETS])
    parser.add_argument("--lengths", nargs="*", type=int, default=LENGTHS)
    parser.add_argument("--heads", nargs="*", type=int, default=HEADS)
    parser.add_argument("--masks", nargs="*", default=["", "f16", "i1"], metavar="TYPE")
    parser.add_argument(
        "--products",
        nargs="*",
        type=lambda text: tuple(text.split(":")),
        default=[("f16", "f32"), ("f16", "f16"), ("bf16", "bf16")],
        metavar="TYPE:TYPE",
        help="the types of factors and sums",
    )
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print("| target | attention | default | forms |\n| --- | --- | --- | --- |", flush=True)
    is_wrong = False
    cases: list[tuple[str, Attention | Contraction]] = [
        (target, problem_of(length, head, mask))
        for target in arguments.targets
        for mask in arguments.masks
        for head in arguments.heads
        for length in arguments.lengths
    ]
    cases += [
        (target, product_of(*types)) for target in arguments.targets for types in arguments.products
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for target, problem in cases:
            flags = TARGETS[target]
            described = Target.from_attribute(executable_target(flags, thread_context()))
            try:
                forms = [
                    form
                    for form in forms_of(problem, described)
                    if isinstance(form, PaddedAttention | PaddedContraction)
                ]
            except NoFormError as failure:
                print(f"| {target} | {problem} | | {failure} |", flush=True)
                is_wrong = True
                continue
            codes = [*pool.map(lambda form, flags=flags: code_of(form, flags), forms)]
            is_wrong |= any(code.form is None for code in codes) or not codes[0].form
            shown = (
                (" ".join(f"{at}{size}" for at, size in form.sizes) or str(form))
                + f": {'-' if code.form is None else code.form}"
                + " (tuned only)" * (isinstance(form, PaddedAttention) and not form.is_default)
                for form, code in zip(forms, codes, strict=True)
            )
            plain = codes[0].plain
            print(
                f"| {target} | {problem} {problem.types[-1]} | {'-' if plain is None else plain} | {'; '.join(shown)} |",
                flush=True,
            )
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
