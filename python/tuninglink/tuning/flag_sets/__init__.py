"""Sets of compiler flags as candidates of a whole program, from a list for each backend, plug-ins and files."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.flag_sets.choice import (
        FlagChoice as FlagChoice,
        choose_flags as choose_flags,
        obstacle as obstacle,
        sets_in_time as sets_in_time,
    )
    from tuninglink.tuning.flag_sets.comparison import (
        FlagComparison as FlagComparison,
        ProgramTimer as ProgramTimer,
        ProgramTimes as ProgramTimes,
    )
    from tuninglink.tuning.flag_sets.listener import Listener as Listener
    from tuninglink.tuning.flag_sets.sets import (
        CHANNELS_LAST as CHANNELS_LAST,
        DEFAULT as DEFAULT,
        GROUP as GROUP,
        NONE as NONE,
        CompiledSource as CompiledSource,
        FlagSet as FlagSet,
        FlagsResult as FlagsResult,
        ProgramSource as ProgramSource,
        SetCompiler as SetCompiler,
        SetResult as SetResult,
        SourceReference as SourceReference,
        TunedSet as TunedSet,
        finalists as finalists,
        flag_sets as flag_sets,
        read_flag_sets as read_flag_sets,
        tuning_bases as tuning_bases,
    )
