"""Predictions of the gains of candidates over the compiler's choices, by models that were trained on measurements."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.predicting.candidate_features import features as features
    from tuninglink.predicting.model import (
        GainModel as GainModel,
        Provenance as Provenance,
        form_of as form_of,
        model_for as model_for,
        model_names as model_names,
    )
    from tuninglink.predicting.predictions import (
        climb as climb,
        predicted_forms as predicted_forms,
        predicted_spec as predicted_spec,
    )
    from tuninglink.predicting.task_predictions import TaskPredictions as TaskPredictions
    from tuninglink.predicting.training import (
        Fold as Fold,
        MeasuredGains as MeasuredGains,
        Selection as Selection,
        train as train,
    )
