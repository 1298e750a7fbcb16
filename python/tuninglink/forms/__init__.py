"""Forms: other ways to compute an op."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.forms.attention_products import AttentionProducts as AttentionProducts
    from tuninglink.forms.depthwise import (
        Depthwise as Depthwise,
        ShiftedSum as ShiftedSum,
    )
    from tuninglink.forms.folded_batch import (
        BroadcastMatmul as BroadcastMatmul,
        FoldedBatch as FoldedBatch,
    )
    from tuninglink.forms.forms import (
        FormProblem as FormProblem,
        forms_of as forms_of,
        problem_of as problem_of,
        problems_in as problems_in,
        promising_forms as promising_forms,
    )
    from tuninglink.forms.intrinsics import attention_needs as attention_needs
    from tuninglink.forms.padded_attention import PaddedAttention as PaddedAttention
    from tuninglink.forms.padded_contraction import PaddedContraction as PaddedContraction
