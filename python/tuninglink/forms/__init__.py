"""Forms: other ways to compute an op, and the entries of preprocessing specs that put them in its place."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.forms.attention import (
        Attention as Attention,
        spellings as spellings,
    )
    from tuninglink.forms.contraction import (
        Contraction as Contraction,
        PaddedContraction as PaddedContraction,
    )
    from tuninglink.forms.entries import (
        Form as Form,
        comparison as comparison,
        entry as entry,
        spec as spec,
    )
    from tuninglink.forms.forms import forms_of as forms_of
    from tuninglink.forms.intrinsics import attention_needs as attention_needs
    from tuninglink.forms.padded_attention import PaddedAttention as PaddedAttention
    from tuninglink.forms.problem import NoFormError as NoFormError
