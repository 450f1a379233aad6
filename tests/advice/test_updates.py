"""What `advise` says of updates."""

import pytest

from keybench.advice.answer import answer
from keybench.advice.needs import USUAL, needs
from keybench.advice.screen import screen
from keybench.errors import UsageError


def why(**given: object) -> str:
    asked = {**USUAL, "db": "postgresql", "rows": "40000", "made_by": "client", "type": "uuid", **given}
    return screen(answer(needs(asked))).why


def test_who_names_no_updates_reads_nothing_of_them() -> None:
    assert "pdate" not in why()


def test_hot_updates_need_room_in_the_table() -> None:
    assert why(updates_per_row=2.0).endswith(
        "Updates leave the key's index as it is if the table's pages have room for new versions (HOT): `fillfactor = "
        "95` is enough for one row a transaction, 50 where a transaction updates all rows of a page. If updates change "
        "an indexed column, say `--hot no`."
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rows_per_second": 0.1},
         "keys in order had 1.0 (one row a transaction) to 1.8 times its pages (batches): reckon with 268 KB to "
         "482 KB after a day, 1.21 MB to 2.18 MB at 40,000 rows."),
        ({"hides_time": True},
         "random keys had 1.1 (one row a transaction) to 1.3 times its pages (batches): reckon with 4.79 KB to "
         "5.67 KB after a day, 144 KB to 170 KB after a month, 1.71 MB to 2.02 MB at 40,000 rows."),
    ],
)  # fmt: skip
def test_each_other_update_adds_an_entry(given: dict[str, object], says: str) -> None:
    text = why(updates_per_row=2.0, hot="no", **given)
    assert text.endswith(
        f"Each update adds an entry to every index. With two updates a row soon after it came, an index of {says}"
    )
    assert why(updates_per_row=2.0, hot="no", readers=True, **given) == (
        f"{text} A transaction that reads for long keeps old entries: up to 3 for each row that is updated until it "
        "ends."
    )


@pytest.mark.parametrize("db", ["mariadb", "sqlite", "mssql"])
def test_other_databases_change_rows_in_their_place(db: str) -> None:
    assert "Updates of other columns leave these keys where they are: " in why(db=db, updates_per_row=2.0, hot="no")


def test_what_updates_cannot_be() -> None:
    with pytest.raises(UsageError, match=r"^unknown --hot 'perhaps'\. Known: no, yes\.$"):
        why(hot="perhaps")
    with pytest.raises(UsageError, match=r"^--updates-per-row is -1\.0: give a number from 0 to 1,000,000\.$"):
        why(updates_per_row=-1.0)
