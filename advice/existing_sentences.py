"""What to do about a table that has keys already, in a few sentences."""

from keybench.advice.answer import Answer
from keybench.advice.decision import Decision, OptionCost
from keybench.advice.figure import LEAST_SHARE
from keybench.advice.how_to.existing import Name
from keybench.advice.ranking import ALIKE
from keybench.model.sizes import digits, spelled

LEAST_SHOWN = 0.005  # reads a row: fewer would be written as 0.00
_KEEPS = "Old rows, foreign keys and programs that only read stay as they are."


def headline(answer: Answer, decision: Decision) -> str:
    """One sentence: "Give new rows … keys and leave the old ones: that saves …"."""
    if not decision.worth_it:
        return f"Leave it: {_not_worth_it(answer, decision)}."
    return (
        f"{instruction(answer, decision.way)}: that saves {_share(decision.share)} of what the next "
        f"{decision.rows:,} rows write and read ({spelled(decision.saved)})."
    )


def _not_worth_it(answer: Answer, decision: Decision) -> str:
    """Why no way is worth it, as a clause."""
    if not decision.saved:
        return f"no other key would make the next {decision.rows:,} rows cheaper"
    saved = f"would save {_share(decision.share)} of what the next {decision.rows:,} rows write and read"
    small = "too little for a change" if decision.share < LEAST_SHARE else "too few bytes for a change"
    cheapest = decision.others[0]
    name = name_of(answer, cheapest)
    if cheapest.option.name == "retype":  # its name has a comma: "to store … and give … would save …" reads better
        what = instruction(answer, cheapest)
        name = f"to {what[0].lower()}{what[1:].replace(', and', ' and')}"
    return f"{name} {saved} ({spelled(decision.saved)}), {small}"


def _keeps_layout(answer: Answer, way: OptionCost) -> bool:
    """Whether new rows get keys of the layout that the old ones have."""
    return answer.existing is not None and answer.existing.candidate.name == way.option.layout


def name_of(answer: Answer, way: OptionCost) -> str:
    """The way to go, as a noun phrase."""
    new, kind = f"`{way.option.layout}`", answer.best.type_name
    then = "" if _keeps_layout(answer, way) else f", {new} for new rows"
    names: dict[Name, str] = {
        "stay": "today's keys",
        "switch": f"{new} for new rows",
        "switch-rebuild-later": f"{new}, later a rebuild",
        "retype": f"today's keys as {kind}{then}",
    }
    return names[way.option.name]


def instruction(answer: Answer, way: OptionCost) -> str:
    """What to do, for a way other than to stay."""
    new, kind = f"`{way.option.layout}`", answer.best.type_name
    then = "" if _keeps_layout(answer, way) else f", and give new rows {new} keys"
    instructions: dict[Name, str] = {
        "switch": f"Give new rows {new} keys and leave the old ones",
        "switch-rebuild-later": f"Give new rows {new} keys, and rebuild {answer.place} afterwards",
        "retype": f"Store the same keys as {kind}{then}",
    }
    return instructions[way.option.name]


def reason(answer: Answer, decision: Decision) -> str:
    """What an insert costs by the way to go and by staying, and what has to change: two or three sentences."""
    way = decision.way if decision.worth_it or not decision.others else decision.others[0]
    if way is decision.stay:
        return f"{answer.place.capitalize()} ends at {spelled(way.index_bytes)}."
    parts = [*_work(way, decision.stay), _end(answer, way, decision.stay)]
    text = f"With {name_of(answer, way)}, {' and '.join(parts)}{_between(way, decision.stay)}."
    return f"{text} {what_changes(answer, way)}" if decision.worth_it else text


def _work(way: OptionCost, stay: OptionCost) -> list[str]:
    """What an insert writes to the log where that differs, and reads where that is less: a clause each."""
    parts = []
    ours, theirs = way.option.log_bytes, stay.option.log_bytes
    if ours and theirs and not 1 / ALIKE < ours.value / theirs.value < ALIKE:
        parts.append(f"an insert writes {ours.value:,.0f} bytes of log instead of {theirs.value:,.0f}")
    if way.reads is not None and stay.reads and stay.reads >= LEAST_SHOWN and way.reads * ALIKE < stay.reads:
        parts.append(f"{'' if parts else 'an insert '}reads {pages(way.reads)} instead of {stay.reads:.2f}")
    return parts


def _end(answer: Answer, way: OptionCost, stay: OptionCost) -> str:
    """The size after the last row, by this way and by staying, as a clause."""
    if 1 / ALIKE < way.index_bytes / stay.index_bytes < ALIKE:
        return f"{answer.place} ends as large as with today's keys"
    return f"{answer.place} ends at {spelled(way.index_bytes)} instead of {spelled(stay.index_bytes)}"


def _between(way: OptionCost, stay: OptionCost) -> str:
    """Why the index ends larger with new keys among old ones, as a clause; empty if it does not."""
    if way.option.name != "switch" or way.index_bytes <= ALIKE * stay.index_bytes:
        return ""
    return ", because new keys stand between old ones and split full pages"


def what_changes(answer: Answer, way: OptionCost) -> str:
    """What has to change to go this way: one or two sentences."""
    if way.option.name == "retype":
        children = answer.needs.children
        others = "1 table that refers" if children == 1 else f"{children or 'all'} tables that refer"
        return (
            f"What has to change: the column here and in {others} to it, and the programs that bind the key. All rows "
            "are written again."
        )
    who = "the programs that make keys" if answer.needs.made_by != "server" else "the column's default"
    rebuild = "" if way.option.name == "switch" else f" The rebuild writes {answer.place} once more."
    return f"What has to change: {who}. {_KEEPS}{rebuild}"


def why_keys_end(answer: Answer) -> str:
    """That today's keys end before the table does, and why; empty if they don't."""
    if not answer.ends or answer.needs.existing is None:
        return ""
    keys, why = f"Today's `{answer.needs.existing.layout}` keys", answer.ends.rstrip(".")
    return f"{keys} end before the table does: {why}."


def when(decision: Decision, way: OptionCost) -> str:
    """When to go this way, for a table's cell."""
    if way is decision.way:
        return "recommended"
    if not decision.worth_it:
        return "saves too little"
    cells: dict[Name, str] = {
        "stay": "nothing may change",
        "switch": "only new rows may change",
        "switch-rebuild-later": "a rebuild may run",
        "retype": "all programs may change",
    }
    return cells[way.option.name]


def pages(value: float) -> str:
    """Pages read for a row, as words: `no page`, `0.25 pages`."""
    return "no page" if value < LEAST_SHOWN else f"{value:.2f} pages"


def _share(share: float) -> str:
    """A share, 0 to 1, in percent."""
    return f"{digits(100 * share, 2)} %"
