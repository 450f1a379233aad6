"""Ratios: which are regressions, which are not, which stay open, and how often each verdict is wrong."""

import numpy as np
import pytest

from keybench.model.metric import Metric
from keybench.results.check.baseline import Baseline, CountArm, CountGroup, TimeArm, TimeGroup
from keybench.results.check.command import finding_lines, markdown
from keybench.results.check.gate import Outcome, blocks_needed, decide

OF = {"database": "postgresql", "server": "embedded", "scenario": "quick", "rows": 50_000, "payload": 100,
      "key": "clustered", "writers": 1}  # fmt: skip
LIMITS = {Metric.INSERT_SECONDS: 10.0}


def group(ratios: np.ndarray) -> TimeGroup:
    """Of (blocks, arms)."""
    arms = [
        TimeArm(layout=f"layout-{n}", column="uuid", metric=Metric.INSERT_SECONDS, ratio=float(np.median(column)),
                low=None, high=None, blocks=column.tolist())
        for n, column in enumerate(ratios.T)
    ]  # fmt: skip
    return TimeGroup(work=OF, conditions={}, arms=arms)


def judged(before: np.ndarray, after: np.ndarray) -> Outcome:
    return decide(Baseline(times=[group(after)]), Baseline(times=[group(before)]), LIMITS)


def noisy(rng: np.random.Generator, blocks: int = 6, arms: int = 11, noise: float = 0.03) -> np.ndarray:
    """Ratios that share their block's control, one block in ten worse."""
    common = noise * rng.standard_normal((blocks, 1)) * (1 + 2 * (rng.random((blocks, 1)) < 0.1))
    return np.exp(np.linspace(0.0, 1.5, arms) + common + noise * rng.standard_normal((blocks, arms)))


def test_two_runs_of_the_same_are_seldom_a_regression_and_a_slower_layout_never_passes() -> None:
    rng = np.random.default_rng(8)
    rounds, alarms, missed, found, open_ones = 60, 0, 0, 0, 0
    for _ in range(rounds):
        before, after = noisy(rng), noisy(rng)
        same = judged(before, after)
        alarms += same.exit_code == 1
        open_ones += same.exit_code == 3
        after[:, 4] *= 1.2
        slower = judged(before, after)
        missed += slower.exit_code == 0
        found += [finding.layout for finding in slower.of_kind("slower")] == ["layout-4"]
    assert alarms <= 0.05 * rounds
    assert open_ones <= 0.2 * rounds
    assert missed == 0
    assert found >= 0.85 * rounds


def test_noise_in_which_nothing_could_be_seen_is_no_pass() -> None:
    rng = np.random.default_rng(3)
    wild = judged(noisy(rng, noise=0.3), noisy(rng, noise=0.3))
    assert wild.exit_code == 3
    assert all("more blocks would show it" in finding.note for finding in wild.of_kind("unclear"))


def test_a_faster_layout_is_said_and_fails_nothing() -> None:
    rng = np.random.default_rng(4)
    before, after = noisy(rng, noise=0.01), noisy(rng, noise=0.01)
    after[:, 2] /= 1.5
    found = judged(before, after)
    assert found.exit_code == 0
    assert [finding.layout for finding in found.of_kind("faster")] == ["layout-2"]
    assert next(finding_lines(found)).startswith(
        "improvement: postgresql (embedded) · layout-2 · uuid · quick, 50,000 rows: "
    )


@pytest.mark.parametrize(("earlier", "needed"), [(6, 3), (4, 4), (3, 5), (2, 8), (1, 39), (0, 1000)])
def test_how_many_blocks_are_needed(earlier: int, needed: int) -> None:
    assert blocks_needed(earlier) == needed


def test_the_blocks_said_to_be_needed_can_find_something() -> None:
    for earlier in (2, 3, 4, 6):
        rng = np.random.default_rng(earlier)
        before = noisy(rng, earlier, arms=3, noise=0.001)
        worse = judged(before, noisy(rng, blocks_needed(earlier), arms=3, noise=0.001) * 1.5)
        assert len(worse.of_kind("slower")) == 3, earlier
        fewer = judged(before, noisy(rng, blocks_needed(earlier) - 1, arms=3, noise=0.001) * 1.5)
        assert fewer.exit_code == 3


def test_a_count_that_is_no_longer_measured_is_a_change_and_one_more_block_is_none() -> None:
    def counted(**values: object) -> CountGroup:
        named = {Metric(name): value for name, value in values.items()}
        return CountGroup(work=OF, conditions={}, arms=[CountArm(layout="a", column="uuid", counts=named)])  # type: ignore[arg-type]

    def compared(now: CountGroup, then: CountGroup) -> Outcome:
        return decide(Baseline(counts=[now]), Baseline(counts=[then]), LIMITS)

    gone = compared(counted(leaf_pages=276), counted(leaf_pages=276, branch_pages=2))
    (finding,) = gone.of_kind("changed")
    assert (finding.metric, finding.old, finding.new, finding.note) == (
        "branch_pages",
        "2",
        "none",
        "no longer measured",
    )
    fuller = compared(counted(leaf_pages=270, appends=5), counted(leaf_pages=276, appends=4))
    assert (fuller.exit_code, list(finding_lines(fuller))) == (
        1,
        [
            "change: postgresql (embedded) · a · uuid · quick, 50,000 rows: leaf_pages 276 → 270 (better); and 1 more "
            "of a"
        ],
    )
    longer = compared(counted(leaf_pages=[276, 277], branch_pages=[2, 2]), counted(leaf_pages=276))
    assert (longer.exit_code, longer.counts) == (0, 1)


def test_density_is_compared_to_six_decimals() -> None:
    def counted(density: float) -> CountGroup:
        counts = {Metric.LEAF_DENSITY: density}
        return CountGroup(work=OF, conditions={}, arms=[CountArm(layout="a", column="uuid", counts=counts)])

    for density, code in ((69.4812345, 0), (69.4813345, 1)):
        found = decide(Baseline(counts=[counted(density)]), Baseline(counts=[counted(69.481235)]), LIMITS)
        assert found.exit_code == code


def test_a_name_is_code_in_the_summary_and_ends_no_line() -> None:
    rng = np.random.default_rng(4)
    before, after = group(noisy(rng)), group(noisy(rng) * 2)
    name = "<script>alert(1)</script> @everyone\n# [y](z)"
    before, after = (
        one.model_copy(update={"arms": [arm.model_copy(update={"layout": name}) for arm in one.arms[:1]]})
        for one in (before, after)
    )
    outcome = decide(Baseline(times=[after]), Baseline(times=[before]), LIMITS)
    head, empty, *lines = markdown(outcome, "5ca1", finding_lines(outcome)).splitlines()
    assert head.endswith("keybench: run 5ca1, regression")
    assert not empty
    assert len(lines) == 2
    assert lines[0].startswith("    regression: ")
    assert "@everyone # [y](z)" in lines[0]
