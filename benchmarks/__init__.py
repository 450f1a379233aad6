"""Speed of this harness beside native tools and physical limits: `python -m benchmarks` in a checkout, `make bench`."""
