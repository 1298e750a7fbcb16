"""The providers of kernels: the built-in one, and those of plug-ins."""

from __future__ import annotations

from typing import Final

from tuninglink.errors import TuninglinkError
from tuninglink.kernels.kernel import KernelProvider
from tuninglink.kernels.triton_provider import TritonProvider
from tuninglink.mlir import error
from tuninglink.specs import plug_ins

GROUP: Final = "tuninglink.kernels"
"""The entry-point group under which a plug-in registers a provider of kernels: a subclass of `KernelProvider`."""


def kernel_providers() -> list[KernelProvider]:
    """Return the providers of kernels: the built-in one, and those of installed packages, by name.

    Raises:
        TuninglinkError: a plug-in cannot be used.
    """
    providers: list[KernelProvider] = [TritonProvider()]
    for plug_in in plug_ins(GROUP):
        subject = f"plug-in '{plug_in.name}' ({plug_in.value})"
        try:
            loaded = plug_in.load()
        except Exception as failure:  # noqa: BLE001 - plug-ins may raise anything
            raise TuninglinkError(error(f"{subject} cannot be loaded: {failure}")) from None
        if not (isinstance(loaded, type) and issubclass(loaded, KernelProvider)):
            raise TuninglinkError(error(f"{subject} is not a subclass of {GROUP}.KernelProvider"))
        try:
            providers.append(loaded())
        except TypeError as failure:
            raise TuninglinkError(error(f"{subject} cannot be used: {failure}")) from None
    return providers
