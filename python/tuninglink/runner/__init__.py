"""Boards: machines that a command reaches, on which the runtime's tools run in batches. Knows nothing of tuning."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.runner.batch import (
        BoardFile as BoardFile,
        Call as Call,
        CallResult as CallResult,
    )
    from tuninglink.runner.board import (
        LEASE_SECONDS as LEASE_SECONDS,
        Board as Board,
        BoardAccess as BoardAccess,
        BoardError as BoardError,
        BoardState as BoardState,
    )
    from tuninglink.runner.connection import SharedConnection as SharedConnection
