"""What was run, in one sentence: from the trials, not from the scenario's defaults."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.results.analysis.groups import Group
from keybench.results.store.records import Run
from keybench.results.wording import count_word, listed, plural


def what_ran(run: Run, groups: Sequence[Group], products: Sequence[str]) -> str:
    """`keybench inserted 5,000 rows with each of 4 kinds of key into SQLite 3.54, once.`"""
    stored = [group for group in groups if not group.only_keys]
    if not groups:
        return "No trial is recorded yet."
    rows = listed([f"{count:,}" for count in sorted({group.rows for group in groups})], last="or")
    layouts = len({arm.layout for group in groups for arm in group.arms})
    keys = "one kind of key" if layouts == 1 else f"each of {layouts} kinds of key"
    often = repeated(max(len(group.blocks) for group in groups))
    if not stored:
        return f"keybench made {rows} keys of {keys}, {often}; nothing was inserted."
    beside = listed([run.characters(size) for size in sorted({group.payload for group in stored})], last="or")
    sent = "computed what becomes of" if all(group.modelled for group in stored) else "inserted"
    into = "in page models of" if all(group.modelled for group in stored) else "into"
    writers = max(trial.writers for group in stored for trial in group.trials)
    many = "" if writers == 1 else f" from {plural(writers, 'writer')} at the same time"
    return (
        f"keybench {sent} {rows} rows ({beside} beside the key) with {keys}{many} {into} "
        f"{listed(list(dict.fromkeys(products)))}, {often}."
    )


def repeated(blocks: int) -> str:
    """How often all was measured."""
    words = {1: "once", 2: "twice"}
    often = words.get(blocks, f"{count_word(blocks)} times")
    return often if blocks == 1 else f"{often}, in shuffled order"
