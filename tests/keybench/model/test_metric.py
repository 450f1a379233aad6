"""Metrics, the subjects of readings, and sizes as people write them."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.sizes import bytes_of, digits, spelled
from keybench.model.subject import CLUSTERED, KEY, MACHINE, MODEL, PARENT, Subject, SubjectKind
from tests.errors import raised


@pytest.mark.parametrize("metric", Metric)
def test_each_declaration_is_complete(metric: Metric) -> None:
    assert metric.name == metric.upper()
    about = metric.definition
    assert about.title[0].isupper()
    assert about.text.endswith(".")


def test_a_metric_is_found_by_its_name_and_is_a_string() -> None:
    assert Metric("log_bytes") is Metric.LOG_BYTES
    assert f"{Metric.LOG_BYTES}" == "log_bytes"
    assert pickle.loads(pickle.dumps(Metric.LOG_BYTES)) is Metric.LOG_BYTES


def test_every_metric_has_one_theme() -> None:
    assert sorted(metric for theme in Theme for metric in of_theme(theme)) == sorted(Metric)


def test_times_of_the_scenario_do_not_depend_on_the_machine() -> None:
    assert Metric.INSERT_SECONDS.definition.is_time
    assert Metric.RANGE_US_PER_ROW.definition.is_time
    assert not Metric.LAG_SECONDS_P50.definition.is_time
    assert not Metric.CLOCK_LEAD_MS.definition.is_time
    assert not Metric.LEAF_PAGES.definition.is_time


TEXTS = {
    KEY: "key",
    MODEL: "model",
    Subject.writer("web-1"): "writer web-1",
    Subject(SubjectKind.PHASE, "3 delete"): "phase 3 delete",
    Subject(SubjectKind.MODEL_PHASE, "3 delete"): "modelled-phase 3 delete",
    CLUSTERED: "clustered",
    PARENT: "parent",
    Subject.wait("LWLock:WALWrite"): "wait LWLock:WALWrite",
    MACHINE: "machine",
}


@pytest.mark.parametrize(("subject", "text"), TEXTS.items())
def test_exports_and_baselines_keep_their_texts(subject: Subject, text: str) -> None:
    assert str(subject) == text
    assert Subject.parse(text) == subject


def test_every_kind_has_a_text() -> None:
    assert {subject.kind for subject in TEXTS} == set(SubjectKind)


@given(st.text(min_size=1), st.sampled_from([Subject.writer, Subject.wait]))
def test_any_name_is_read_back(name: str, make: type[Subject]) -> None:
    subject = make(name)  # type: ignore[arg-type]
    assert Subject.parse(str(subject)) == subject


@pytest.mark.parametrize(
    "text", ["", "keys", "key x", "writer", "writer ", "shard 1", "grid 2 processes, 3 rows a tick", "machine 1"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="subject"):
        Subject.parse(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("64GB", 64 << 30), ("512m", 512 << 20), ("1.5 TiB", 3 << 39), ("8192", 8192), ("100b", 100), ("2P", 2 << 50)],
)
def test_sizes_are_those_of_server_settings(text: str, size: int) -> None:
    assert bytes_of(text, "--ram") == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1e9", "0", "12XB", "GB"])
def test_other_text_is_refused(text: str) -> None:
    assert raised(UsageError, bytes_of, text, "--ram") == f"--ram {text!r} is no size: write it as 512MB or 64GB."


@pytest.mark.parametrize(
    ("size", "text"),
    [(512, "512 bytes"), (1024, "1 KB"), (64 << 30, "64 GB"), (3 << 29, "1.5 GB"), (1023 << 20, "1023 MB")],
)
def test_sizes_are_spelled_in_the_largest_unit(size: int, text: str) -> None:
    assert spelled(size) == text


@pytest.mark.parametrize(
    ("value", "count", "text"),
    [
        (3.2e-05, 2, "0.000032"), (1.0, 2, "1"), (9.96, 2, "10"), (99.6, 2, "100"), (101.4, 2, "101"), (0, 3, "0"),
        (999.6, 3, "1,000"), (12_345.6, 3, "12,346"), (1e11, 3, "100,000,000,000"), (-0.00012345, 3, "-0.000123"),
    ],
)  # fmt: skip
def test_numbers_have_no_exponent(value: float, count: int, text: str) -> None:
    assert digits(value, count) == text
