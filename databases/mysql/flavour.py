"""The differences between MySQL and MariaDB, and between their versions: columns, keys of the server, settings.

The facts about MySQL are from its manual (8.4) and source. MySQL 9.7, MariaDB 10.11 and MariaDB 11.8 have been run,
MySQL 8.0 and 8.4 have not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from keybench.errors import EnvironmentMissing, ServerError, UsageError
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import ServerKeys, Table

Way = Literal["arrays", "prepared"]
"""An INSERT of one row with arrays of values, or prepared INSERTs of many rows (`wire`)."""

_GUID: frozenset[Kind] = frozenset({"uuid"})
_ASCII = "CHARACTER SET ascii COLLATE ascii_bin"

COLUMNS = (
    Column("binary16", "binary(16)", _GUID, "rfc", native=True),
    Column("binary16-net", "binary(16)", _GUID, "net"),
    Column("binary16-swapped", "binary(16)", _GUID, "mysql-swap"),
    Column("binary16-mssql", "binary(16)", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", f"char(36) {_ASCII}", _GUID, "rfc", form="text", width=36),
    Column("varchar36", f"varchar(36) {_ASCII}", _GUID, "rfc", form="text", width=36),
    Column("char36-default", "char(36)", _GUID, "rfc", form="text", width=36),
    Column("binary", "binary({width})", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("char", f"char({{width}}) {_ASCII}", frozenset({"text"}), "rfc", form="text", native=True, width=0),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", form="int", native=True, width=8),
    Column("int", "int", frozenset({"int"}), "rfc", form="int", native=True, width=4),
)
"""`{width}` stands for the width of the layout's keys. A column without a character set has the server's."""

UUID = Column("uuid", "uuid", _GUID, "mariadb", native=True)
"""MariaDB's own type for GUIDs."""


# Versions, as numbers: 11.7.2 is 110702. The two flavours number theirs differently.

UUID_TYPE = 100_700
"""MariaDB's first version with the type `uuid`."""
OTHER_UUID_ORDER = ((100_700, 100_908), (101_000, 101_006), (101_100, 101_105), (110_000, 110_003))
"""(first, first repaired) version of each series of MariaDB whose `uuid` swaps the bytes of every GUID (MDEV-29959).
The others swap them except in GUIDs of versions 6 and above."""
UUID_FUNCTIONS = 110_700
"""MariaDB's first version with UUID_v4() and UUID_v7()."""

_BYTES = "UNHEX(REPLACE(UUID(), '-', ''))"
_BINARY, _TEXT = "server-uuid-v1-binary", "server-uuid-v1-text"
_AGAIN = "starts again every 7 minutes"
"""UUID() as bytes or text begins with the low 32 bits of its time. They ascend for 429.5 s (2³² × 100 ns) and start
again: in a shorter load that crosses no such moment they ascend, although over a month they do not."""

_V1, _V7, _OF_MYSQL = "mariadb-uuid-v1", "mariadb-uuid-v7", "mysql-uuid"
_IDENTITY = ServerKeys("server-identity", "AUTO_INCREMENT", "bigint", "rfc", "AUTO_INCREMENT", replica=CONTROL)

_MARIADB_KEYS = (
    _IDENTITY,
    # UUID() ascends in a `uuid` column alone, which compares the fields of version 1 from the last to the first.
    ServerKeys("server-uuid-v1", "UUID() in a uuid column", "uuid", "mariadb", "DEFAULT UUID()", UUID_TYPE, _V1),
    ServerKeys(_BINARY, f"UUID() as 16 bytes: {_AGAIN}", "binary16", "none", f"DEFAULT ({_BYTES})", replica=_V1),
    ServerKeys(_TEXT, f"UUID() as text: {_AGAIN}", "char36", "none", "DEFAULT (UUID())", replica=_V1),
    ServerKeys("server-uuid-v4", "UUID_v4()", "uuid", "none", "DEFAULT UUID_v4()", UUID_FUNCTIONS, RANDOM),
    ServerKeys("server-uuidv7", "UUID_v7()", "uuid", "mariadb", "DEFAULT UUID_v7()", UUID_FUNCTIONS, _V7),
)
_MYSQL_KEYS = (
    _IDENTITY,
    ServerKeys("server-uuid-v1-swapped", "UUID_TO_BIN(UUID(), 1): the time's high bits first", "binary16-swapped",
               "mysql-swap", "DEFAULT (UUID_TO_BIN(UUID(), 1))", replica=_OF_MYSQL),
    ServerKeys(_BINARY, f"UUID_TO_BIN(UUID()): {_AGAIN}", "binary16",
               "none", "DEFAULT (UUID_TO_BIN(UUID()))", replica=_OF_MYSQL),
    ServerKeys(_TEXT, f"UUID() as text: {_AGAIN}", "char36", "none", "DEFAULT (UUID())", replica=_OF_MYSQL),
)  # fmt: skip


@dataclass(frozen=True)
class Flavour:
    """MySQL or MariaDB: what differs between them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    server_keys: tuple[ServerKeys, ...]
    url_schemes: tuple[str, ...]
    versions: tuple[str, ...]
    """That people run, oldest first."""
    programs: tuple[str, ...]
    """Names of the server program."""
    install: str
    """The command that installs a server."""
    settings: Mapping[str, str]
    """Settings that the others do not have."""
    session: tuple[str, ...]
    """Statements at the start of each connection."""
    metric_enabled: str
    """Condition under which the counter of a row of INNODB_METRICS is running."""
    index_sql: str
    """Query for (index id, index name, table id) of the table `%s`, in InnoDB's spelling."""
    image: str
    """Docker's official image."""
    health: tuple[str, ...]
    """The command by which Docker checks, in the container, that root can log in over TCP."""
    way: Way
    """How rows are sent."""
    purges_on_demand: bool
    """Whether all builds have `innodb_max_purge_lag_wait` and `innodb_log_checkpoint_now`."""
    aliases: tuple[str, ...] = ()
    """Other names by which people call it."""


MARIADB = Flavour(
    name="mariadb",
    title="MariaDB",
    # `uuid` takes the place of binary16 as the native column of GUIDs.
    columns=(UUID, *(replace(column, native=column.native and column.kinds != _GUID) for column in COLUMNS)),
    server_keys=_MARIADB_KEYS,
    programs=("mariadbd", "mysqld"),
    url_schemes=("mariadb", "mysql"),
    versions=("10.6", "10.11", "11.4", "11.8"),
    install="apt-get install mariadb-server (Debian, Ubuntu) or dnf install mariadb-server (Fedora, RHEL)",
    settings={"innodb_log_file_size": "512M", "innodb_change_buffering": "none"},
    session=("SET in_predicate_conversion_threshold = 0",),  # a long IN list stays a list of keys, not a join
    metric_enabled="ENABLED = 1",
    index_sql=(
        "SELECT i.index_id, i.name, i.table_id FROM information_schema.innodb_sys_indexes i "
        "JOIN information_schema.innodb_sys_tables t USING (table_id) WHERE t.name = %s"
    ),
    image="mariadb:11.8",
    health=(
        "sh",
        "-c",
        'MYSQL_PWD="$MARIADB_ROOT_PASSWORD" exec mariadb --skip-ssl --host=127.0.0.1 --user=root --execute="SELECT 1"',
    ),
    way="arrays",
    purges_on_demand=True,
)

MYSQL = Flavour(
    name="mysql",
    title="MySQL",
    columns=COLUMNS,
    server_keys=_MYSQL_KEYS,
    programs=("mysqld",),
    url_schemes=("mysql",),
    aliases=("mysql8",),
    versions=("8.0", "8.4", "9.7"),
    install="see https://dev.mysql.com/downloads/mysql/ (Debian's mysqld is MariaDB's: --db mariadb), or run "
    "`sh scripts/mysql.sh` in a checkout on Debian",
    settings={
        "innodb_redo_log_capacity": "512M",
        "innodb_change_buffering": "none",
        "innodb_purge_rseg_truncate_frequency": "1",  # else the history shrinks only at every 128th round of purge
        "mysqlx": "OFF",
    },
    session=("SET information_schema_stats_expiry = 0",),
    metric_enabled="STATUS = 'enabled'",
    index_sql=(
        "SELECT i.index_id, i.name, i.table_id FROM information_schema.innodb_indexes i "
        "JOIN information_schema.innodb_tables t USING (table_id) WHERE t.name = %s"
    ),
    image="mysql:9.7",
    health=(
        "sh",
        "-c",
        'MYSQL_PWD="$MYSQL_ROOT_PASSWORD" exec mysql --host=127.0.0.1 --user=root --execute="SELECT 1"',
    ),
    way="prepared",
    purges_on_demand=False,
)


def flavour_named(name: str) -> Flavour:
    """The flavour whose engine has that name."""
    return {MARIADB.name: MARIADB, MYSQL.name: MYSQL}[name]


def flavour_of(version: str) -> Flavour:
    """The flavour of a server, by the version that it reports: MariaDB's contains its name."""
    return MARIADB if "mariadb" in version.lower() else MYSQL


class OtherFlavour(EnvironmentMissing):
    """The server is of the other flavour, `actual`."""

    actual: Flavour


def require(flavour: Flavour, version: str) -> None:
    """OtherFlavour if a server with that `version` is of the other flavour: its figures must not be stored under the
    wrong name. EnvironmentMissing if it is a TiDB, which only speaks MySQL's protocol."""
    if "tidb" in version.lower():
        raise EnvironmentMissing(
            f"this server is TiDB ({version}), not {flavour.title}, and keybench has no adapter of it: give the URL "
            f"of a {flavour.title}."
        )
    actual = flavour_of(version)
    if actual is not flavour:
        plain = version.removeprefix("5.5.5-")  # MariaDB's prefix for old clients of MySQL
        error = OtherFlavour(f"this server is {actual.title} ({plain}), not {flavour.title}: use --db {actual.name}.")
        error.actual = actual
        raise error


_NOT_IN_ALL = frozenset({"innodb_change_buffering"})
"""Settings that MariaDB no longer has from 11.0 on: with `--loose-` a server ignores what it does not know."""


def option(name: str, value: str) -> str:
    """A setting as an option of the server's command line, for every version."""
    return f"--{'loose-' if name in _NOT_IN_ALL else ''}{name.replace('_', '-')}={value}"


def version_number(version: str) -> int:
    """A version as one number: 10.11.6-MariaDB is 101106; 0 if the text does not begin with one."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if match is None:
        return 0
    major, minor, patch = map(int, match.groups("0"))
    return major * 10_000 + minor * 100 + patch


def shown(number: int) -> str:
    """A version for people: 110702 is 11.7.2, and 110700 is 11.7."""
    major, minor, patch = number // 10_000, number // 100 % 100, number % 100
    return f"{major}.{minor}.{patch}" if patch else f"{major}.{minor}"


def check_keys(flavour: Flavour, table: Table, version: str) -> None:
    """ServerError where a server of that version cannot make the table's keys; UsageError where no server could."""
    keys = table.server_keys
    if keys is None:
        return
    if keys.declaration == "AUTO_INCREMENT" and table.key != "clustered":
        raise UsageError(
            f"{flavour.title} makes {keys.name} keys only where the key is the table's primary key, because a table "
            'has only one AUTO_INCREMENT: choose a scenario whose table has key = "clustered".'
        )
    if version_number(version) < keys.min_version:
        raise ServerError(
            f"{keys.name} keys are made by {flavour.title} {shown(keys.min_version)} and newer, and this server is "
            f"{shown(version_number(version))}: choose a newer --server, or the client's layout of the same kind."
        )
