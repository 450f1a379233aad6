"""The settings of private servers, in one table, and those on which the page model depends.

All others have the server's defaults. `innodb_fill_factor` is not among the latter: only indexes that are built in bulk
use it.
"""

from collections.abc import Mapping

import psutil

from keybench.databases.contract.roles import Settings
from keybench.databases.contract.settings import CHECKPOINT, CacheSize, Profile, Setting, checkpoint, size_of, spelled
from keybench.databases.mysql.flavour import Flavour
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import MERGE_THRESHOLD, PAGE_BYTES, PAGE_SIZES

_MB = 1 << 20

CACHE_MB: dict[CacheSize, int] = {"default": 1024, "small": 64}
"""innodb_buffer_pool_size; never more than a quarter of the machine's memory, as for the other engines."""

COMMON = {
    "character_set_server": "utf8mb4",
    "innodb_autoinc_lock_mode": "2",
    "innodb_buffer_pool_load_at_startup": "OFF",
    "innodb_file_per_table": "ON",
    "innodb_flush_method": "O_DIRECT",
    "innodb_log_buffer_size": "16M",
    "innodb_page_size": "16K",
    "innodb_stats_auto_recalc": "OFF",
    "max_allowed_packet": "1G",
    "max_connections": "100",
    "performance_schema": "OFF",
    "transaction_isolation": "REPEATABLE-READ",
}
"""Statistics are not recalculated in the background, so nothing scans the table while it is loaded. Auto-increment is
interleaved, so that writers of a table with an integer primary key do not wait for one another. A server that starts
again has an empty buffer pool."""

PROFILES: dict[Profile, dict[str, str]] = {
    "durable": {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON"},
    "fast": {"innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "OFF"},
}

RECORDED = (
    *COMMON, *PROFILES["durable"], "collation_server", "innodb_buffer_pool_size", "innodb_change_buffering",
    "innodb_default_row_format", "innodb_fill_factor", "innodb_log_file_size", "innodb_purge_rseg_truncate_frequency",
    "innodb_redo_log_capacity", "log_bin", "sql_mode", "tx_isolation",
)  # fmt: skip
"""The settings that `Admin.settings` reports, where the server has them."""


def for_profile(flavour: Flavour, profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine."""
    quarter = psutil.virtual_memory().total // 4 // _MB
    megabytes = max(16, min(CACHE_MB[cache], quarter))
    values = {**COMMON, **flavour.settings, **PROFILES[profile], "innodb_buffer_pool_size": f"{megabytes}M"}
    return Settings(profile, megabytes * _MB, dict(sorted(values.items())))


SETTABLE = (
    Setting("page_size", "innodb_page_size", spelled(PAGE_BYTES), "server", tuple(map(spelled, PAGE_SIZES))),
    Setting("merge_threshold", "per cent of a page below which a deletion may merge it (MERGE_THRESHOLD)",
            str(MERGE_THRESHOLD), "table", numbers=range(1, MERGE_THRESHOLD + 1)),
    checkpoint("innodb_log_file_size, innodb_redo_log_capacity", "512M", 8),
)  # fmt: skip

CHARACTER_BYTES = "character_bytes"
"""Most bytes of a character in the database's character set, which columns that name none have."""

_MODELLED = {
    "innodb_file_per_table": (("ON",), "the pages of all tables share one file then"),
    "innodb_compression_default": (("OFF",), "tables are then compressed"),
    "innodb_segment_reserve_factor": (("12.500000", "12.5"), "it decides where new pages lie"),
    "innodb_limit_optimistic_insert_debug": (("0",), "it limits the records of a page"),
}
"""Server settings with the values that the page model knows, and why it does not know others."""
_BULK = ("unique_checks", "foreign_key_checks")  # settings that let MariaDB insert in bulk if both are OFF
_BUFFERED = {"inserts", "changes", "all"}  # values of innodb_change_buffering by which insertions are buffered

READ = ("innodb_page_size", "innodb_change_buffering", *_BULK, *_MODELLED)
"""Server settings on which pages depend; a server has some of them."""

_LOG_CAPACITY = "innodb_log_file_size", "innodb_redo_log_capacity"
"""MariaDB has the first; MySQL has both, of which the second decides."""


def configured(settings: Settings, chosen: Mapping[str, str]) -> dict[str, str]:
    """The values of a private server with the settings that the user chose."""
    values = dict(settings.values)
    if "page_size" in chosen:
        values["innodb_page_size"] = chosen["page_size"]
    if CHECKPOINT in chosen:
        values |= {name: chosen[CHECKPOINT] for name in _LOG_CAPACITY if name in values}
    return values


def page_settings(variables: Mapping[str, str], character_bytes: int) -> dict[str, str]:
    """What `Admin.page_settings` returns, from the server's variables and the most bytes of a character."""
    others = {name: variables[name] for name in READ if name in variables}
    page_bytes = int(others.pop("innodb_page_size"))  # it is returned under keybench's name, not the server's
    capacities = [int(variables[name]) for name in _LOG_CAPACITY if int(variables.get(name, "0"))]
    log = {CHECKPOINT: f"{capacities[-1] >> 20}M"} if capacities else {}  # the last one decides
    return {"page_size": spelled(page_bytes), CHARACTER_BYTES: str(character_bytes), **log, **others}


def is_multibyte(table: Table) -> bool:
    """Whether characters can take several bytes in a column that names no character set; True where nobody knows."""
    return table.settings.get(CHARACTER_BYTES) != "1"


def model_parameters(table: Table) -> dict[str, int | bool]:
    """The page model's parameters for a table, by its settings; UsageError for settings that the model does not know.
    A setting that the server lacks counts as one that the model knows."""
    settings = table.settings
    for name, (known, why) in _MODELLED.items():
        if settings.get(name, known[0]) not in known:
            raise UsageError(
                f"the page model of InnoDB knows {name} = {known[0]} only, and this server has {settings[name]}: {why}."
            )
    if all(settings.get(name, "ON") == "OFF" for name in _BULK):
        raise UsageError(
            f"the page model of InnoDB knows no bulk insertion, which this server does with {_BULK[0]} = OFF and "
            f"{_BULK[1]} = OFF: set one of them to ON."
        )
    if table.key == "fk" and settings.get("innodb_change_buffering", "none") in _BUFFERED:
        raise UsageError(
            "the page model of InnoDB does not know when entries of a foreign key's index leave the change buffer: "
            f"this server has innodb_change_buffering = {settings['innodb_change_buffering']}."
        )
    parameters: dict[str, int | bool] = {"multibyte": is_multibyte(table)}
    if "page_size" in settings:
        parameters["page_bytes"] = size_of(settings["page_size"])
    if "merge_threshold" in settings:
        parameters["merge_threshold"] = int(settings["merge_threshold"])
    return parameters
