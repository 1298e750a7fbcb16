"""Candidates of tasks, and the problems that they solve, as plain data.

The modules of this package create candidates from search spaces and given configurations, and compile them.
"""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.candidates.candidate_spaces import (
        MOST_ACCUMULATORS as MOST_ACCUMULATORS,
        Candidate as Candidate,
        CandidateOrigin as CandidateOrigin,
        CandidateSpaces as CandidateSpaces,
        Draw as Draw,
        SearchProblem as SearchProblem,
        accumulators_per_thread as accumulators_per_thread,
        distance as distance,
        draw_evenly as draw_evenly,
        element_bytes as element_bytes,
        logarithm as logarithm,
        operand_bytes as operand_bytes,
        rewriting_candidate as rewriting_candidate,
        side_of as side_of,
    )
    from tuninglink.tuning.candidates.compilation import (
        PTX_FLAG as PTX_FLAG,
        BenchmarkTemplate as BenchmarkTemplate,
        CandidateCompiler as CandidateCompiler,
        Compiled as Compiled,
        Outcome as Outcome,
        apply_candidate as apply_candidate,
        apply_specs as apply_specs,
        compile_program as compile_program,
        configure as configure,
        known_fault as known_fault,
        prepare_worker as prepare_worker,
    )
    from tuninglink.tuning.candidates.preparation import (
        DrawingProcesses as DrawingProcesses,
        NotTunableError as NotTunableError,
        PreparedTask as PreparedTask,
        TunableTask as TunableTask,
        prepare as prepare,
        tunable_parts as tunable_parts,
    )
