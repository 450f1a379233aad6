"""Compiled loops."""

from keybench.compiled import kernel


def test_a_loop_is_compiled_also_where_its_machine_code_cannot_be_kept() -> None:
    names = {"kernel": kernel}
    # No directory belongs to code that lies in no file: numba refuses to keep it.
    exec("@kernel\ndef doubled(value):\n    return 2 * value\n", names)
    assert names["doubled"](21) == 42  # type: ignore[operator]
