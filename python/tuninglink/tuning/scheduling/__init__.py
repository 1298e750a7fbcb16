"""Scheduling: what the tasks of a run share, the steps of one task, and the choice of the task that gets the next turn."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.tuning.scheduling.context import TuningContext as TuningContext
    from tuninglink.tuning.scheduling.default_queue import (
        DefaultQueue as DefaultQueue,
        estimated_work as estimated_work,
        potentials as potentials,
        task_cost as task_cost,
    )
    from tuninglink.tuning.scheduling.exploration import (
        Exploration as Exploration,
        Progress as Progress,
    )
    from tuninglink.tuning.scheduling.scheduler import Pace as Pace, Scheduler as Scheduler
    from tuninglink.tuning.scheduling.task_run import (
        compare_candidate as compare_candidate,
        tune_task as tune_task,
    )
