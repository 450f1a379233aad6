"""What becomes of a table that has keys already, in a few sentences."""

from keybench.advice.answer import Answer
from keybench.advice.figure import Figure
from keybench.advice.how_to.existing import Option
from keybench.advice.needs import coming
from keybench.advice.ranking import ALIKE
from keybench.model.sizes import spelled

_ONE_SPLIT = 0.05
"""Splits for 1,000 rows from which on they count."""


def keeps_column(answer: Answer) -> bool:
    """Whether new keys come into today's column, beside the old ones."""
    today = answer.existing
    return today is not None and "switch" in answer.ways and today.candidate.column == answer.best.column


def pays_at_once(answer: Answer) -> bool:
    """Whether new keys among old ones take no more bytes a row than the keys of today, before any rebuild."""
    return _bytes_a_row(answer, answer.ways["switch"]) <= _bytes_a_row(answer, answer.ways["stay"])


def _bytes_a_row(answer: Answer, one: Option) -> float:
    """Bytes that each row to come adds to the index and the log and that are read for it, by one way to go."""
    side = answer.existing if one.name == "stay" and answer.existing else answer.ranking.best
    reads = side.forecast.reads.value if side.forecast.reads else 0.0
    grown = (one.leaf_pages.value - one.before.value) / coming(answer.needs.rows, answer.needs.existing)
    return answer.ranking.best.forecast.bytes_a_leaf * (grown + reads) + (one.log_bytes.value if one.log_bytes else 0.0)


def gain(answer: Answer) -> str:
    """What the recommended keys do for a table that has others: one sentence. Only for an answer with options."""
    ways, rows = answer.ways, coming(answer.needs.rows, answer.needs.existing)
    if not keeps_column(answer):
        return _moved(answer, rows)
    stay, switch = ways["stay"], ways["switch"]
    if not pays_at_once(answer):
        later = ways["switch-rebuild-later"]
        until = _worse(answer, switch, stay)
        why = "because new keys stand between old ones and split full pages in half"
        return (
            f"Rebuilt after the next {rows:,} rows, {answer.place} takes {_size(answer, later)} and old pages stay "
            f"full, where today's keys keep it at {_size(answer, stay)}{until and f'; until then {until}, {why}'}."
        )
    parts = _work(answer, switch.log_bytes, stay.log_bytes)
    if switch.splits.value * ALIKE < stay.splits.value:
        parts.append(f"splits {switch.splits.value:.1f} pages for 1,000 rows instead of {stay.splits.value:.1f}")
    if parts:
        return f"Over the next {rows:,} rows each insert then {' and '.join(parts)}{_smaller(answer, switch, stay)}."
    return f"{answer.place.capitalize()} ends at {_size(answer, switch)} instead of {_size(answer, stay)}."


def why_keys_end(answer: Answer) -> str:
    """That the keys of today end before the table does; empty if they don't."""
    if not answer.ends or answer.needs.existing is None:
        return ""
    keys, why = f"Today's `{answer.needs.existing.layout}` keys", answer.ends.rstrip(".")
    return f"{keys} end before the table does: {why}. There are no figures for keeping them."


def cost(answer: Answer) -> str:
    """What new keys among old ones cost, and what helps: a sentence or two; empty if they cost nothing."""
    if not keeps_column(answer):
        return ""
    ways = answer.ways
    stay, switch = ways["stay"], ways["switch"]
    parts = []
    # what new keys among old ones cost
    if pays_at_once(answer):
        if switch.splits.value > ALIKE * stay.splits.value and switch.splits.value >= _ONE_SPLIT:
            parts.append(f"{switch.splits.value:.1f} pages are split for 1,000 rows instead of {stay.splits.value:.1f}")
        if switch.leaf_pages.value > ALIKE * stay.leaf_pages.value:
            parts.append(f"{answer.place} ends at {_size(answer, switch)} instead of {_size(answer, stay)}")
        text = (
            f"But new keys stand between old ones and split full pages in half: {' and '.join(parts)}." if parts else ""
        )
    else:
        text = "These figures are bytes: inserts that go to few pages at a time can save time, too, so measure it."
    # what a rebuild changes, and new keys for old rows
    rebuilds = [one for name, one in ways.items() if "rebuild" in name]
    rebuilt = min(rebuilds, key=lambda one: one.leaf_pages.value, default=None)
    if pays_at_once(answer) and rebuilt and rebuilt.leaf_pages.value * ALIKE < switch.leaf_pages.value:
        when = "afterwards" if rebuilt.name.endswith("later") else "first"
        text += f" Rebuild {answer.place} {when}, and it ends at {_size(answer, rebuilt)}."
    if "convert" in ways:
        text += _converted(answer, ways["convert"], rebuilt or switch, switch)
    return text.strip()


def _converted(answer: Answer, convert: Option, rebuilt: Option, switch: Option) -> str:
    """A sentence, behind a space, that says what new keys for old rows would gain over the rebuilt index."""
    parts = []
    if convert.splits.value < _ONE_SPLIT <= switch.splits.value:
        parts.append("end the splits")
    if convert.leaf_pages.value * ALIKE < rebuilt.leaf_pages.value:
        parts.append(f"bring {answer.place} to {_size(answer, convert)}")
    if not parts:
        return " New keys for old rows would gain nothing more."
    return (
        f" New keys for old rows, too, would {' and '.join(parts)}; but everything that refers to them has to change."
    )


def _moved(answer: Answer, rows: int) -> str:
    """The index's size after `rows` more rows by each way to go, where the recommended keys need another column."""
    assert answer.existing
    ways, old, best = answer.ways, answer.existing.candidate, answer.best
    parts = [f"{_size(answer, ways['stay'])} if nothing changes"]
    if "retype" in ways:
        new = f" and `{best.name}` for new rows" if best.name != old.name else ""
        parts.append(f"{_size(answer, ways['retype'])} with the old keys stored as {best.type_name}{new}")
    else:
        parts.append(f"{_size(answer, ways['convert'])} with new keys for all rows")
    if "switch" in ways:
        parts.append(f"{_size(answer, ways['switch'])} with `{best.name}` for new rows in today's {old.type_name}")
    last = ways.get("retype") or ways["convert"]
    work = _work(answer, last.log_bytes, ways["stay"].log_bytes)
    then = f"; in the second case each insert {' and '.join(work)}" if work else ""
    listed = f"{', '.join(parts[:-1])}, and {parts[-1]}"
    return f"After {rows:,} more rows {answer.place} takes {listed}{then}."


def _work(answer: Answer, ours: Figure | None, theirs: Figure | None) -> list[str]:
    """Clauses on what an insert writes to the log (`ours`) and reads, where that is less than with today's keys."""
    best, old = answer.ranking.best.forecast, answer.existing.forecast if answer.existing else None
    parts = []
    if ours and theirs and ours.value * ALIKE < theirs.value:
        parts.append(f"writes {ours.value:,.0f} bytes of log instead of {theirs.value:,.0f}")
    if old and best.reads and old.reads and old.reads.value >= 0.005 and best.reads.value * ALIKE < old.reads.value:
        fewer = f"{best.reads.value:.2f} pages" if best.reads.value >= 0.005 else "no page"
        parts.append(f"reads {fewer} from disk instead of {old.reads.value:.2f}")
    return parts


def _worse(answer: Answer, switch: Option, stay: Option) -> str:
    """What new keys among old ones cost before a rebuild, as clauses; empty if nothing."""
    parts = []
    if switch.leaf_pages.value > ALIKE * stay.leaf_pages.value:
        parts.append(f"it grows to {_size(answer, switch)}")
    if switch.log_bytes and stay.log_bytes and switch.log_bytes.value > ALIKE * stay.log_bytes.value:
        parts.append(
            f"an insert writes {switch.log_bytes.value:,.0f} bytes of log instead of {stay.log_bytes.value:,.0f}"
        )
    return " and ".join(parts)


def _smaller(answer: Answer, switch: Option, stay: Option) -> str:
    """That the index ends smaller with new keys, as a clause behind a comma; empty if it does not."""
    if switch.leaf_pages.value * ALIKE > stay.leaf_pages.value:
        return ""
    return f", and {answer.place} ends at {_size(answer, switch)} instead of {_size(answer, stay)}"


def _size(answer: Answer, one: Option) -> str:
    """The index's size after the last row, by one way to go: `12.3 GB`. Branch pages are in it."""
    return spelled(one.leaf_pages.value * answer.ranking.best.forecast.bytes_a_leaf)
