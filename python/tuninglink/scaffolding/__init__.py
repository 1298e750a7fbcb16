"""Specs from a program: entries for its dispatches, to start from or to keep the compiler's choices."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.scaffolding.initial_spec import (
        InitSpec as InitSpec,
        frozen_spec_for_file as frozen_spec_for_file,
        init_spec as init_spec,
        init_spec_for_file as init_spec_for_file,
        single_entry as single_entry,
    )
    from tuninglink.scaffolding.program_reader import (
        LeftOut as LeftOut,
        ProgramReader as ProgramReader,
        StartingPoint as StartingPoint,
        can_be_predicted as can_be_predicted,
        is_tunable as is_tunable,
    )
