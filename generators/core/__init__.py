"""What the layouts share: clocks, entropy, processes, the fields of keys, compiled kernels."""
