"""The providers of kernels: the built-in one, and those of plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.errors import Diagnostic, Severity
from tuninglink.kernels.kernel import KernelProvider
from tuninglink.kernels.triton_provider import TritonProvider
from tuninglink.mlir import note
from tuninglink.rules import Rule
from tuninglink.specs import plug_ins

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP: Final = "tuninglink.kernels"
"""The entry-point group under which a plug-in registers a provider of kernels: a subclass of `KernelProvider`."""


def kernel_providers(
    report: Callable[[Diagnostic], object] = lambda _: None,
) -> list[KernelProvider]:
    """Return the providers of kernels: the built-in one, and those of installed packages, by name.

    Args:
        report: receives warnings about plug-ins that cannot be used, which are skipped.
    """
    providers: list[KernelProvider] = [TritonProvider()]
    for plug_in in plug_ins(GROUP):
        package = f" of package '{plug_in.dist.name}'" if plug_in.dist else ""
        try:
            loaded = plug_in.load()
            if not (isinstance(loaded, type) and issubclass(loaded, KernelProvider)):
                raise TypeError(f"{loaded!r} is not a subclass of {GROUP}.KernelProvider")
            providers.append(loaded())
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            message = (
                f"skipping the kernels of plug-in '{plug_in.name}'{package} ({plug_in.value}), "
                f"which cannot be used: {type(failure).__name__}: {failure}"
            )
            remedy = note("install what it needs, or uninstall the package")
            report(Diagnostic(Severity.WARNING, message, notes=(remedy,), rule=Rule.PLUGIN))
    return providers
