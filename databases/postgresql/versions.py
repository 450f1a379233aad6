"""What PostgreSQL has since which version, as far as keybench cares. Versions are libpq's numbers: 18.4 is 180004.

Their indexes grow alike from 13 to 18 (docs/internals/versions.md), so the page model needs no version.
"""

from __future__ import annotations

OLDEST = 13
"""The oldest major version that keybench uses."""

SERVER_UUID_V4 = 130_000
"""gen_random_uuid() without an extension."""
QUIET_INITDB = 14
"""initdb's option --no-instructions."""
LOG_COUNTERS = 140_000
"""pg_stat_wal, which counts page images and syncs."""
IDLE_SESSION_TIMEOUT = 140_000
STATISTICS_ON_DEMAND = 150_000
"""pg_stat_force_next_flush()."""
CHECKPOINT_ROLE = 150_000
"""The role pg_checkpoint, whose members may make checkpoints."""
ICU_DATABASES = 150_000
"""Databases with a collation of ICU."""
PAGES_WRITTEN = 160_000
"""pg_stat_io, which tells pages written from pages added to a file."""
BYTES_WRITTEN = 180_000
"""pg_stat_io counts bytes: an operation can write several pages."""
SERVER_UUID_V7 = 180_000
"""uuidv7()."""
