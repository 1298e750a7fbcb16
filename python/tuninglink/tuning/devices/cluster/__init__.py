"""Tuning on many machines, with Dask's distributed scheduler; needs the extra `cluster`."""
