"""Explanation of the effects of specs on a program, dispatch by dispatch."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.explaining.explainer import (
        Explainer as Explainer,
        explain as explain,
        explain_file as explain_file,
        until_configured as until_configured,
    )
    from tuninglink.explaining.explanation import (
        DispatchEvent as DispatchEvent,
        Explanation as Explanation,
        MeasuredTimes as MeasuredTimes,
        Profile as Profile,
        dispatch_events as dispatch_events,
        read_profile as read_profile,
        runs_of as runs_of,
        runtime_tool as runtime_tool,
        with_peaks as with_peaks,
        with_times as with_times,
    )
    from tuninglink.explaining.reports import (
        ConfigurationText as ConfigurationText,
        DispatchReport as DispatchReport,
        EntryReference as EntryReference,
        EntryUsage as EntryUsage,
        KnobRow as KnobRow,
        Match as Match,
        NearMiss as NearMiss,
        OperationReport as OperationReport,
        ProblemRow as ProblemRow,
        ReplacedOperation as ReplacedOperation,
        SpecSummary as SpecSummary,
        Status as Status,
    )
