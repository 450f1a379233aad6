"""Many writers: their combined rate relative to one writer, and the cost of planning a trial."""

import time
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from benchmarks import pairs
from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import EnvironmentMissing
from keybench.model.byteorder import sort_words
from keybench.model.table import Table
from keybench.pagemodels.ranking import ranked
from keybench.runners.planning.key_sources import key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import keys_in_order
from keybench.runners.servers import Target
from keybench.runners.trials.kinds import new_trial
from keybench.runners.trials.server_trial import Resources
from keybench.runners.writers.load import load_rows
from keybench.scenarios.files import load_scenario, parse_scenario
from keybench.scenarios.schema import Scenario

COUNTS = (1, 4, 8)
SHARE_TARGET = 5.0
DAY_ROWS, DAY_TARGET = 10_000_000, 0.2
DAY_LAYOUTS = ("efcore-sequential", "uuid-v7", "uuid-v4")
_SINGLE_ROWS = 20_000
_TEXT = "x" * pairs.PAYLOAD


def compare(rows: int, repetitions: int) -> Iterator[str]:
    """The lines of this part of the report."""
    on = engine("postgresql")
    yield from _day(repetitions)
    if reason := on.missing("local"):
        yield f"\nMany writers: no PostgreSQL here: {reason}"
        return
    provision = on.provision("local", on.settings("fast", "default"))
    target = Target(on, "local", provision.start())
    try:
        yield from _rates(target, rows, repetitions)
        yield from _share(target, rows, repetitions)
    finally:
        provision.stop()


def _planned(on: Engine, work: Scenario, layout: str, column: str, rows: int) -> tuple[Request, TrialPlan]:
    request = Request((on.name,), {on.name: "local"}, work, (layout,), (), rows, 1, "fast", 1, 3600.0)
    return request, TrialPlan(1, 0, on.name, layout, column, pairs.PAYLOAD, rows)


def _rates(target: Target, rows: int, repetitions: int) -> Iterator[str]:
    """COPY of 1,000 rows a transaction."""
    yield f"\nMany writers: {rows:,} rows by COPY, {pairs.ROWS_PER_TX:,} a transaction, profile fast, beside one writer"
    for layout in ("uuid-v7", "uuid-v4"):
        rates: dict[int, list[float]] = {count: [] for count in COUNTS}
        for _ in range(repetitions):
            for count in COUNTS:
                rates[count].append(rows / _load(target, layout, count, rows))
        alone = rates[COUNTS[0]]
        for count in COUNTS[1:]:
            ratios = sorted(many / one for many, one in zip(rates[count], alone, strict=True))
            yield (
                f"  {layout:<10} {count} writers {median(rates[count]) / 1000:7.1f} thousand rows/s   one "
                f"{median(alone) / 1000:7.1f}   ratio {median(ratios):.2f} (pairs {ratios[0]:.2f} … {ratios[-1]:.2f})"
            )


def _load(target: Target, layout: str, count: int, rows: int) -> float:
    """Seconds of the timed window."""
    request, trial = _planned(target.engine, load_scenario("quick").with_equal_writers(count), layout, "uuid", rows)
    table = trial.table(request.scenario)
    admin = target.engine.admin(target.address)
    admin.create(table)
    loaded = load_rows(
        target.address, table, key_sources(request, trial), rows_per_tx=pairs.ROWS_PER_TX,
        skew_rows=100 * pairs.ROWS_PER_TX, timeout=3600,
    )  # fmt: skip
    pairs.require_rows(admin, table, rows)
    admin.drop(table)
    admin.close()
    return loaded.seconds


def _share(target: Target, rows: int, repetitions: int) -> Iterator[str]:
    """Share of planning and keys in a trial of eight writers. Keys count twice: writers and verification make them."""
    yield f"\nMany writers: planning and key streams in a trial of {rows:,} rows, scenario autoscale"
    work = load_scenario("autoscale")
    work = work.model_copy(update={"load": work.load.model_copy(update={"rows_per_tx": 100, "skew_rows": 1000})})
    request, trial = _planned(target.engine, work, "efcore-sequential", "uuid", rows)
    shares = []
    for _ in range(max(1, repetitions // 2)):
        begin = time.perf_counter()
        sources = key_sources(request, trial)
        planned = time.perf_counter() - begin
        begin = time.perf_counter()
        for source in sources:
            source.stream().take(source.writer.rows)
        streams = time.perf_counter() - begin
        ended = new_trial(request, trial, Resources(lambda _: target)).run()
        if ended.error:
            raise EnvironmentMissing(f"the trial failed: {ended.error}")
        shares.append(100 * (planned + 2 * streams) / ended.seconds)
    yield f"  {median(shares):.2f} % of wall time   {pairs.met(median(shares), SHARE_TARGET, ' %')}"


def _day(repetitions: int) -> Iterator[str]:
    """A day of 16 processes, from the plan to the pages of a page model, relative to the model alone on those ranks."""
    yield f"\nA day of 16 processes, {DAY_ROWS:,} rows: plan, keys, ranks and page model, beside the page model alone"
    spells = [(i * 600, 40_000 + i * 500, 45_000 + i * 300, 86_400) for i in range(16)]
    listed = "".join(
        f'[[writer]]\nid = "process-{i}"\nrate = 9\nbusy = [[{a}, {b}], [{c}, {d}]]\n'
        for i, (a, b, c, d) in enumerate(spells)
    )
    head = f'title = "A day"\nrows = {DAY_ROWS}\nstart = 2026-01-01T00:00:00Z\n'
    work = parse_scenario("day", head + listed, where="the benchmark")
    for database in ("postgresql", "mariadb"):
        on = engine(database)
        for layout in DAY_LAYOUTS:
            request, trial = _planned(on, work, layout, "binary16-mssql", DAY_ROWS)
            table = trial.table(work)
            _through(on, replace(trial, rows=1_000_000), request, table)  # compiles kernels or loads them
            timings = [_through(on, trial, request, table) for _ in range(max(3, repetitions // 2))]
            ratio = median(model / whole for whole, model in timings)
            yield (
                f"  {on.title:<12} {layout:<18} {1e9 * median(w for w, _ in timings) / DAY_ROWS:7.1f} ns a row, the "
                f"model {1e9 * median(m for _, m in timings) / DAY_ROWS:7.1f}   {ratio:.2f} × its rate   "
                f"target ≥ {DAY_TARGET:g}: {'met' if ratio >= DAY_TARGET else 'NOT met'}"
            )


def _through(on: Engine, trial: TrialPlan, request: Request, table: Table) -> tuple[float, float]:
    """(seconds of processor time of everything, of the model alone); all of it runs in one thread."""
    model = on.page_model(table)
    begin = time.process_time()
    ranks = ranked(sort_words(keys_in_order(key_sources(request, trial)), table.column.order))
    between = time.process_time()
    model.insert(ranks)  # type: ignore[call-arg]
    end = time.process_time()
    return end - begin, end - between
