"""The database of trials, each with all conditions that affect its result."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.database.database import (
        NOT_CHECKED as NOT_CHECKED,
        RIGHT as RIGHT,
        VERSION as VERSION,
        ConfigurationRecord as ConfigurationRecord,
        Database as Database,
        DatabaseError as DatabaseError,
        EnvironmentRecord as EnvironmentRecord,
        ProblemRecord as ProblemRecord,
        Trial as Trial,
        best_of as best_of,
        grouped_trials as grouped_trials,
        results_of as results_of,
    )
    from tuninglink.tuning.database.exchange import (
        export as export,
        problem_of_program as problem_of_program,
        read_trials as read_trials,
        recorded_candidate as recorded_candidate,
        to_csv as to_csv,
        to_t4 as to_t4,
        write_tables as write_tables,
    )
    from tuninglink.tuning.database.gains import gains_among as gains_among
    from tuninglink.tuning.database.insights import (
        History as History,
        HistoryFilter as HistoryFilter,
        Insights as Insights,
        history_among as history_among,
        insights_among as insights_among,
        to_html as to_html,
    )
    from tuninglink.tuning.database.journal import (
        MOST_RELATED as MOST_RELATED,
        Journal as Journal,
        PriorData as PriorData,
        RelatedTrials as RelatedTrials,
        recorded_times as recorded_times,
    )
