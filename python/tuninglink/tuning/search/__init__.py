"""Searches, which choose the next candidates."""

from tuninglink.tuning.search.base import Search
from tuninglink.tuning.search.registry import DEFAULT_SEARCH, check_search, search_named

__all__ = ["DEFAULT_SEARCH", "Search", "check_search", "search_named"]
