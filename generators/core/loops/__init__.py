"""Work on many keys at once: kernels compiled by numba, when they are loaded, and digests of many messages."""
