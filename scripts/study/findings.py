"""The findings: each is a function that takes its numbers from the bundles and writes them into its sentences.

`#log` in a text becomes the number of the finding `log`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.model.subject import MODEL
from keybench.results.analysis.ratios import Summary
from keybench.results.wording import listed, number
from scripts.study.finding import Bar, Finding, Picture, Published
from scripts.study.values import IN_ORDER, Case, MissingRun, Values

TITLES: Final = {
    "postgresql": "PostgreSQL",
    "mariadb": "MariaDB",
    "mysql": "MySQL",
    "sqlite": "SQLite",
    "mssql": "SQL Server (modelled)",
    "oracle": "Oracle (modelled)",
}
SERVERS: Final = tuple(TITLES)[:4]
GUID: Final = "uniqueidentifier"
V4, V7 = "uuid-v4", "uuid-v7"
PAGES, SECONDS = Metric.LEAF_PAGES, Metric.INSERT_SECONDS
EFCORE: Final = "efcore-sequential"
TWO_MILLION, OTHERS, MSSQL = "two-million", "two-million-others", "mssql-oracle"
"""Runs of two million rows."""

_MULTICA: Final = "https://github.com/multica-ai/multica/pull/7230"
_MEDPLUM: Final = "https://github.com/medplum/medplum/pull/5745"
_YAO: Final = "https://doi.org/10.1007/BF00289075"
_PERCONA: Final = "https://www.percona.com/blog/2019/11/22/uuids-are-popular-but-bad-for-performance-lets-discuss/"
_TODD: Final = "https://www.codeproject.com/Articles/388157"
_EFCORE: Final = "https://github.com/dotnet/efcore/issues/30753"
_FRAGMENTATION: Final = (
    "https://jebarson.dev/blog/benchmarking-index-fragmentation-with-popular-sequential-guid-algorithms/"
)


def name_of(layout: str) -> str:
    """A layout as the page names it."""
    return "bigint" if layout == CONTROL else layout


def span(value: Summary, places: int = 2) -> str:
    """A median with its interval, if it has one: `1.36 (1.35 to 1.38)`."""
    middle, low, high = (number(part, places) for part in (value.median, value.low, value.high))
    return middle if low == middle == high else f"{middle} ({low} to {high})"


def extent(values: Sequence[Summary]) -> str:
    """The least and the greatest median: `0.98 to 1.02`, or `1.00`."""
    least, most = (number(pick(one.median for one in values), 2) for pick in (min, max))
    return least if least == most else f"{least} to {most}"


def by_server(values: Mapping[str, Summary], places: int = 2) -> str:
    """`PostgreSQL 1.36 (1.35 to 1.38) and MySQL 1.41`."""
    return listed([f"{TITLES[name]} {span(value, places)}" for name, value in values.items()])


def without(values: Mapping[str, Summary], *names: str) -> Mapping[str, Summary]:
    """The same without these databases."""
    return {name: value for name, value in values.items() if name not in names}


def ratios(
    values: Values, run: str, of: str, to: str, metric: Metric, servers: Sequence[str] = SERVERS
) -> dict[str, Summary]:
    """By database: the ratio of two layouts."""
    return {name: values.ratio(Case(run, name, of), Case(run, name, to), metric) for name in servers}


def bar(values: Values, case: Case, metric: Metric = PAGES, more: str = "") -> Bar:
    """A bar of a picture; it knows whether it is modelled."""
    label = {"efcore-sequential": "efcore"}.get(case.layout, name_of(case.layout))
    return Bar(label, values.value(case, metric), values.is_modelled(case), more)


def groups(
    values: Values, run: str, layouts: Sequence[str], metric: Metric, servers: Sequence[str] = SERVERS, column: str = ""
) -> list[tuple[str, list[Bar]]]:
    """A picture's bars: the metric of each layout, by database."""
    return [(TITLES[name], [bar(values, Case(run, name, one, column), metric) for one in layouts]) for name in servers]


def over(
    values: Values, run: str, layouts: Sequence[str], to: str, metric: Metric, servers: Sequence[str] = SERVERS
) -> list[tuple[str, list[Bar]]]:
    """A picture's bars: the ratio of each layout to one, by database."""
    every = {one: ratios(values, run, one, to, metric, servers) for one in layouts}
    return [
        (
            TITLES[name],
            [Bar(name_of(one), every[one][name], values.is_modelled(Case(run, name, to))) for one in layouts],
        )
        for name in servers
    ]


def random_pages(values: Values) -> Finding:
    """What random keys cost in pages."""
    ratio = ratios(values, TWO_MILLION, V4, V7, PAGES)

    def full(name: str, layout: str) -> str:
        return number(values.value(Case(TWO_MILLION, name, layout), Metric.LEAF_DENSITY).median, 0)

    return Finding(
        name="random-pages",
        sentence=f"Random UUIDs need {span(ratio['postgresql'])} times as many index pages as UUIDv7 on PostgreSQL: a "
        "random key splits a full page into two half-full ones.",
        elsewhere=f"Elsewhere: {by_server(without(ratio, 'postgresql'))}. On MariaDB and MySQL these are the pages of "
        f"the whole table. Pages are {full('postgresql', V4)} % full with random UUIDs and {full('postgresql', V7)} % "
        f"with UUIDv7 on PostgreSQL, {full('mariadb', V4)} % and {full('mariadb', V7)} % on MariaDB.",
        holds="one writer inserts two million rows, 1,000 a transaction. Each row has a key and 100 characters of "
        "text; UUIDs are in `uuid` on PostgreSQL and MariaDB and in `binary(16)` on the others. Rows come in the "
        "order in which their keys were made, one a millisecond. Nothing is updated or deleted.",
        fails="SQLite spreads the rows of a full page over its neighbours, so that both kinds fill pages alike. A "
        "rebuild (`REINDEX`, `OPTIMIZE TABLE`) makes both equal until more rows come.",
        runs=[TWO_MILLION],
        picture=Picture(
            "Random UUIDs need more pages", "leaf pages, two million rows",
            groups(values, TWO_MILLION, (V4, V7, CONTROL), PAGES), own_scales=True,
        ),
        published=[Published("agrees", "Pages of random keys are about 69 % full.", _YAO)],
    )  # fmt: skip


def random_time(values: Values) -> Finding:
    """What random keys cost in time, in memory."""
    ratio = ratios(values, TWO_MILLION, V4, V7, SECONDS)
    return Finding(
        name="random-time",
        sentence="Although the index fits into the server's page cache, inserting random UUIDs takes "
        f"{span(ratio['postgresql'])} times as long as UUIDv7 on PostgreSQL.",
        elsewhere=f"Elsewhere: {by_server(without(ratio, 'postgresql'))}. SQLite writes each changed page to its log "
        "(finding #log).",
        holds="as in finding #random-pages; each commit is flushed to the disk; a page cache of 1 GB (SQLite 256 MB).",
        fails="the ratio is of this machine and of batches of 1,000 rows. With one row a transaction, commits vary "
        "too much to show it (finding #not-to-care).",
        runs=[TWO_MILLION],
        picture=Picture(
            "Random UUIDs take longer", "insert time, times that of bigint; two million rows in memory",
            over(values, TWO_MILLION, (V4, V7), CONTROL, SECONDS), places=2,
        ),
        published=[
            Published("agrees", "PostgreSQL inserts sequential GUIDs nearly twice as fast as random ones.", _TODD)
        ],
    )  # fmt: skip


def beyond_memory(values: Values) -> Finding:
    """What random keys cost where the index outgrows the cache."""
    run, names = "beyond-memory", ("mariadb", "postgresql")
    time = ratios(values, run, V4, V7, SECONDS, names)
    reads = {(name, one): values.per_row(Case(run, name, one), Metric.PAGES_READ) for name in names for one in (V4, V7)}
    model = {name: values.per_row(Case(run, name, V4), Metric.PAGES_READ, MODEL) for name in names}

    def millions(name: str) -> str:
        return f"{number(values.rows(Case(run, name, V4)) / 1e6, 1)} million"

    said = [
        f"{TITLES[name]} {span(reads[name, V4])} (its page model {span(model[name])}) and {span(reads[name, V7])}"
        for name in names
    ]
    return Finding(
        name="beyond-memory",
        sentence="Random UUIDs cost most where the index outgrows the server's page cache: at eight times its size, "
        f"inserts take {span(time['mariadb'])} times as long as with UUIDv7 on MariaDB and {span(time['postgresql'])} "
        "times on PostgreSQL.",
        elsewhere=f"Pages that are read for each row, with random UUIDs and with UUIDv7: {listed(said)}.",
        holds="the table is loaded until an index of 16-byte keys is eight times the page cache of 64 MB: "
        f"{millions('postgresql')} rows on PostgreSQL, {millions('mariadb')} on MariaDB, whose index is the table. "
        "1,000 rows a transaction, ten keys a millisecond (finding #milliseconds); one repetition.",
        fails="the times are of this machine's disk. PostgreSQL reads from the operating system's cache here, "
        "MariaDB from the disk (O_DIRECT). MySQL and SQLite were not measured.",
        runs=[run],
        picture=Picture("An index eight times the cache", "insert time, times that of bigint",
                        over(values, run, (V4, V7), CONTROL, SECONDS, names), places=2),
        published=[
            Published("agrees", "Inserts of random UUIDs collapse as the table outgrows the buffer pool.", _PERCONA),
        ],
    )  # fmt: skip


def log(values: Values) -> Finding:
    """What random keys cost in log."""
    ratio = ratios(values, TWO_MILLION, V4, V7, Metric.LOG_BYTES)
    return Finding(
        name="log",
        sentence=f"Random UUIDs write {span(ratio['mariadb'])} times as much log as UUIDv7 on MariaDB, and "
        f"{span(ratio['sqlite'], 0)} times on SQLite, whose log gets every page that a transaction changes.",
        elsewhere=f"Elsewhere: {by_server(without(ratio, 'mariadb', 'sqlite'))}; on PostgreSQL without a checkpoint.",
        holds="as in finding #random-pages: the log for recovery (WAL, redo log); the binary log is not counted. No "
        "checkpoint came on PostgreSQL (max_wal_size 4 GB).",
        fails="with checkpoints PostgreSQL's ratio is larger: it logs a whole page at its first change after each "
        "one. With fewer rows a transaction SQLite's is smaller.",
        runs=[TWO_MILLION],
        picture=Picture(
            "Random UUIDs write more log", "log, times that of bigint; two million rows",
            over(values, TWO_MILLION, (V4, V7), CONTROL, Metric.LOG_BYTES), places=2, own_scales=True,
        ),
    )  # fmt: skip


def wide_keys(values: Values) -> Finding:
    """What UUIDv7 costs against bigint."""
    pages = ratios(values, TWO_MILLION, V7, CONTROL, PAGES)
    time = ratios(values, TWO_MILLION, V7, CONTROL, SECONDS)
    return Finding(
        name="bigint",
        sentence="At one key a millisecond, UUIDv7 costs in pages its 16 bytes and no more: "
        f"{span(pages['postgresql'])} times the index pages of bigint on PostgreSQL, where an entry takes 28 bytes "
        f"instead of 20, and {span(pages['mariadb'])} times the table pages on MariaDB.",
        elsewhere=f"Pages elsewhere: {by_server(without(pages, 'postgresql', 'mariadb'))}. Time: {by_server(time)}.",
        holds="as in finding #random-pages. MariaDB and MySQL keep whole rows on these pages: narrower ones make it "
        "larger.",
        fails="each foreign key holds the key once more, and so does each secondary index of a clustered table "
        "(MariaDB, MySQL, SQL Server). SQLite's integer key has no index beside the table; any other key has one.",
        runs=[TWO_MILLION],
        picture=Picture(
            "UUIDv7 against bigint", "leaf pages of UUIDv7, times those of bigint",
            over(values, TWO_MILLION, (V7,), CONTROL, PAGES), places=2,
        ),
        published=[
            Published("is too noisy to tell", "On PostgreSQL sequential GUIDs take 7.8 % longer than integers.", _TODD)
        ],
    )  # fmt: skip


def column(values: Values) -> Finding:
    """A key is good or bad in a column."""
    run = OTHERS

    def against_random(layout: str, name: str, order: str = "") -> str:
        return span(values.ratio(Case(run, name, layout, order), Case(run, name, V4, order), PAGES))

    time = {
        name: values.ratio(Case(run, name, EFCORE), Case(run, name, EFCORE, IN_ORDER), SECONDS)
        for name in ("postgresql", "mysql", "sqlite")
    }
    other_way = [
        f"{TITLES[name]} {against_random(EFCORE, name, IN_ORDER)} and {against_random(V7, name, IN_ORDER)}"
        for name in SERVERS[1:3]
    ]
    modelled = values.ratio(Case(MSSQL, "mssql", V7, GUID), Case(MSSQL, "mssql", V4, GUID), PAGES)
    bars = [_others(values, name, (V4, V7, EFCORE), one) for name in ("postgresql", "mysql") for one in ("", IN_ORDER)]
    return Finding(
        name="column",
        sentence="Sequential keys need a column that sorts them: EF Core's sequential GUIDs need "
        f"{against_random(EFCORE, 'postgresql')} times the pages of random UUIDs in PostgreSQL's `uuid`, and "
        f"{against_random(EFCORE, 'postgresql', IN_ORDER)} times where their bytes are stored in SQL Server's order.",
        elsewhere=f"UUIDv7 is the reverse: {against_random(V7, 'postgresql')} and "
        f"{against_random(V7, 'postgresql', IN_ORDER)}. In SQL Server's order elsewhere, EF Core's and UUIDv7: "
        f"{listed(other_way)}. EF Core's keys take this many times as long in the order of the text as in SQL "
        f"Server's: {by_server(time)}.",
        holds="two million rows, one writer, one repetition. SQL Server's `uniqueidentifier`, for which EF Core's "
        "are made, sorts by the last six bytes first, where UUIDv7 is random. We stored the 16 bytes to sort as "
        "there, on PostgreSQL in `bytea`, whose entries are wider than those of `uuid`. SQL Server's page model says "
        f"the same of UUIDv7: {span(modelled)}.",
        fails="in `binary(16)` UUIDv7 ascends on SQL Server too, if its bytes are stored in the order of its text "
        "(.NET's `ToByteArray` has another).",
        runs=[run, MSSQL],
        picture=Picture("The same keys, other columns", "leaf pages, two million rows", bars, own_scales=True),
        published=[Published("agrees", "GUIDs of another order fragment like random ones.", _FRAGMENTATION)],
    )


def _others(values: Values, name: str, layouts: Sequence[str], column: str = "") -> tuple[str, list[Bar]]:
    """A picture's bars: the pages of one database's layouts, with the order of the column."""
    order = "SQL Server's order" if column == IN_ORDER else "order of the text"
    return f"{TITLES[name]}, {order}", groups(values, OTHERS, layouts, PAGES, (name,), column)[0][1]


def generators(values: Values) -> Finding:
    """Which generator makes keys in order does not matter."""
    for_mssql = (EFCORE, "morris", "newsequentialid", "rt-comb-sql")
    places = [*((OTHERS, name, IN_ORDER) for name in SERVERS), (MSSQL, "mssql", GUID)]
    spread = [
        values.ratio(Case(run, name, one, order), Case(run, name, EFCORE, order), PAGES)
        for run, name, order in places
        for one in for_mssql
    ]
    others = [
        values.ratio(Case(OTHERS, name, one), Case(OTHERS, name, V7), PAGES)
        for name in SERVERS
        for one in ("ulid", "hotguid")
    ]
    bars = [
        *(_others(values, name, (V4, *for_mssql), IN_ORDER) for name in SERVERS[:2]),
        *(_others(values, name, (V4, V7, "ulid", "hotguid")) for name in SERVERS[:2]),
    ]
    return Finding(
        name="generators",
        sentence="While one process makes one key a millisecond, generators of keys in order need equally many "
        f"pages: in SQL Server's order, NEWSEQUENTIALID, RT.Comb and Morris' keys need {extent(spread)} times as many "
        "as EF Core's, on PostgreSQL, MariaDB, MySQL and SQLite.",
        elsewhere=f"In the order of the text, ULID and HotGuid need {extent(others)} times as many as UUIDv7.",
        holds="two million rows, each kind in a column that sorts it, one repetition. SQL Server's page model says "
        "the same of those four.",
        fails="with more keys a millisecond (finding #milliseconds) or several processes (findings #lag and "
        "#lag-mssql).",
        runs=[OTHERS, MSSQL],
        picture=Picture("Generators of keys in order", "leaf pages, two million rows", bars, own_scales=True),
    )


def milliseconds(values: Values) -> Finding:
    """What keys of one millisecond cost."""
    fast, names = "beyond-memory", ("mariadb", "postgresql")
    ten = ratios(values, fast, V7, CONTROL, PAGES, names)
    one = ratios(values, TWO_MILLION, V7, CONTROL, PAGES, names)
    v4 = values.ratio(Case(TWO_MILLION, "mariadb", V4), Case(TWO_MILLION, "mariadb", CONTROL), PAGES)
    runs, density = {TWO_MILLION: "one", fast: "ten"}, Metric.LEAF_DENSITY
    bars = [
        (f"{TITLES[name]}, {rate} a millisecond", groups(values, run, (V7, CONTROL), density, (name,))[0][1])
        for name in names
        for run, rate in runs.items()
    ]
    return Finding(
        name="milliseconds",
        sentence=f"Ten UUIDv7 a millisecond lose their advantage on MariaDB: they need {span(ten['mariadb'])} times "
        f"the pages of bigint, one a millisecond {span(one['mariadb'])} times.",
        elsewhere=f"Random UUIDs need {span(v4)} times. PostgreSQL needs {span(ten['postgresql'])} and "
        f"{span(one['postgresql'])} times: it keeps 90 % on the left of any split of the last page.",
        holds="a UUIDv7 of a millisecond and random bits; one writer; 3.7 million rows at ten a millisecond, two "
        "million at one. Keys of the same millisecond are in no order, and InnoDB splits the last page in half where "
        "a key is not the highest. Time and reads stay small (finding #beyond-memory), since all keys go to the end.",
        fails="where UUIDv7 has a counter or finer time behind the millisecond (RFC 9562, section 6.2), as "
        "`uuidv7()` of PostgreSQL 18 has.",
        runs=[fast, TWO_MILLION],
        picture=Picture("Several UUIDv7 in a millisecond", "% of a leaf page that is full", bars),
    )


LAG: Final = "azure-lag"
_LAGGING: Final = (EFCORE, "newsequentialid", "morris", "rt-comb-sql", "hotguid", "morris-corrected")


def lag(values: Values) -> Finding:
    """Whether it matters that processes fall behind."""

    def against_combs(run: str, *servers: str) -> Mapping[str, Summary]:
        pairs = {name: [Case(run, name, one, IN_ORDER) for one in (EFCORE, "rt-comb-sql")] for name in servers}
        return {name: values.ratio(*pair, PAGES) for name, pair in pairs.items()}

    each = against_combs(LAG, *SERVERS)
    restarted, day = against_combs("rolling-restart", *SERVERS[:3]), against_combs("scale-in-out", *SERVERS[:2])
    late = Case(LAG, "postgresql", EFCORE, IN_ORDER)
    behind, deep = (values.value(late, metric) for metric in (Metric.LAG_SECONDS_P50, Metric.DEEP_INSERTS))
    combs = Case(LAG, "postgresql", "rt-comb-sql", IN_ORDER)
    hotguid = values.ratio(Case(LAG, "postgresql", "hotguid", IN_ORDER), combs, PAGES)
    bars = groups(values, LAG, _LAGGING, PAGES, column=IN_ORDER)
    return Finding(
        name="lag",
        sentence="Late processes cost pages on PostgreSQL: EF Core's keys of four processes need "
        f"{span(each['postgresql'])} times the pages of RT.Comb's. Elsewhere they need no more, unless two processes "
        "start in the same instant.",
        elsewhere=f"{by_server(without(each, 'postgresql'))}. InnoDB splits a page at the new row where rows follow "
        "one another: late keys fill pages of their own, while keys that overtake each other at the end halve the "
        f"last page. Four instances, each restarted twice: {by_server(restarted)}. A day on which instances come and "
        f"go, two of them started in the same instant, so that their keys interleave: {by_server(day)}. With a second "
        "between those two MariaDB's pages are full, by its page model.",
        holds="one process works for two hours. Two that start within a minute of it work in the second hour, and a "
        "fourth starts then. EF Core's generator reads the clock at its start and then counts keys, so that "
        f"{number(deep.median, 0)} % of its keys go far behind the end, half of the late ones "
        f"{number(behind.median / 60, 0)} minutes or more. 180,000 rows, one a transaction; the 16 bytes sort as in "
        "SQL Server.",
        fails="one process alone does not fall behind. HotGuid's keys do not ascend in SQL Server's order, and need "
        f"{span(hotguid)} times the pages of RT.Comb's on PostgreSQL. NEWSEQUENTIALID used one server.",
        runs=[LAG, "rolling-restart", "scale-in-out"],
        picture=Picture("Four processes, three of them late", "leaf pages, 180,000 rows", bars, own_scales=True),
        published=[Published("agrees", "Where several processes run, keys are not inserted in order.", _EFCORE)],
    )


def retention(values: Values) -> Finding:
    """What deletions leave."""
    run = "retention"
    ratio = ratios(values, run, V4, V7, PAGES)
    return Finding(
        name="retention",
        sentence="Where whole days are deleted, UUIDv7 stays small: after a window of 90 days has moved on by 160 "
        f"days, random UUIDs hold {span(ratio['postgresql'])} times its pages on PostgreSQL.",
        elsewhere=f"Elsewhere: {by_server(without(ratio, 'postgresql'))}.",
        holds="a million rows in all. 90 days of rows are loaded; then, 16 times, 10 days come, the oldest 10 are "
        "deleted, and the index is cleaned (VACUUM, purge).",
        fails="PostgreSQL reuses a page only once it is empty. Where deletions leave some rows of each day, pages of "
        "UUIDv7 stay nearly empty there.",
        runs=[run],
        picture=Picture("A window of 90 days that moves on", "leaf pages at the end",
                        groups(values, run, (V4, V7, CONTROL), PAGES), own_scales=True),
    )  # fmt: skip


def switch(values: Values) -> Finding:
    """What a switch to UUIDv7 saves in an index that random keys filled."""
    run, unbuilt = "switch-then-rebuild", "switch-from-v4"
    ratio, later = (ratios(values, one, V7, V4, PAGES) for one in (run, unbuilt))
    return Finding(
        name="switch",
        sentence="A switch to UUIDv7 can make an index larger: 200,000 UUIDv7 after a rebuild of 200,000 random "
        f"UUIDs leave {span(ratio['postgresql'])} times the pages that 200,000 more random UUIDs leave, on PostgreSQL.",
        elsewhere=f"Elsewhere UUIDv7 leaves fewer: {by_server(without(ratio, 'postgresql'))} times. Without a "
        f"rebuild, a million after two million random UUIDs: {by_server(later)} times.",
        holds="the index is rebuilt before the switch, and then doubles. By the page model, the ratio is 1.09 when "
        "it has grown by a twentieth, 0.68 by a fifth and 0.95 by a half. Today's UUIDv7 begin with 01, so they land "
        "between random ones, where PostgreSQL splits a page in half, and the halves are not filled again.",
        fails="after another `REINDEX`, or once the random rows are deleted.",
        runs=[run, unbuilt],
        picture=Picture("Random keys, a rebuild, then UUIDv7", "leaf pages at the end",
                        groups(values, run, (V4, V7), PAGES), own_scales=True),
        published=[
            Published("agrees", "500,000 UUIDv7 after as many UUIDv4 make it 21 % larger (no rebuild).", _MULTICA),
            Published("disagrees", "On PostgreSQL, new UUIDv7 in a table of UUIDv4 are not any worse.", _MEDPLUM),
        ],
    )  # fmt: skip


def modelled(values: Values) -> Finding:
    """SQL Server and Oracle."""
    run, raw = "mssql-oracle", "raw16"
    sequential = values.ratio(Case(run, "mssql", V4, GUID), Case(run, "mssql", "efcore-sequential", GUID), PAGES)
    oracle = values.ratio(Case(run, "oracle", V4, raw), Case(run, "oracle", V7, raw), PAGES)
    bars = [
        *groups(values, run, (V4, "efcore-sequential"), PAGES, ("mssql",), GUID),
        *groups(values, run, (V4, V7), PAGES, ("oracle",), raw),
    ]
    return Finding(
        name="modelled",
        sentence=f"By their page models, random UUIDs need {span(sequential)} times the pages of EF Core's sequential "
        f"GUIDs on SQL Server, and {span(oracle)} times those of UUIDv7 on Oracle.",
        holds="as in finding #random-pages, in `uniqueidentifier` as the clustered key, and in an index on `raw(16)`.",
        fails="no SQL Server and no Oracle has run this: page models computed it, by the rules that files of real "
        "SQL Servers show and that Oracle documents.",
        runs=[run],
        picture=Picture("SQL Server and Oracle, by page model", "leaf pages, two million rows", bars, own_scales=True),
    )


def lag_on_mssql(values: Values) -> Finding:
    """Lag by SQL Server's page model."""
    run = "mssql-oracle-lag"
    names = (V4, "efcore-sequential", "newsequentialid", "rt-comb-sql", "hotguid-sql")
    ratio = values.ratio(Case(run, "mssql", "efcore-sequential", GUID), Case(run, "mssql", "rt-comb-sql", GUID), PAGES)
    combs = Case(run, "mssql", "rt-comb-sql", GUID)
    hotguid = values.ratio(Case(run, "mssql", "hotguid-sql", GUID), combs, PAGES)
    late, early = (Case(run, "oracle", one, IN_ORDER) for one in ("efcore-sequential", "rt-comb-sql"))
    oracle = values.ratio(late, early, PAGES)
    bars = groups(values, run, names, PAGES, ("mssql",), GUID)
    return Finding(
        name="lag-mssql",
        sentence=f"On SQL Server the same late keys cost no pages, by its page model: EF Core's need {span(ratio)} "
        "times the pages of RT.Comb's.",
        elsewhere=f"HotGuid's form for SQL Server, whose keys overtake each other at the end, needs {span(hotguid)} "
        "times those of RT.Comb's.",
        holds="as in finding #lag, in `uniqueidentifier`. When a late key meets a full page, SQL Server splits that "
        "page at the new key, not in the middle, as files of real servers show. The next late keys fill the new page.",
        fails="no SQL Server has run this. Splits still write log. On Oracle, in the same order of bytes, EF Core's "
        f"keys need {span(oracle)} times the pages of RT.Comb's, by its page model.",
        runs=[run],
        picture=Picture("Late processes on SQL Server", "leaf pages, 180,000 rows", bars),
    )


def edge(values: Values) -> Finding:
    """What many writers on one page cost."""
    run, names = "one-edge", ("postgresql", "mariadb", "mysql")
    pages = {
        name: values.ratio(Case(run, name, CONTROL, writers=8), Case(run, name, CONTROL, writers=1), PAGES)
        for name in names
    }
    time = {
        (name, writers): values.ratio(
            Case(run, name, V7, writers=writers), Case(run, name, V4, writers=writers), SECONDS
        )
        for name in names
        for writers in (8, 32)
    }

    def small(name: str) -> str:
        return number(values.value(Case(run, name, CONTROL, writers=1), PAGES).median, 0)

    ends = [part for one in time.values() for part in (one.low, one.high)]
    bars = [
        (TITLES[name], [bar(values, Case(run, name, one, writers=count), more=f", {count}")
                        for one in (CONTROL, V7) for count in (1, 8, 32)])
        for name in names
    ]  # fmt: skip
    return Finding(
        name="edge",
        sentence=f"In a table of 6,400 rows, eight writers at once give a counter {span(pages['postgresql'])} times "
        "the pages that it has with one writer, on PostgreSQL.",
        elsewhere=f"Elsewhere: {by_server(without(pages, 'postgresql'))}.",
        holds=f"6,400 rows, one a transaction, at full speed: with one writer an index of {small('postgresql')} pages "
        f"on PostgreSQL and of {small('mariadb')} on MariaDB. Writers overtake each other on their way to the last "
        "page.",
        fails="larger tables were not measured. Whether writers wait for the last page is not decided: UUIDv7 took "
        f"from {number(min(ends), 2)} to {number(max(ends), 2)} times the time of random UUIDs (all intervals "
        "together), on two processors.",
        runs=[run],
        picture=Picture(
            "Many writers at the end of an index",
            "leaf pages; the number behind a name is that of writers",
            bars,
            own_scales=True,
        ),
    )


def not_to_care(values: Values) -> Finding:
    """When the key does not matter."""
    run, names = "one-edge", ("postgresql", "mariadb", "mysql")

    def ratio(name: str, of: str, to: str) -> Summary:
        return values.ratio(Case(run, name, of, writers=1), Case(run, name, to, writers=1), SECONDS)

    time = {name: ratio(name, V4, V7) for name in names}
    bars = [(TITLES[name], [Bar(one, ratio(name, one, CONTROL)) for one in (V4, V7)]) for name in names]
    return Finding(
        name="not-to-care",
        sentence="When not to care about time: with one row a transaction, 6,400 rows take "
        f"{span(time['postgresql'])} times as long with random UUIDs as with UUIDv7 on PostgreSQL. Commits vary too "
        "much to show what the keys cost.",
        elsewhere=f"Elsewhere: {by_server(without(time, 'postgresql'))}.",
        holds="one writer, each commit flushed to the disk, which takes most of the time.",
        fails="six repetitions cannot exclude the ends of these intervals. The key matters where rows come in "
        "batches (finding #random-time) and where the index outgrows the page cache (finding #beyond-memory).",
        runs=[run],
        picture=Picture("When not to care", "insert time, times that of bigint; one row a transaction", bars, places=2),
    )


def updates(values: Values) -> Finding:
    """What updates do to UUIDv7."""
    runs = {"updates-single": "one row a transaction", "updates-batches": "1,000 rows a transaction"}
    orders, postgresql = "order-lifecycle", "postgresql"
    one, many = (values.ratio(Case(run, postgresql, V7), Case(run, postgresql, V4), PAGES) for run in runs)
    ratio = ratios(values, orders, V7, V4, PAGES)
    bars = [
        (f"PostgreSQL, {when}", groups(values, run, (V4, V7, CONTROL), PAGES, (postgresql,))[0][1])
        for run, when in {**runs, orders: "100 a transaction, and rows are deleted"}.items()
    ]
    return Finding(
        name="updates",
        sentence=f"On PostgreSQL, updates in batches cancel UUIDv7's smaller index: it has {span(many)} times the "
        f"pages of random UUIDs where a transaction updates 1,000 rows, and {span(one)} times where each updates one.",
        elsewhere=f"In a workload with deletions, 100 rows a transaction: {by_server(ratio)}. MariaDB, MySQL and "
        "SQLite change a row in its place and leave its key alone.",
        holds="a column with an index changes twice in each row, soon after the row came, so that each update adds "
        "an entry to the key's index (it is not HOT). VACUUM runs after each tenth of the rows. Where each update "
        "commits alone, PostgreSQL 14 and later remove old entries before a page splits.",
        fails="if no index has the updated column and the table's pages have room, updates are HOT and leave the "
        "key's index alone. In a test with 20,000 rows every update was HOT at fillfactor 95 (one a transaction) or "
        "50 (1,000).",
        runs=[*runs, orders],
        picture=Picture("Each row is updated twice", "leaf pages of the key's index at the end", bars, own_scales=True),
    )


FINDINGS: Final[Sequence[Callable[[Values], Finding]]] = (
    random_pages,
    random_time,
    beyond_memory,
    log,
    wide_keys,
    column,
    generators,
    milliseconds,
    lag,
    lag_on_mssql,
    updates,
    retention,
    switch,
    modelled,
    edge,
    not_to_care,
)
"""In the order of the page."""


def findings(values: Values) -> list[Finding]:
    """All findings for which the machine has made the runs."""
    known = list(_findings(values))
    numbers = {f"#{one.name}": f"{place}" for place, one in enumerate(known, 1)}

    def numbered(text: str) -> str:
        return re.sub(r"#[a-z-]+", lambda name: numbers.get(name[0], "–"), text)

    return [
        replace(one, elsewhere=numbered(one.elsewhere), holds=numbered(one.holds), fails=numbered(one.fails))
        for one in known
    ]


def _findings(values: Values) -> Iterator[Finding]:
    for finding in FINDINGS:
        try:
            yield finding(values)
        except MissingRun:
            continue
