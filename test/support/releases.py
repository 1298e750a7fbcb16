"""Marks for tests of what not every supported compiler does."""

from __future__ import annotations

import pytest

from tuninglink.iree import RELEASE

since_3_13 = pytest.mark.skipif(RELEASE < (3, 13), reason="the compiler does so since IREE 3.13")
