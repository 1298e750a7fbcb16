"""What a pass says about itself."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.driver.passes import Pass


def summary(pass_type: type[Pass]) -> str:
    """Returns the first line of a pass's docstring, without the full stop."""
    return description(pass_type).partition("\n")[0].rstrip(".")


def description(pass_type: type[Pass]) -> str:
    """Returns the docstring of a pass without its indentation."""
    return inspect.cleandoc(pass_type.__doc__ or "")
