"""What all tests share."""

from __future__ import annotations

import signal

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start inherits that; tests that
# interrupt a program could not be run so.
signal.signal(signal.SIGINT, signal.default_int_handler)
