"""Searches, which choose the next candidates, by name: built-in ones, and those of plug-ins."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.search.model_search import (
        begin_loading as begin_loading,
        fastest_first as fastest_first,
        lacking_scikit_learn as lacking_scikit_learn,
        load_trees as load_trees,
        search_named as search_named,
        search_names as search_names,
    )
    from tuninglink.tuning.search.search import (
        FIRST_CANDIDATES as FIRST_CANDIDATES,
        MOST_CANDIDATES as MOST_CANDIDATES,
        MeasuredProblem as MeasuredProblem,
        RandomSearch as RandomSearch,
        Search as Search,
    )
