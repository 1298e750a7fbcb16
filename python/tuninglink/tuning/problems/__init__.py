"""Kinds of problems that are given without a program, as words or as lines of other tools."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.problems.lines import (
        read_problem_file as read_problem_file,
        read_problems as read_problems,
    )
    from tuninglink.tuning.problems.problem import (
        OPERATIONS as OPERATIONS,
        SCALED_BLOCK as SCALED_BLOCK,
        Attention as Attention,
        Convolution as Convolution,
        ElementType as ElementType,
        Gradient as Gradient,
        Layout as Layout,
        Mask as Mask,
        MatrixOperation as MatrixOperation,
        MatrixProblem as MatrixProblem,
        Pooling as Pooling,
        PoolingOperation as PoolingOperation,
        Problem as Problem,
        ProblemError as ProblemError,
        Product as Product,
        ScaledType as ScaledType,
        read_words as read_words,
    )
    from tuninglink.tuning.problems.programs import (
        function_name as function_name,
        program_of as program_of,
    )
