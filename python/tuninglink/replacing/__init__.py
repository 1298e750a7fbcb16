"""What entries that replace ops are made of: problems and their spellings as data, and the writer of such entries."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.replacing.attention import (
        ORDER as ORDER,
        Attention as Attention,
        spellings as spellings,
    )
    from tuninglink.replacing.contraction import (
        BATCH_MATMUL as BATCH_MATMUL,
        MATMUL as MATMUL,
        Contraction as Contraction,
    )
    from tuninglink.replacing.entries import (
        Form as Form,
        comparison as comparison,
        entry as entry,
        spec as spec,
    )
    from tuninglink.replacing.problem import (
        COLUMNS as COLUMNS,
        FEATURES as FEATURES,
        FLOATS as FLOATS,
        KEYS as KEYS,
        LOOPS as LOOPS,
        QUERIES as QUERIES,
        UNIT as UNIT,
        NoFormError as NoFormError,
        Problem as Problem,
        Spelled as Spelled,
        maps_of as maps_of,
        size_along as size_along,
    )
