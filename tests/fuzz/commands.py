"""Command lines: every command, with options and arguments that it does not expect."""

from collections.abc import Mapping
from random import Random

from tests.fuzz.harness import Case
from tests.fuzz.nasty import NOT_FINITE, NUMBERS, TEXTS, changed_bytes, value
from tests.fuzz.samples import RESULTS, Samples
from tests.fuzz.toml import written

_RUN = ("--db", "--layout", "--scenario", "--server", "--column", "--rows", "--writers", "--executor", "--blocks")
_RUN += ("--profile", "--seed", "--image", "--memory", "--cpus", "--results", "--resume")
_RUN += ("--trial-timeout", "--accept-eula", "--debug", "--no-config")
_VERIFY = ("--server", "--file", "--output", "--image", "--memory", "--cpus", "--trial-timeout", "--results")
_ADVISE = ("--db", "--rows", "--rows-per-second", "--payload", "--writers", "--behind", "--restarts-per-day", "--ram")
_ADVISE += ("--checkpoint", "--retention", "--secondary", "--children", "--existing", "--type", "--made-by", "--layout")
_ADVISE += ("--sortable", "--unguessable", "--hides-time", "--hides-machine", "--merge", "--spread")
_ADVISE += ("--format", "--output", "--json")
_INSPECT = ("--table", "--seconds", "--json")
_FORM = "keybench.toml"
_FLAGS = frozenset(
    {"--debug", "--no-config", "--all", "--series", "--yes", "--json"}
    | {"--small", "--verify", "--claims", "--bundle", "--with-texts"}
    | {"--sortable", "--unguessable", "--hides-time", "--hides-machine", "--merge", "--spread"}
)
_GOOD = {
    "--db": ("sqlite", "all", "postgresql,sqlite", "mssql"),
    "--layout": ("uuid-v4", "all", "rt-comb-sql,ulid", "server-identity"),
    "--scenario": ("quick", "azure-lag", "generation", "beyond-cache", "two-million"),
    "--server": ("model", "auto", "embedded", "sqlite=model", "container"),
    "--column": ("binary16", "native", "uuid,char36"),
    "--rows": ("10", "1000"),
    "--writers": ("2", "64"),
    "--results": (RESULTS,),
    "--on": ("mssql", "rfc", "mariadb"),
    "--as": ("uuid-v7", "ulid", "rt-comb-sql", "bigint-identity"),
    "--stored": ("net", "mssql", "rfc", "mysql-swap"),
    "--format": ("json", "csv", "markdown", "text"),
    "--metric": ("all", "insert_seconds", "leaf_pages"),
}
_READERS = {
    "report": ("--results",),
    "site": ("--results", "--small", "--verify"),
    "export": ("--results", "--format", "--series", "--bundle", "--with-texts", "--yes", "--json"),
    "compare": ("--results", "--metric", "--claims", "--all", "--json"),
    "check": ("--results", "--baseline", "--limit", "--summary", "--json"),
}
_LAYOUTS = ("uuid-v7", "uuid-v4", "rt-comb-sql", "ulid", "hotguid", "bigint-identity", "sonyflake", "nanoid", "uuid-v1")
_KEYS = (
    "d01c25cc-63a7-47cc-b5ba-018e5f3bff48",
    "CC251CD0A763CC47B5BA018E5F3BFF48",
    "42",
    "-1",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
)
_KEYS += (
    "{d01c25cc-63a7-47cc-b5ba-018e5f3bff48}",
    "0x" + "f" * 32,
    "urn:uuid:" + "0" * 32,
    "9" * 19,
    "f" * 32,
    "-" * 20,
)


def options(rng: Random, samples: Samples) -> Case:
    """A command line with wrong options or arguments."""
    environment = {"COLUMNS": rng.choice(("0", "1", "2", "40", "-1", "99999999", "x"))} if rng.random() < 0.2 else {}
    kind = rng.random()
    if kind < 0.35:
        arguments = ["run", "--dry-run", *_options(rng, _RUN)]
        if rng.random() < 0.3:
            names = ("DB", "ROWS", "SERVER", "MEMORY", "SEED", "KEEP_SERVER", "LAYOUT", "TRIAL_TIMEOUT")
            name = rng.choice((*names, "POSTGRESQL_BIN", "MARIADB_BIN"))
            environment[f"KEYBENCH_{name}"] = _text(rng).replace("\0", "")
    elif kind < 0.7:
        arguments = _generators(rng)
    elif kind < 0.75:
        arguments = [
            "list",
            rng.choice(("databases", "sql")),
            *rng.choices(("sqlite", "mssql", "new_comb", *TEXTS), k=2),
        ]
    elif kind < 0.95:
        command = rng.choice([*_READERS, "export", "compare", "check"])
        run = rng.choice(("latest", "latest:layout=uuid-v4", "zzz", *TEXTS))
        arguments = [command, run, *_options(rng, _READERS[command])]
        if command in {"report", "site"}:
            arguments[1] = rng.choice(("zzz", *TEXTS))
        if rng.random() < 0.5:
            arguments += ["--results", RESULTS]
    elif kind < 0.96:
        arguments = ["verify", rng.choice(("sqlite", "mssql", "", *TEXTS)), "--dry-run", *_options(rng, _VERIFY)]
    elif kind < 0.975:
        arguments = ["clean", "--dry-run", *_options(rng, ("--server", "--yes"))]
    else:
        arguments = [rng.choice(("run", "list", "generators", "databases", "help", *TEXTS)), *rng.choices(TEXTS, k=1)]
        arguments += ["--help"] if rng.random() < 0.5 else ["--dry-run"]
    return Case(tuple(arguments), {RESULTS: samples.whole}, environment)


_GOOD_ADVICE = {
    "--db": ("sqlite", "sqlite:3", "postgresql:99", "mssql:2022:1", "all"),
    "--rows": ("1000", "1e3", "2_000", "1e11", "1e12", "999"),
    "--existing": ("uuid-v4:1000", "ulid:1000:blob", "uuid-v4:1000:char36", "uuid-v4:9:9:9", "bigint-identity:1k:uuid"),
    "--type": ("uuid", "integer", "text", "any"),
    "--made-by": ("client", "server", "any"),
    "--ram": ("1MB", "64GB", "0", "1e9"),
    "--format": ("json", "html", "md", "text"),
    "--output": ("out.html", "none/out.html"),
}


def advice(rng: Random, samples: Samples) -> Case:
    """`advise` and `inspect` with wrong options, forms and files."""
    if rng.random() < 0.3:
        file = rng.choice((samples.whole, changed_bytes(rng, samples.whole[:20_000]), b"", b"SQLite format 3\0"))
        target = rng.choice(("app.sqlite", "app.sqlite", "sqlite:///app.sqlite", "none.sqlite", *TEXTS))
        return Case(("inspect", target, *_options(rng, _INSPECT)), {"app.sqlite": file})
    table = {name: value(rng) for name in rng.sample(("db", "rows", "writers", "sortable", "made-by", "xyz"), 2)}
    form = written({"advise": {**table, "db": "sqlite", "rows": "1000"} if rng.random() < 0.3 else table})
    needed = [part for part in (("--db", "sqlite"), ("--rows", "1000")) if rng.random() < 0.9]
    arguments = ["advise", *_options(rng, _ADVISE, _GOOD_ADVICE), *(word for part in needed for word in part)]
    return Case(tuple(arguments), {_FORM: form, RESULTS: samples.whole})


def _options(rng: Random, known: tuple[str, ...], values: Mapping[str, tuple[str, ...]] = _GOOD) -> list[str]:
    chosen = []
    for name in rng.sample(known, min(len(known), rng.choice((1, 1, 2, 3)))):
        if name in _FLAGS:
            chosen.append(name)
        else:
            good = name in values and rng.random() < 0.5
            chosen += [name, rng.choice(values[name]) if good else _text(rng)]
    return chosen


def _generators(rng: Random) -> list[str]:
    command = rng.choice(("list", "show", "make", "decode", "decode"))
    if command == "list":
        return ["list", "layouts", *_options(rng, ("--on",))]
    layout = rng.choice(_LAYOUTS) if rng.random() < 0.6 else _text(rng)
    if command == "show":
        return ["list", "layouts", layout]
    if command == "make":
        return ["list", "make", layout, "-n", rng.choice(("1", "5", "100", "0", "x", "-1"))]
    key = rng.choice(_KEYS) if rng.random() < 0.4 else _text(rng)
    if rng.random() < 0.3:
        at = rng.randrange(len(key) + 1)
        key = key[:at] + rng.choice(("", "g", "٣", "\udcff", " ", "-", "0")) + key[at + 1 :]
    return ["list", "decode", *_options(rng, ("--as", "--stored")), "--", key]


def _text(rng: Random) -> str:
    if rng.random() < 0.3:
        number = rng.choice((*NUMBERS, *NOT_FINITE))
        return "1" + "0" * 400 if isinstance(number, int) and number > 10**300 else str(number)
    return rng.choice(TEXTS) if rng.random() < 0.9 else rng.choice(TEXTS) * rng.choice((2, 1000, 20_000))
