"""Scheduling: budgets, exploration of candidates, and the use of a run's time: its stages, and the device use in each."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.scheduling.default_queue import (
        DefaultQueue as DefaultQueue,
        estimated_work as estimated_work,
        potentials as potentials,
        task_cost as task_cost,
    )
    from tuninglink.tuning.scheduling.exploration import (
        Alternating as Alternating,
        Exploration as Exploration,
        Overlapping as Overlapping,
        Progress as Progress,
        Schedule as Schedule,
    )
    from tuninglink.tuning.scheduling.scheduler import Pace as Pace, Scheduler as Scheduler
    from tuninglink.tuning.scheduling.task_run import tune_task as tune_task
    from tuninglink.tuning.scheduling.task_tuner import TaskTuner as TaskTuner
