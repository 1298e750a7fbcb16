"""The tuner: dispatches of a program, candidates, trials, winners, a spec that holds them, and progress callbacks."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.dispatch_tuning import (
        DispatchTuning as DispatchTuning,
        Staged as Staged,
        measured_candidates as measured_candidates,
        open_context as open_context,
        prepared_tasks as prepared_tasks,
        space_sizes as space_sizes,
        staged_candidates as staged_candidates,
        unknown_device_remarks as unknown_device_remarks,
        with_replaced_ops as with_replaced_ops,
    )
    from tuninglink.tuning.program_guard import ProgramGuard as ProgramGuard
    from tuninglink.tuning.program_profiles import (
        ProgramMeasurement as ProgramMeasurement,
        record_profile as record_profile,
        weighed as weighed,
    )
    from tuninglink.tuning.report import (
        OmittedDispatch as OmittedDispatch,
        ProblemReport as ProblemReport,
        TrialPoint as TrialPoint,
        TuningReport as TuningReport,
        report_of as report_of,
        to_html as to_html,
        with_flag_sets as with_flag_sets,
        write_report as write_report,
    )
    from tuninglink.tuning.retuning import (
        EntryResult as EntryResult,
        EntryVerdict as EntryVerdict,
        ProblemSource as ProblemSource,
        Retuner as Retuner,
        RetuningResult as RetuningResult,
        Standing as Standing,
        retuned_spec as retuned_spec,
        target_of as target_of,
    )
    from tuninglink.tuning.tuner import Tuner as Tuner
    from tuninglink.tuning.verification import (
        Agreement as Agreement,
        TracedDispatch as TracedDispatch,
        TraceSource as TraceSource,
        Verification as Verification,
        VerifiedDispatch as VerifiedDispatch,
        error_text as error_text,
        overflow_finding as overflow_finding,
        trace_program as trace_program,
        verify as verify,
        verify_dispatches as verify_dispatches,
    )
    from tuninglink.tuning.whole_run import (
        Tuned as Tuned,
        tune as tune,
        tune_in_process as tune_in_process,
        tune_program as tune_program,
    )
