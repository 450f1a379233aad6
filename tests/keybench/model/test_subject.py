from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.model.subject import CLUSTERED, KEY, MACHINE, MODEL, PARENT, Subject, SubjectKind

TEXTS = {
    KEY: "key",
    MODEL: "model",
    Subject.model("split at the middle"): "model: split at the middle",
    Subject.writer("web-1"): "writer web-1",
    Subject.shard(4): "shard 4",
    Subject(SubjectKind.PHASE, "3 delete"): "phase 3 delete",
    Subject(SubjectKind.MODEL_PHASE, "3 delete"): "modelled-phase 3 delete",
    Subject.grid(16, 256): "grid 16 processes, 256 rows a tick",
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


@given(st.text(min_size=1), st.sampled_from([Subject.writer, Subject.model]))
def test_any_name_is_read_back(name: str, make: type[Subject]) -> None:
    subject = make(name)  # type: ignore[arg-type]
    assert Subject.parse(str(subject)) == subject


@pytest.mark.parametrize(
    "text", ["", "keys", "key x", "writer", "writer ", "shard", "grid", "grid 2x3", "grid 2 processes", "machine 1"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="subject"):
        Subject.parse(text)


def test_the_cell_of_a_grid() -> None:
    assert Subject.grid(2, 64).cell == (2, 64)
    with pytest.raises(ValueError, match="model is not a cell of a grid"):
        _ = MODEL.cell
