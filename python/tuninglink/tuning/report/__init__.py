"""Reports of tuning: what was tried, what won, and by how much."""

from tuninglink.tuning.report.model import (
    DispatchReport,
    ModelReport,
    Omission,
    Speedup,
    TrialPoint,
    TuningReport,
)
from tuninglink.tuning.report.writing import write_report

__all__ = [
    "DispatchReport",
    "ModelReport",
    "Omission",
    "Speedup",
    "TrialPoint",
    "TuningReport",
    "write_report",
]
