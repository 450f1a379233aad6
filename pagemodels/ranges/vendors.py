"""The vendors' rules, as data. A size is bytes of keys and payloads; what systems add to a row, or compress, is not
counted.

Google publishes no numbers for Spanner, so it has no rule here: its documentation says that splits follow size and
load.
"""

from __future__ import annotations

from math import inf
from typing import Final

from keybench.errors import unknown_name
from keybench.pagemodels.ranges.rule import ByLoad, SplitRule

_MIB: Final = 1024.0**2
_GIB: Final = 1024.0**3

SCALED: Final = SplitRule(
    "scaled",
    "a table of 32 to 64 ranges, whatever its size",
    sizes=(),
    share_of_table=1 / 32,
    source="keybench: no vendor's rule. Each range holds at most 1/32 of the finished table.",
)
"""The rule of the key's own readings: a small load shows what happens to a large table."""

RULES: Final = (
    SCALED,
    SplitRule(
        "cockroachdb",
        "CockroachDB: 512 MiB, or 2,500 inserts a second",
        sizes=((inf, 512 * _MIB),),
        by_load=ByLoad(2_500),
        source="cockroachlabs.com/docs: range_max_bytes; kv.range_split.load_qps_threshold in "
        "pkg/kv/kvserver/replica_split_load.go. Newer versions count processor time by default (load_cpu_threshold), "
        "which keys do not tell.",
    ),
    SplitRule(
        "tidb",
        "TiDB 8.4 and later: 384 MiB, of which 256 MiB stay",
        sizes=((inf, 384 * _MIB),),
        left_bytes=256 * _MIB,
        source="docs.pingcap.com: region-split-size 256 MiB since 8.4, region-max-size half as much again. Load Base "
        "Split counts reads alone.",
    ),
    SplitRule(
        "tidb-8.3",
        "TiDB up to 8.3: 144 MiB, of which 96 MiB stay",
        sizes=((inf, 144 * _MIB),),
        left_bytes=96 * _MIB,
        source="docs.pingcap.com: region-split-size 96 MiB, region-max-size 144 MiB.",
    ),
    SplitRule(
        "yugabytedb",
        "YugabyteDB, range sharding, three nodes: 128 MiB, from 3 tablets on 10 GiB",
        sizes=((2, 128 * _MIB), (71, 10 * _GIB), (inf, 100 * _GIB)),
        source="docs.yugabyte.com, yb-master: tablet_split_low_phase_shard_count_per_node 1 and …size_threshold_bytes "
        "128 MiB, high phase 24 and 10 GiB, tablet_force_split_threshold_bytes 100 GiB.",
    ),
    SplitRule(
        "ydb",
        "YDB: 2 GiB",
        sizes=((inf, 2 * _GIB),),
        source="ydb.tech/docs: AUTO_PARTITIONING_PARTITION_SIZE_MB 2,000 and force_shard_split_data_size 2 GiB. "
        "Partitioning by load is off by default, and counts processor time.",
    ),
)


def rule(name: str) -> SplitRule:
    """The rule of that name. Raises UsageError with close matches if there is none."""
    for one in RULES:
        if one.name == name:
            return one
    raise unknown_name("rule of ranges", name, [one.name for one in RULES])
