"""Programs as tasks: dispatches, their benchmarks, and sizes for dynamic dimensions."""
