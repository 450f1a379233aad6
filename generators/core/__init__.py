"""What the layouts share: keys, clocks, entropy, processes, bits, compiled loops."""
