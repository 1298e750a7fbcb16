"""The command's side of the connection to a worker process."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, Final

from tuninglink.workers.worker import LENGTH

if TYPE_CHECKING:
    import socket

_CHUNK: Final = 1 << 18
"""The number of bytes to read at once, at least the capacity of a pipe."""

_KEPT_OUTPUT: Final = 4096
"""The number of bytes of a worker's output that are kept."""


class Connection:
    """A connection that exchanges frames with a worker and reads its output meanwhile.

    Args:
        channel: the socket for frames.
        output: the reading end of the pipe for the worker's output.
        process: a descriptor of the process, as from `os.pidfd_open`.
    """

    def __init__(self, channel: socket.socket, output: int, process: int) -> None:
        self._channel = channel
        self._output = output
        self._process = process
        self._tail = b""
        channel.settimeout(0)
        os.set_blocking(output, False)
        self._poll = select.poll()
        self._poll.register(output, select.POLLIN)
        self._poll.register(process, select.POLLIN)

    def exchange(self, frame: bytes, seconds: float) -> bytes:
        """Send a frame and return the next one that arrives.

        Raises:
            EOFError: the process ended, or closed the channel.
            TimeoutError: the time limit expired.
        """
        self.read_output()
        self._tail = b""
        deadline = time.monotonic() + seconds
        try:
            self._send(frame, deadline)
            (length,) = LENGTH.unpack(self._receive(LENGTH.size, deadline))
            return self._receive(length, deadline)
        except ConnectionError:
            raise EOFError from None

    @property
    def last_output(self) -> str:
        """The end of the output since the last frame was sent, as far as it was read."""
        return self._tail.decode(errors="replace")

    def read_output(self) -> bool:
        """Read the output that the pipe holds. Return False if it is closed."""
        try:
            part = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return True
        self._tail = (self._tail + part)[-_KEPT_OUTPUT:]
        return bool(part)

    def _send(self, frame: bytes, deadline: float) -> None:
        rest = memoryview(LENGTH.pack(len(frame)) + frame)
        while rest:
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)

    def _receive(self, length: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < length:
            try:
                part = self._channel.recv(min(_CHUNK, length - len(data)))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _wait(self, event: int, deadline: float) -> None:
        """Wait until the channel is ready for an event."""
        self._poll.register(self._channel, event)
        while (rest := deadline - time.monotonic()) > 0.0:
            ready = [file for file, _ in self._poll.poll(rest * 1000)]
            if self._output in ready and not self.read_output():
                self._poll.unregister(self._output)  # a closed pipe is always ready
            if self._channel.fileno() in ready:
                return
            if self._process in ready:
                raise EOFError
        raise TimeoutError
