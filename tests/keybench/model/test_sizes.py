"""Sizes of memory in words."""

from __future__ import annotations

import pytest

from keybench.errors import UsageError
from keybench.model.sizes import bytes_of, digits, spelled


@pytest.mark.parametrize(
    ("text", "size"),
    [("64GB", 64 << 30), ("512m", 512 << 20), ("1.5 TiB", 3 << 39), ("8192", 8192), ("100b", 100), ("2P", 2 << 50)],
)
def test_sizes_are_those_of_server_settings(text: str, size: int) -> None:
    assert bytes_of(text, "--ram") == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1e9", "0", "12XB", "GB"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        bytes_of(text, "--ram")
    assert str(refused.value) == f"--ram {text!r} is no size: write it as 512MB or 64GB."


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
