"""The forms in which layers arrive from PyTorch 2.13, JAX 0.10 and ONNX at O0 and O2, with an entry for one form of each.

`docs/background/concepts.md` lists the forms. In f16, JAX accumulates in f16.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from compilations import run_compiler
from problem_forms import (
    BATCH_KN,
    KN,
    NK,
    SCALE_F32,
    SCALE_OF_ELEMENT,
    TARGETS,
    FormTarget,
    Product,
    attention,
    attention_entry,
    convolution,
    convolution_entry,
    linear,
    linear_entry,
    spec,
)

import tuninglink
from tuninglink.matching import derived_specs
from tuninglink.specs import link_specs, load_spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ROW: Final = Product("mnk", "mk,kn->mn", rows=1)
_SWAPPED: Final = Product("nmk", "km,nk->nm")

_GENERIC: Final = "linalg.generic"


@dataclass(frozen=True)
class Arrival:
    """A form that arrives.

    Attributes:
        entry: the entry for its problem.
        change: the text of `explain` on its derivation; empty if the entry matches it as written.
        is_listed: whether `link --derived-entries` writes it out.
        product: the form of a linear layer.
    """

    entry: str
    change: str = ""
    is_listed: bool = True
    product: Product | None = None


_BATCHED: Final = "unit batch added"

PRODUCTS: Final[Mapping[str, Arrival]] = {
    "linear_2d": Arrival("nk", product=NK),
    "linear_2d_generic": Arrival("nk", product=replace(NK, op=_GENERIC)),
    "matmul_2d": Arrival("kn", product=KN),
    "matmul_2d_generic": Arrival("kn", product=replace(KN, op=_GENERIC)),
    "linear_batch_1": Arrival("kn", _BATCHED, product=BATCH_KN),
    "row_batch_1": Arrival("row", _BATCHED, product=replace(BATCH_KN, rows=1)),
    "row_folded": Arrival(
        "row", "unit loop removed", is_listed=False, product=Product("nk", "k,kn->n", rows=1)
    ),
    "pointwise_convolution": Arrival("pointwise", product=_SWAPPED),
    "pointwise_reordered": Arrival(
        "pointwise", "loops reordered", is_listed=False, product=replace(_SWAPPED, loops="mnk")
    ),
}
"""Linear layers: three forms, named and generic, those of a single row, and a 1x1 convolution in NCHW."""

IN_F16: Final[Mapping[str, Arrival]] = {
    "narrow_nk": Arrival("nk16", product=replace(NK, accumulator="f16")),
    "narrow_kn": Arrival("kn16", product=replace(KN, accumulator="f16")),
    "narrow_batch": Arrival("kn16", _BATCHED, product=replace(BATCH_KN, accumulator="f16")),
}
"""Those of JAX in f16."""

ATTENTIONS: Final[Mapping[str, Arrival]] = {
    "attention_scale_f32": Arrival("attention", "loops reordered"),
    "attention_of_compiler": Arrival("attention"),
}


@dataclass(frozen=True)
class Case:
    """A program with all forms of an element type, and the spec with one entry for each problem.

    Attributes:
        target: the target.
        element: the element type of factors.
    """

    target: FormTarget
    element: str

    @property
    def products(self) -> dict[str, Arrival]:
        """The linear layers."""
        return {**PRODUCTS, **(IN_F16 if self.element == "f16" else {})}

    @property
    def arrivals(self) -> dict[str, Arrival]:
        """All forms by the names of their functions."""
        convolutions = {"image": Arrival("conv", "unit loop removed", is_listed=False)}
        has_convolution = bool(self.target.convolution)
        return {**self.products, **ATTENTIONS, **(convolutions if has_convolution else {})}

    @property
    def program(self) -> bytes:
        """The program."""
        functions = [
            linear(name, arrival.product, self.element)
            for name, arrival in self.products.items()
            if arrival.product is not None
        ]
        functions.append(attention("attention_scale_f32", SCALE_F32, self.element))
        functions.append(attention("attention_of_compiler", SCALE_OF_ELEMENT, self.element))
        if self.target.convolution:
            functions.append(convolution("image", is_batched=False))
        return "".join(functions).encode()

    @property
    def spec(self) -> bytes:
        """The spec."""
        target = replace(self.target, element=self.element)
        forms = {"nk": NK, "kn": KN, "pointwise": _SWAPPED}
        entries = [linear_entry(name, form, target) for name, form in forms.items()]
        rows = {"row": ROW}
        if self.element == "f16":
            rows |= {f"{name}16": replace(forms[name], accumulator="f16") for name in ("nk", "kn")}
        entries += [linear_entry(name, form, target, target.row) for name, form in rows.items()]
        entries.append(attention_entry("attention", target))
        if target.convolution:
            entries.append(convolution_entry("conv", target))
        return spec(*entries)


CASES: Final[Mapping[str, Case]] = {
    f"{name}-{element}": Case(target, element)
    for name, target in TARGETS.items()
    for element in dict.fromkeys(("f16", target.element))
}


def configured_by_stock(case: Case, directory: Path) -> bytes:
    """Return the program as the compiler itself configures it, given the spec with all forms that can be listed.

    Args:
        case: the program and the spec.
        directory: gets the spec.
    """
    entries = load_spec(case.spec)
    listed = link_specs([entries, *derived_specs(entries)]).spec.text()
    configured = "--compile-to=executable-configurations"
    if "--iree-hal-target-device=cuda" not in case.target.flags:
        path = directory / "listed.mlir"
        path.write_text(listed)
        flags = (*case.target.flags, f"--iree-codegen-tuning-spec-path={path}", configured)
        return _answer(flags, case.program)
    # There the compiler ignores the flag, and takes a spec that the program carries.
    carrying = tuninglink.compile(
        case.program,
        specs=[listed.encode()],
        default_specs=False,
        derived_entries=False,
        flags=[*case.target.flags, "--compile-to=executable-sources"],
    )
    flags = (*case.target.flags, "--compile-from=executable-sources", configured)
    return _answer(flags, carrying.output)


def finished(case: Case, configured: bytes) -> bytes:
    """Return the module that the compiler makes of a configured program."""
    flags = (*case.target.flags, "--compile-from=executable-configurations")
    return _answer(flags, configured)


def _answer(flags: Sequence[str], source: bytes) -> bytes:
    code, output, errors = run_compiler("iree-compile", ["-", *flags], source)
    assert code == 0, errors.decode()
    return output
