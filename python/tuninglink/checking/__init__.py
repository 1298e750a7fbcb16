"""Checking specs: all faults of entries that can be detected before use."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.checking.check_report import (
        CheckReport as CheckReport,
        EntryReport as EntryReport,
        FixedFile as FixedFile,
        Selection as Selection,
        SpecReport as SpecReport,
        fixed_files as fixed_files,
        read_codes as read_codes,
        to_github as to_github,
        to_sarif as to_sarif,
    )
    from tuninglink.checking.checker import Checker as Checker, check as check
    from tuninglink.checking.entry_checker import (
        MOST_PROPOSALS as MOST_PROPOSALS,
        VERDICT_WORDS as VERDICT_WORDS,
        Answer as Answer,
        CompileLimits as CompileLimits,
        ConfigurationChecks as ConfigurationChecks,
        EntryChecker as EntryChecker,
        EntryOptions as EntryOptions,
        Job as Job,
        Model as Model,
        compile_all as compile_all,
        configurations_in_words as configurations_in_words,
    )
    from tuninglink.checking.model_matches import ModelMatch as ModelMatch
