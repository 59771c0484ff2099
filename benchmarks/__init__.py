"""Speed, memory and quality, measured: `python -m benchmarks --help`."""
