"""An answer in plain English. Names of layouts stand in backticks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from keybench.advice import existing_sentences
from keybench.advice.answer import Answer
from keybench.advice.candidates import Candidate, candidates
from keybench.advice.figure import spoken
from keybench.advice.how_to.libraries import calls_for
from keybench.advice.ranking import ALIKE, WORSE, Choice, easiest, gains
from keybench.advice.row_cost import KNEE
from keybench.model.names import CONTROL
from keybench.model.sizes import digits, spelled

# By option: when its need arises, and what keys lack that do not meet it.
_IF: Final[Mapping[str, str]] = {
    "--made-by client": "programs must make keys without asking the server",
    "--made-by server": "the server must make the keys",
    "--unguessable": "nobody may guess a key",
    "--hides-time": "a key must not tell when it was made",
    "--merge": "tables of several sites will be merged",
    "--sortable": "keys must sort by time",
}
_LACKS: Final[Mapping[str, str]] = {
    "--made-by client": "only the server can make it",
    "--made-by server": "the server cannot make it",
    "--unguessable": "somebody who knows one key can guess others",
    "--hides-time": "a key tells when it was made",
    "--merge": "two sites may make the same key",
    "--sortable": "it does not sort by time",
}

WITH_UPDATES: Final[Mapping[bool, tuple[float, float]]] = {True: (1.0, 1.8), False: (1.1, 1.3)}
"""By whether keys ascend: leaf pages with two updates a row over those without, least and most of the three runs
updates-single, updates-batches and order-lifecycle of docs/findings.md. On PostgreSQL an update that is not HOT adds an
entry for the row's new version to every index. How many pages that costs depends on when VACUUM and deletions before a
split take older entries away, which no page model here follows."""
_DAY: Final = 86_400


def headline(answer: Answer) -> str:
    """What to do: one sentence."""
    best = answer.best
    if answer.needs.public_id:
        return "Keep today's key, and add a random `public_id` beside it, which people outside see."
    if answer.decision:
        text = existing_sentences.headline(answer, answer.decision)
    elif answer.existing and answer.existing.candidate.label == best.label:
        text = f"Leave it: no key is clearly better than `{best.name}` in a column of type {best.type_name}."
    else:
        workers = "; each writer needs a number of its own" if best.properties.uniqueness == "worker id" else ""
        text = f"Use `{best.name}` in a column of type {best.type_name}{_by_server(answer)}{workers}."
        text = f"{existing_sentences.why_keys_end(answer)} {text}".lstrip()
    return f"At this size it does not matter. {text}" if answer.small else text


def reason(answer: Answer) -> str:
    """Why: a sentence or two."""
    best, needs = answer.ranking.best, answer.needs
    if answer.needs.public_id and answer.public_id:
        size = spelled(answer.public_id.index_bytes.value)
        return (
            f"The new column's index takes {size} at {needs.rows:,} rows. Another primary key would change every table "
            "that refers to it, and their indexes."
        )
    if answer.decision:
        return existing_sentences.reason(answer, answer.decision)
    size = spelled(best.forecast.index_bytes.value)
    other = answer.compared
    at = f"At {needs.rows:,} rows {answer.place} takes {size}"
    if other is None or other.forecast.index_bytes.value * ALIKE < best.forecast.index_bytes.value:
        return f"{at}{_costs(best)}."
    name = _named(other.candidate)
    theirs = spelled(other.forecast.index_bytes.value)
    against = f", no more than with {name}" if _alike(best, other) else f" instead of {theirs} with {name}"
    figures = f"{at}{against}{_costs(best, other)}{_memory(answer, best, other)}."
    return " ".join(filter(None, (figures, spread(answer), partitions(answer))))


def what_updates_do(answer: Answer) -> str:
    """What the updates that the user named do to the key's index; empty without any."""
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
    least, most = WITH_UPDATES[answer.best.properties.ascends]
    after = [
        f"{_with_updates(answer, days, least)} to {_with_updates(answer, days, most)} {when}"
        for days, when in ((1, "after a day"), (30, "after a month"), (0, f"at {needs.rows:,} rows"))  # 0: at the end
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


def _with_updates(answer: Answer, days: int, factor: float) -> str:
    """The size of the best key's index after so many days (0: at the end), `factor` times as large by its updates."""
    needs = answer.needs
    share = days * _DAY * needs.rows_per_second / needs.rows if days else 1.0
    return spelled(answer.ranking.best.forecast.index_bytes.value * share * factor)


def more(answer: Answer) -> list[str]:
    """What else is to be said, a sentence or two each; none of it decides."""
    texts = [
        deletions(answer),
        what_the_key_is(answer),
        price_of_needs(answer),
        *(why for _, why in avoided(answer)),
        *layouts_asked_for(answer),
    ]
    return [sentence for sentence in texts if sentence]


def when_not(answer: Answer) -> str:
    """Whom the recommended key does not suit; empty if there is nobody. Needs that the user named, and those for which
    the second choice is there, are not repeated."""
    offers = answer.best.properties.offers
    said = {*answer.needs.conditions, *(answer.ranking.gains[:2] if answer.ranking.runner_up else ())}
    if answer.needs.made_by != "any":
        said |= {"--made-by client", "--made-by server"}
    lacks = [_IF[option] for option in _IF if not offers[option] and option not in said]
    return f"Not if {' or '.join(lacks[:3])}." if lacks else ""


def deletions(answer: Answer) -> str:
    """That deleted rows are not in the figures; empty if all rows stay."""
    if not answer.needs.retention_days:
        return ""
    command = f"keybench run --db {answer.needs.on.name} --scenario retention"
    return f"Rows that are deleted are not in these figures: `{command}` measures what deletions leave."


def partitions(answer: Answer) -> str:
    """How old rows go at the least cost; empty if all rows stay."""
    if not answer.needs.retention_days:
        return ""
    text = "Partition the table by time, and drop old partitions: that is cheaper than to delete their rows."
    if answer.needs.on.name not in ("postgresql", "mysql", "mariadb"):
        return text
    return f"{text} The primary key has to contain the partition's column, too."


def spread(answer: Answer) -> str:
    """How inserts go to all servers of a cluster; empty if nobody asked."""
    if not answer.needs.spread:
        return ""
    alone = (
        "On a cluster, these keys alone would all go to one server: put a hash of the key before it, modulo 16 or so."
    )
    here = "These figures are of one server; keybench has no adapter of clusters."
    return here if answer.best.layout.order == "none" else f"{alone} {here}"


def what_the_key_is(answer: Answer) -> str:
    """What a recommended key is."""
    best = answer.best
    what = "a 64-bit number that counts rows" if best.name == CONTROL else best.layout.summary
    if best.properties.server:
        what = what.replace(", made by the client", "")
    tells = " and ".join(best.properties.tells)
    return f"What `{best.name}` is: {what}. " + (f"A key tells {tells}." if tells else "A key tells nothing.")


def price_of_needs(answer: Answer) -> str:
    """What the needs cost: keys that would move fewer bytes, and the needs that they miss; empty if there are none."""
    other = answer.ranking.spared
    if other is None:
        return ""
    less = 100 * (1 - other.moved.value / answer.ranking.best.moved.value)
    why = "; ".join(other.candidate.misses)
    return f"{_named(other.candidate)} would take {less:.0f} % fewer bytes a row, but {why}."


def runner_up(answer: Answer) -> str:
    """The second choice, and when it would be the first; empty if there is none."""
    second = answer.ranking.runner_up
    if second is None:
        return ways_out(answer)
    name, ratio = _named(second.candidate), second.moved.value / answer.ranking.best.moved.value
    if second.candidate.properties.uniqueness == "worker id":
        return f"Second choice: {name} ({bytes_compared(ratio)}), if each writer can be given a number of its own."
    if not answer.ranking.gains:
        return f"Second choice: {name} ({bytes_compared(ratio)}), if it is easier to get." if ratio <= ALIKE else ""
    only = "only " if ratio > WORSE else ""
    when = " or ".join(_IF[option] for option in answer.ranking.gains[:2])
    return f"Second choice: {name} ({bytes_compared(ratio)}), {only}if {when}."


def ways_out(answer: Answer) -> str:
    """What helps where the server has to make the keys, and this version makes none that ascend. Empty where keys made
    by programs would not move much fewer bytes."""
    best, needs = answer.ranking.best, answer.needs
    by_programs = [one for one in answer.ranking.missing if one.candidate.missed_options == ("--made-by server",)]
    if not by_programs or by_programs[0].moved.value * WORSE > best.moved.value:
        return ""
    other = easiest(by_programs, lambda name: len({call.language for call in calls_for(name)})) or by_programs[0]
    versions = list(needs.on.versions)  # the oldest first
    newer = (
        version
        for version in versions[versions.index(needs.version) + 1 :]
        if any(
            not one.misses and one.properties.by_server and one.properties.ascends
            for one in candidates(replace(needs, version=version), lambda _: True)  # of all layouts
        )
    )
    first = next(newer, "")
    upgrade = f", or {needs.on.title} {first}, which makes keys in order" if first else ""
    return (
        f"{needs.on.title} {needs.version} makes no keys that ascend. Ways out: {_named(other.candidate)} made by "
        f"programs ({bytes_compared(other.moved.value / best.moved.value)}){upgrade}."
    )


def bytes_compared(ratio: float) -> str:
    """The bytes of a row beside those of the best layout, in words; `ratio`: the first over the second."""
    if ratio <= ALIKE:
        return "as cheap" if ratio > 1 / ALIKE else f"{100 * (1 - ratio):.0f} % fewer bytes a row"
    return f"{100 * (ratio - 1):.0f} % more bytes a row" if ratio < 2 else f"{ratio:.1f} × the bytes a row"


def avoided(answer: Answer) -> list[tuple[Choice, str]]:
    """The layouts to avoid, but for the second choice, each with a sentence."""
    listed = [one for one in answer.ranking.avoid if one is not answer.ranking.runner_up]
    return [(one, _avoid(one, answer.ranking.best, answer)) for one in listed]


def layouts_asked_for(answer: Answer) -> list[str]:
    """A sentence for each layout of `--layout` that no other sentence speaks of."""
    order = answer.ranking
    said = {one.candidate.label for one in (order.best, order.runner_up, order.spared, *order.avoid) if one}
    judged = [one for one in (*order.meeting, *order.missing) if one.candidate.name in answer.needs.layouts]
    texts = [_of_asked(one, answer) for one in judged if one.candidate.label not in said]
    refused = {label.split(" ")[0]: why for label, why in answer.refused}  # by name: a label may end with a column
    texts += [f"`{name}` is no choice: {refused[name]}" for name in answer.needs.layouts if name in refused]
    explained = {one.candidate.name for one in judged} | refused.keys()
    nobody = f"no client can make it alone, and {answer.needs.on.title} does not make such keys"
    return texts + [f"`{name}` is no choice: {nobody}." for name in answer.needs.layouts if name not in explained]


def _of_asked(one: Choice, answer: Answer) -> str:
    """A layout that the user asked about: the needs that it misses, or its cost and what it lacks."""
    if not one.meets:
        return f"{_named(one.candidate)} does not meet your needs: {'; '.join(one.candidate.misses)}."
    reasons = [_LACKS[option] for option in gains(answer.best, one.candidate, answer.needs.made_by)]
    lacks = f"; but {' and '.join(reasons[:2])}" if reasons else ""
    cost = bytes_compared(one.moved.value / answer.ranking.best.moved.value)
    name = f"`{one.candidate.name}` in a column of type {one.candidate.type_name}"
    splits = f"splits {one.forecast.splits.value:.1f} pages for 1,000 rows"
    return f"{name}: {cost}, and it {splits}{lacks}.{_trap(one.candidate)}"


def basis(answer: Answer) -> str:
    """What the figures of the recommended layout rest on, and how exact they are."""
    best = answer.ranking.best.forecast
    size = best.index_bytes
    what = {
        "exact model": "all rows went through a page model that live servers have confirmed",
        "scaled": "forecast from fewer rows, by a page model that live servers have confirmed",
        "unconfirmed model": f"a page model that follows what is published on {answer.needs.on.title}; no server has "
        "confirmed it",
    }[size.kind]
    figures = [one.leaf_pages for one in answer.options] or [size]
    percent = max(100 * one.half / one.value for one in figures)
    shown = f"{percent:.0f}" if percent >= 1 else digits(percent, 1)
    within = f" The size of {answer.place} is within {shown} %." if percent else ""
    return f"Rests on: {what}.{within}"


def _by_server(answer: Answer) -> str:
    """That the server makes the recommended keys, and how, as a clause behind a comma; empty if clients make them."""
    facts = answer.best.properties
    if answer.needs.made_by == "client" or (answer.needs.made_by == "any" and not facts.server):
        return ""
    how = facts.server.declaration if facts.server else f"{facts.default} as the column's default"
    return f", made by the server ({how})" if how else ", made by the server"  # a declaration may be empty


def _alike(one: Choice, other: Choice) -> bool:
    """Whether two indexes are about equally large."""
    ours, theirs = one.forecast.index_bytes.value, other.forecast.index_bytes.value
    return max(ours, theirs) <= ALIKE * min(ours, theirs)


def _costs(best: Choice, other: Choice | None = None) -> str:
    """What an insert of the best key writes to the log and reads, as a clause behind a comma; empty if nobody knows.
    The log is named only if the other one's is larger; that nothing is read, only if the other one reads."""
    parts = []
    ours, theirs = best.forecast, other.forecast if other else None
    if ours.log_bytes and theirs and theirs.log_bytes and ours.log_bytes.value * ALIKE < theirs.log_bytes.value:
        parts.append(f"writes {ours.log_bytes.value:,.0f} bytes of log instead of {theirs.log_bytes.value:,.0f}")
    if ours.reads is not None:
        other_reads = theirs.reads.value if theirs and theirs.reads else 0.0
        clearly_more = other_reads >= existing_sentences.LEAST_SHOWN and other_reads > ALIKE * ours.reads.value
        if clearly_more or ours.reads.value >= existing_sentences.LEAST_SHOWN:
            instead = f" instead of {other_reads:.2f}" if clearly_more else ""
            parts.append(f"reads {existing_sentences.pages(ours.reads.value)} from disk{instead}")
    return f", and each insert {' and '.join(parts)}" if parts else ""


def _memory(answer: Answer, best: Choice, other: Choice) -> str:
    """That the best fits into memory and the other does not, as a clause; only where no model knows what is read."""
    ours, theirs = best.forecast.index_bytes.value, other.forecast.index_bytes.value
    if best.forecast.reads is not None or not ours <= answer.needs.ram < theirs:
        return ""
    return f"; the former fits into the server's {spelled(answer.needs.ram)} of memory, the latter does not"


def _trap(one: Candidate) -> str:
    """A warning, as a sentence behind a space, that the column undoes the order of the keys; empty if it does not."""
    ordered = one.layout.order != "none" and not one.properties.ascends
    return f" A column of type {one.type_name} does not sort these keys by their time." if ordered else ""


def _named(one: Candidate) -> str:
    """The layout in backticks, with its column if that is not the engine's own choice."""
    return f"`{one.name}`" if one.label == one.name else f"`{one.name}` in a column of type {one.type_name}"


def _avoid(one: Choice, best: Choice, answer: Answer) -> str:
    """Why not to take a layout: by how much it is worse than the best one in size, splits, reads and log."""
    its, of_best = one.forecast, best.forecast
    why = []
    size = its.index_bytes.value / of_best.index_bytes.value
    if size > ALIKE:
        why.append(f"{answer.place} is {size:.2f} × as large")
    splits, fewer = its.splits.value, of_best.splits.value
    if splits > fewer + 0.5:  # half a split for 1,000 rows
        why.append(f"it splits {splits:.1f} pages for each 1,000 rows, `{answer.best.name}` {fewer:.1f}")
    if its.reads and its.reads.value >= KNEE:
        since = f" (reads begin at about {spoken(its.cost.knee.value)} rows)" if its.cost.knee else ""
        why.append(f"an insert reads {its.reads.value:.2f} pages from disk at the end{since}")
    if its.log_bytes and of_best.log_bytes and its.log_bytes.value > 1.2 * of_best.log_bytes.value:
        why.append(f"it writes {its.log_bytes.value / of_best.log_bytes.value:.1f} × the log")
    reasons = "; ".join(why) or "it takes more bytes a row"
    return f"Avoid {_named(one.candidate)}: {reasons}.{_trap(one.candidate)}"
