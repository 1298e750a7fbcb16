"""Predictions of the gains of candidates over the compiler's choices, by models that were trained on measurements."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.predicting.candidate_features import (
        features as features,
        prediction_features as prediction_features,
    )
    from tuninglink.predicting.model import (
        GainModel as GainModel,
        Gains as Gains,
        Provenance as Provenance,
        model_for as model_for,
        model_names as model_names,
    )
    from tuninglink.predicting.predictions import predicted_spec as predicted_spec
    from tuninglink.predicting.training import (
        Fold as Fold,
        MeasuredGains as MeasuredGains,
        Selection as Selection,
        train as train,
    )
