"""A pool of isolated worker processes, which have a time limit per job and end with the command."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.workers.pool import (
        Pool as Pool,
        finished as finished,
        processor_count as processor_count,
    )
    from tuninglink.workers.worker import (
        JobError as JobError,
        JobTimeoutError as JobTimeoutError,
        WorkerCrashedError as WorkerCrashedError,
        do_nothing as do_nothing,
    )
