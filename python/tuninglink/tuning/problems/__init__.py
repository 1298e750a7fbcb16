"""Kinds of problems that are given without a program, as words or as lines of other tools."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.problems.problem import (
        SCALED_BLOCK as SCALED_BLOCK,
        Attention as Attention,
        Convolution as Convolution,
        ElementType as ElementType,
        Elementwise as Elementwise,
        Gradient as Gradient,
        Layout as Layout,
        Mask as Mask,
        MatrixOperation as MatrixOperation,
        MoveOperation as MoveOperation,
        Norm as Norm,
        Normalization as Normalization,
        Pooling as Pooling,
        PoolingOperation as PoolingOperation,
        Problem as Problem,
        ProblemError as ProblemError,
        Product as Product,
        RowMove as RowMove,
        RowOperation as RowOperation,
        Rows as Rows,
        ScaledProduct as ScaledProduct,
        ScaledType as ScaledType,
        TopK as TopK,
    )
    from tuninglink.tuning.problems.programs import (
        convolution_parts as convolution_parts,
        function_name as function_name,
        program_of as program_of,
    )
    from tuninglink.tuning.problems.words import (
        OPERATIONS as OPERATIONS,
        read_problem_file as read_problem_file,
        read_problems as read_problems,
        read_words as read_words,
    )
