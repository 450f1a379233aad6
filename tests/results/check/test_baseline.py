"""The baseline file: it is read back as written, and other files are refused."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.subject import KEY, Subject
from keybench.results.check.baseline import Baseline, CountArm, CountGroup, TimeArm, TimeGroup, load, merged, save, text
from tests.errors import raised

OF = {"database": "postgresql", "server": "model", "rows": 50_000}


def arm(layout: str = "uuid-v4", pages: float = 276) -> CountArm:
    return CountArm(layout=layout, column="uuid", counts={Metric.LEAF_PAGES: pages, Metric.LEAF_DENSITY: 69.5})


def one(*arms: CountArm) -> Baseline:
    return Baseline(
        limits={Metric.INSERT_SECONDS: 10}, counts=[CountGroup(work=OF, conditions={"seed": 1}, arms=list(arms))]
    )


TIMED = TimeGroup(
    work=OF,
    conditions={"settings": {"fsync": "on"}},
    arms=[
        TimeArm(
            layout="uuid-v4",
            column="uuid",
            metric=Metric.INSERT_SECONDS,
            ratio=1.3,
            low=1.25,
            high=1.4,
            blocks=[1.3, None, 1.33333333],
        )
    ],
)


def test_the_whole_file() -> None:
    both = one(arm(), arm("bigint-identity", 138)).model_copy(update={"times": [TIMED]})
    assert text(both) == (
        """\
{
 "format": 1,
 "limits": {"insert_seconds": 10},
 "counts": [
  {
   "of": {"database": "postgresql", "server": "model", "rows": 50000},
   "under": {"seed": 1},
   "arms": [
    {"layout": "bigint-identity", "column": "uuid", "counts": {"leaf_pages": 138, "leaf_density": 69.5}},
    {"layout": "uuid-v4", "column": "uuid", "counts": {"leaf_pages": 276, "leaf_density": 69.5}}
   ]
  }
 ],
 "times": [
  {
   "of": {"database": "postgresql", "server": "model", "rows": 50000},
   "under": {"settings": {"fsync": "on"}},
   "arms": [
    {"layout": "uuid-v4", "column": "uuid", "metric": "insert_seconds", "ratio": 1.3, "low": 1.25, "high": 1.4, """
        """"blocks": [1.3, null, 1.333333]}
   ]
  }
 ]
}
"""
    )


VALUES = st.one_of(st.none(), st.integers(0, 2**53).map(float), st.floats(-1e9, 1e9).map(lambda value: round(value, 6)))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.builds(
            CountArm,
            layout=st.text(max_size=8),
            column=st.text(max_size=8),
            subject=st.sampled_from([KEY, Subject.writer("web-1")]),
            counts=st.dictionaries(
                st.sampled_from(Metric), VALUES | st.lists(VALUES, min_size=1, max_size=3), max_size=4
            ),
        ),
        unique_by=lambda found: found.key,
        max_size=4,
    )
)
def test_what_is_written_is_read_again(arms: list[CountArm]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base.json"
        assert save(path, one(*arms))
        found = load(path)
        assert {found.key: found for found in found.counts[0].arms} == {found.key: found for found in arms}
        assert not save(path, found)
        assert list(path.parent.iterdir()) == [path]


def test_an_update_keeps_what_the_run_did_not_measure() -> None:
    elsewhere = CountGroup(work=OF, conditions={"seed": 2}, arms=[arm("morris")])
    old = one(arm("uuid-v4", 1), arm("uuid-v7", 2)).model_copy(update={"times": [TIMED]})
    old = old.model_copy(update={"counts": [*old.counts, elsewhere]})
    found = merged(old, one(arm("uuid-v4", 3), arm("hotguid", 4)))
    assert found.times == [TIMED]
    assert found.counts[0] == elsewhere
    assert [(a.layout, a.counts[Metric.LEAF_PAGES]) for a in found.counts[1].arms] == [
        ("uuid-v4", 3),
        ("uuid-v7", 2),
        ("hotguid", 4),
    ]


ANOTHER = "take it from version control again, or give --baseline another file."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "base.json is not a keybench baseline: give --baseline another file."),
        ('{"format": "1"}', "base.json is not a keybench baseline: give --baseline another file."),
        ('{"limits": {}}', "base.json is not a keybench baseline: give --baseline another file."),
        ('{"format": 2, "of another": "shape"}',
         "the baseline base.json has format 2, keybench 0.1.0 knows formats up to 1: update keybench, or give "
         "--baseline another file."),
        ('{"format": 1,\n<<<<<<< HEAD\n',
         "the baseline base.json is damaged (Expecting property name enclosed in double quotes in line 2); it was "
         f"left as it is: {ANOTHER}"),
        ('{"format": 1, "counts": [{"of": {}, "arms": []}]}',
         f"the baseline base.json is damaged (counts.0.under: Field required); it was left as it is: {ANOTHER}"),
        ('{"format": 1, "limits": {"of_tomorrow": 3}}',
         "the baseline base.json holds the metric 'of_tomorrow', which keybench 0.1.0 does not know: update "
         "keybench, or give --baseline another file."),
        ("[" * 100_000,
         "the baseline base.json is damaged (its values are nested too deeply); it was left as it is: " + ANOTHER),
        ('{"format": 1, "counts": {"of": 3}}',
         "the baseline base.json is damaged (counts: Input should be a valid list); it was left as it is: "
         f"{ANOTHER}"),
        ('{"format": 1, "counts": [' + "9" * 5000 + "]}",
         "the baseline base.json is damaged (Exceeds the limit (4300 digits) for integer string conversion: value "
         "has 5000 digits; use sys.set_int_max_str_digits() to increase the limit); it was left as it is: "
         f"{ANOTHER}"),
        ('{"format": 1, "runs": []}',
         "the baseline base.json is damaged (runs: Extra inputs are not permitted); it was left as it is: "
         f"{ANOTHER}"),
    ],
)  # fmt: skip
def test_what_is_no_baseline(content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("base.json").write_text(content, encoding="utf-8")
    assert raised(UsageError, load, Path("base.json")) == message
    assert Path("base.json").read_text(encoding="utf-8") == content


def test_values_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    path.write_text(text(one(arm())).replace("276", "NaN"), encoding="utf-8")
    with pytest.raises(UsageError, match="is damaged"):
        load(path)
    path.write_bytes(b'{"format": 1, "\xff')
    with pytest.raises(UsageError, match="is damaged"):
        load(path)


def test_a_file_that_is_not_there_or_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert raised(UsageError, load, Path("base.json")) == (
        "no baseline base.json: create it from this run with --update-baseline, or give --baseline another file."
    )
    folder = f"the baseline {tmp_path} cannot be read (Is a directory): give --baseline another file."
    assert raised(UsageError, load, tmp_path) == folder
    assert raised(UsageError, save, Path("nowhere/base.json"), one(arm())) == (
        "nowhere/base.json cannot be written (No such file or directory): give --baseline another file."
    )
    assert not list(tmp_path.iterdir())
