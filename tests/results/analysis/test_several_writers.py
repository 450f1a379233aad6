"""Trials that differ in their number of writers are compared with those of the same number alone."""

from dataclasses import replace

from keybench.results.analysis.arms import arms_of
from keybench.results.analysis.groups import group_trials
from tests.results.conftest import a_run, trials


def test_each_number_of_writers_is_a_group_and_an_arm() -> None:
    one = trials(["bigint-identity", "uuid-v7"], ["postgresql"], 2, 50_000, [100], after=False)
    both = [replace(trial, writers=writers) for trial in one for writers in (1, 8)]
    groups = group_trials(a_run(), both, [])
    assert [(group.writers, len(group.arms), len(group.trials)) for group in groups] == [(1, 2, 4), (8, 2, 4)]
    assert [arm.name for arm in groups[0].arms] == [arm.name for arm in groups[1].arms]
    arms = arms_of(both)
    assert [(arm.layout, arm.writers, len(arm.trials)) for arm in arms] == [
        ("bigint-identity", 1, 2), ("bigint-identity", 8, 2), ("uuid-v7", 1, 2), ("uuid-v7", 8, 2),
    ]  # fmt: skip
    assert arms[1].name.endswith(" · 8 writers")
    assert len({hash(arm) for arm in arms}) == len(arms)


def test_one_number_of_writers_is_not_mentioned() -> None:
    (arm,) = arms_of(trials(["uuid-v7"], ["postgresql"], 2, 50_000, [100], after=False))
    assert arm.writers == 0
    assert "writers" not in arm.name
