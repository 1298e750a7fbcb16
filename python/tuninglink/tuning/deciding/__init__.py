"""Decisions from interleaved times: whether a candidate is faster than the default, and with what confidence.

The same samples and seed give the same decision. The modules of this package use the decisions in races of finalists,
comparisons of whole programs, and verification of winners.
"""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.deciding.budget import (
        FEWEST_MODEL_ROUNDS as FEWEST_MODEL_ROUNDS,
        START_SECONDS as START_SECONDS,
        Account as Account,
        Budget as Budget,
        Interrupted as Interrupted,
        Interruption as Interruption,
        Ledger as Ledger,
        guard_seconds as guard_seconds,
        least_race_seconds as least_race_seconds,
        least_seconds as least_seconds,
        program_compile_seconds as program_compile_seconds,
        task_race_seconds as task_race_seconds,
    )
    from tuninglink.tuning.deciding.decisions import (
        ConfidenceInterval as ConfidenceInterval,
        Decision as Decision,
        FunctionComparison as FunctionComparison,
        ModelComparison as ModelComparison,
        Outcome as Outcome,
        decide as decide,
        interval as interval,
        undisturbed_speedup as undisturbed_speedup,
    )
    from tuninglink.tuning.deciding.defaults import (
        DEFAULT_SECONDS as DEFAULT_SECONDS,
        SMALL as SMALL,
        DefaultJudgements as DefaultJudgements,
        JudgedOutputs as JudgedOutputs,
        MeasuredTask as MeasuredTask,
        measure_default as measure_default,
    )
    from tuninglink.tuning.deciding.model_run import (
        CALLS_OF_FEWEST_ROUNDS as CALLS_OF_FEWEST_ROUNDS,
        CallError as CallError,
        ModelRunError as ModelRunError,
        ModelRuns as ModelRuns,
        ModelVerdict as ModelVerdict,
        OutputJudge as OutputJudge,
        ProgramVariants as ProgramVariants,
        ProgramVerdict as ProgramVerdict,
        harmless as harmless,
        judge_default as judge_default,
        judge_entries as judge_entries,
        judge_program as judge_program,
        overflows as overflows,
        relative_error as relative_error,
        tolerance_of as tolerance_of,
        with_predicted as with_predicted,
    )
    from tuninglink.tuning.deciding.race import (
        BLOCK_ROUNDS as BLOCK_ROUNDS,
        BLOCKS as BLOCKS,
        FINALISTS as FINALISTS,
        Contestant as Contestant,
        Race as Race,
        RaceResult as RaceResult,
        RaceRules as RaceRules,
        Standings as Standings,
        best_trials as best_trials,
        contestant as contestant,
        race_seconds as race_seconds,
    )
    from tuninglink.tuning.deciding.task_result import (
        FAILING_DEFAULT as FAILING_DEFAULT,
        WRONG_DEFAULT as WRONG_DEFAULT,
        Ending as Ending,
        SizeChecks as SizeChecks,
        SizeComparison as SizeComparison,
        TaskOutcome as TaskOutcome,
        TaskResult as TaskResult,
        TrialResult as TrialResult,
        TuningResult as TuningResult,
        WinnerVerification as WinnerVerification,
        WrongDefaults as WrongDefaults,
    )
    from tuninglink.tuning.deciding.tune_options import (
        LastStage as LastStage,
        MeasuringOptions as MeasuringOptions,
        Numerics as Numerics,
        TuneOptions as TuneOptions,
        TuningSettings as TuningSettings,
    )
