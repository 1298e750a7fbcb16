"""Devices: the processes that hold them, and measurement in these processes."""
