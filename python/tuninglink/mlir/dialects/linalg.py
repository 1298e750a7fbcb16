"""The classes of linalg's ops, without the builders of named ops in `iree.compiler.dialects.linalg`."""

from iree.compiler.dialects import _linalg_ops_gen  # type: ignore[attr-defined]

__all__ = ["_linalg_ops_gen"]
