"""Programs as tasks, with options for their calls: the functions that count, their inputs, and files with weights."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.programs.benchmark import (
        DISPATCH as DISPATCH,
        Access as Access,
        Benchmark as Benchmark,
        Binding as Binding,
        BufferLayout as BufferLayout,
        SizedFunction as SizedFunction,
        passed_constants as passed_constants,
    )
    from tuninglink.programs.calls import (
        COMPILE_FAILURES as COMPILE_FAILURES,
        WRONG_RESULTS as WRONG_RESULTS,
        Correctness as Correctness,
        Failure as Failure,
        FailureKind as FailureKind,
        FatalError as FatalError,
        FunctionCall as FunctionCall,
        OutputComparison as OutputComparison,
        OutputSample as OutputSample,
        OutputVerdict as OutputVerdict,
        ProgramCalls as ProgramCalls,
        advance_to_abi as advance_to_abi,
        form_replaced as form_replaced,
        program_calls as program_calls,
        reason_of as reason_of,
    )
    from tuninglink.programs.compiled_program import (
        ALL_CALLS as ALL_CALLS,
        PLAIN_INTEGERS as PLAIN_INTEGERS,
        SCALE as SCALE,
        CallOptions as CallOptions,
        CompiledProgram as CompiledProgram,
        FunctionWeight as FunctionWeight,
        GivenInput as GivenInput,
        Parameter as Parameter,
        ParameterFile as ParameterFile,
        ParameterSource as ParameterSource,
        ProgramInput as ProgramInput,
        element_type as element_type,
        is_float as is_float,
    )
    from tuninglink.programs.dispatches import (
        DispatchedProgram as DispatchedProgram,
        NothingToTuneError as NothingToTuneError,
        Omission as Omission,
        TuningTask as TuningTask,
        box_above as box_above,
        boxes_around as boxes_around,
        dynamic_loops as dynamic_loops,
        no_dispatch as no_dispatch,
        read_program as read_program,
        select_exports as select_exports,
        specialize as specialize,
    )
    from tuninglink.programs.scalars import (
        COMPARISONS as COMPARISONS,
        REDUCTIONS as REDUCTIONS,
        Array as Array,
        UnsupportedOperationError as UnsupportedOperationError,
        check_supported as check_supported,
        dtype_of as dtype_of,
        evaluate as evaluate,
        is_unsigned as is_unsigned,
        widened as widened,
    )
