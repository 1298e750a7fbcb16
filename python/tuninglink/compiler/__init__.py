"""In-process compilation in phases, with specs applied between them."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.compiler.application import SpecChoice as SpecChoice
    from tuninglink.compiler.compilation import (
        Compilation as Compilation,
        Compiler as Compiler,
        Configure as Configure,
        Observer as Observer,
        compile as compile,  # noqa: A004 - as `re.compile` is
        compiler_run as compiler_run,
        import_onnx as import_onnx,
        link as link,
        program_path as program_path,
        program_source as program_source,
        read_options as read_options,
        read_request as read_request,
        refuse_spec as refuse_spec,
    )
    from tuninglink.compiler.options import (
        COMPILE_FLAGS as COMPILE_FLAGS,
        DIM_FLAG as DIM_FLAG,
        EXPLAIN_FLAGS as EXPLAIN_FLAGS,
        TARGET_FLAG as TARGET_FLAG,
        CompileOptions as CompileOptions,
        ExplanationFormat as ExplanationFormat,
        FlagReader as FlagReader,
        Mode as Mode,
        OutputFormat as OutputFormat,
        check_found_flags as check_found_flags,
        compile_options as compile_options,
        compiler_options as compiler_options,
        listed_values as listed_values,
    )
    from tuninglink.compiler.prepared_dispatches import (
        DispatchSources as DispatchSources,
        PreparedDispatches as PreparedDispatches,
        executable_name as executable_name,
        functions as functions,
        has_encodings as has_encodings,
        materialize_encodings as materialize_encodings,
        prepare_dispatches as prepare_dispatches,
    )
    from tuninglink.compiler.session import (
        Invocation as Invocation,
        Output as Output,
        Phase as Phase,
        PrintedText as PrintedText,
        SavedProgram as SavedProgram,
        Session as Session,
        StringRef as StringRef,
        call as call,
        handled as handled,
        object_at as object_at,
        pointer_of as pointer_of,
        registered_backends as registered_backends,
        session_flags as session_flags,
        set_global_flags as set_global_flags,
        set_up_command_line as set_up_command_line,
        spec_diagnostics as spec_diagnostics,
    )
    from tuninglink.compiler.targets import (
        NAMING_FLAGS as NAMING_FLAGS,
        check_has_target as check_has_target,
        check_targets as check_targets,
        compile_flags as compile_flags,
        executable_target as executable_target,
        expanded_target as expanded_target,
        named_target as named_target,
        no_target as no_target,
        program_targets as program_targets,
        read_target as read_target,
    )
    from tuninglink.compiler.tracing import TAG as TAG, Applied as Applied, TaggedSpec as TaggedSpec
