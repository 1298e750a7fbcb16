"""Reports of tuning: what was tried, what won, and by how much."""

from tuninglink.tuning.report.model import (
    FlagSetReport,
    FunctionReport,
    ModelReport,
    OmittedDispatch,
    OutputReport,
    ProblemReport,
    SizeReport,
    Speedup,
    StageReport,
    TrialPoint,
    TuningReport,
)
from tuninglink.tuning.report.writing import write_report

__all__ = [
    "FlagSetReport",
    "FunctionReport",
    "ModelReport",
    "OmittedDispatch",
    "OutputReport",
    "ProblemReport",
    "SizeReport",
    "Speedup",
    "StageReport",
    "TrialPoint",
    "TuningReport",
    "write_report",
]
