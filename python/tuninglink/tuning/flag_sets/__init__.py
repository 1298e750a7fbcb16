"""Sets of compiler flags as candidates of a whole program, from a list for each backend, plug-ins and files."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.flag_sets.choice import (
        FlagChoice as FlagChoice,
        Listener as Listener,
        TunedSet as TunedSet,
        choose_flags as choose_flags,
        obstacle as obstacle,
    )
    from tuninglink.tuning.flag_sets.comparison import (
        NO_TIME as NO_TIME,
        FlagComparison as FlagComparison,
        FlagsResult as FlagsResult,
        SetResult as SetResult,
    )
    from tuninglink.tuning.flag_sets.kernel_sets import (
        ChosenKernel as ChosenKernel,
        KernelChoice as KernelChoice,
    )
    from tuninglink.tuning.flag_sets.sets import (
        CHANNELS_LAST as CHANNELS_LAST,
        DEFAULT as DEFAULT,
        GROUP as GROUP,
        NONE as NONE,
        NOT_COMPILED as NOT_COMPILED,
        CompiledSource as CompiledSource,
        FlagSet as FlagSet,
        SetCompiler as SetCompiler,
        flag_sets as flag_sets,
        read_flag_sets as read_flag_sets,
    )
