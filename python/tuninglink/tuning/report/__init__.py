"""Reports of tuning: what was tried, what won, and by how much."""

from tuninglink.tuning.report.json_report import write_report
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
