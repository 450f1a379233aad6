"""What updates of other columns do to the key's index.

On PostgreSQL an update that is not HOT adds an entry for the row's new version to every index. How many pages that
costs depends on when VACUUM and deletions before a split take older entries away, which no page model here follows. So
what is said was measured: the runs updates-single, updates-batches and order-lifecycle of docs/findings.md.
"""

from collections.abc import Mapping
from typing import Final

from keybench.advice.answer import Answer
from keybench.model.sizes import spelled

MEASURED: Final[Mapping[bool, tuple[float, float]]] = {True: (1.0, 1.8), False: (1.1, 1.3)}
"""By whether keys ascend: leaf pages with two updates a row over those without, least and most of the three runs."""
_DAY: Final = 86_400


def what_updates_do(answer: Answer) -> str:
    """What the updates that the user named do; empty without any."""
    needs = answer.needs
    if not needs.updates_per_row:
        return ""
    if not needs.on.updates_add_entries:
        return (
            f"Updates of other columns leave these keys where they are: {needs.on.title} changes rows in their place."
        )
    if needs.hot:
        return (
            "Updates leave the key's index as it is if the table's pages have room for new versions (HOT): `fillfactor "
            "= 95` is enough for one row a transaction, 50 where a transaction updates all rows of a page. If updates "
            "change an indexed column, say `--hot no`."
        )
    keys = "keys in order" if answer.best.properties.ascends else "random keys"
    least, most = MEASURED[answer.best.properties.ascends]
    after = [
        f"{_size(answer, days, least)} to {_size(answer, days, most)} {when}"
        for days, when in ((1, "after a day"), (30, "after a month"), (0, f"at {needs.rows:,} rows"))
        if days * _DAY * needs.rows_per_second < needs.rows
    ]
    readers = (
        f" A transaction that reads for long keeps old entries: up to {1 + needs.updates_per_row:g} for each row that "
        "is updated until it ends."
    )
    return (
        f"Each update adds an entry to every index. With two updates a row soon after it came, an index of {keys} had "
        f"{least} (one row a transaction) to {most} times its pages (batches): reckon with {', '.join(after)}."
        f"{readers if needs.readers else ''}"
    )


def _size(answer: Answer, days: int, times: float) -> str:
    """The best key's index after so many days (0: at the end), with its updates."""
    needs = answer.needs
    share = days * _DAY * needs.rows_per_second / needs.rows if days else 1.0
    return spelled(answer.ranking.best.forecast.index_bytes.value * share * times)
