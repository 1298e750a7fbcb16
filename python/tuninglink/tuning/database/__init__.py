"""The database of trials, each with all conditions that affect its result."""

from tuninglink.tuning.database.database import Database, open_database
from tuninglink.tuning.database.records import (
    ConfigurationRecord,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
    Winner,
)
from tuninglink.tuning.database.schema import DatabaseError

__all__ = [
    "ConfigurationRecord",
    "Database",
    "DatabaseError",
    "EnvironmentRecord",
    "ProblemRecord",
    "Trial",
    "Winner",
    "open_database",
]
