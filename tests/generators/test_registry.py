"""How layouts are discovered: here, and in other distributions."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keybench.errors import UsageError
from keybench.generators.core.layout import Layout, layout, layouts
from keybench.plugins import discover
from tests.errors import raised

PLUGIN = """
from dataclasses import dataclass
import numpy as np
from keybench.model.keys import Keys
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Layout, Stream

TWENTY = Description("Z160", {"Z": "zeros"})

class Zeros(Stream):
    def take(self, n):
        return Keys(np.zeros((n, 20), np.uint8), "bytes")

@dataclass(frozen=True)
class Zero(Layout):
    def stream(self, process, clock, entropy, *, guids=None):
        return Zeros()

"""
Plugged = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def plugged(tmp_path: Path) -> Plugged:
    """Runs code with another distribution installed, whose module ends with `declaration`."""

    def run(declaration: str, code: str, module: str = "acme_layouts.py") -> subprocess.CompletedProcess[str]:
        (tmp_path / module).parent.mkdir(exist_ok=True)
        (tmp_path / module).write_text(PLUGIN + declaration, encoding="utf-8")
        info = tmp_path / "acme-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text("[keybench.layouts]\nacme = acme_layouts\n", encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
        )

    return run


USE = """
from keybench.generators.core.clock import SystemClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.process import Process
stream = layout("acme-zero").stream(Process.current(), SystemClock(), AesEntropy.system())
print(layout("acme-null").name, stream.take(3).data.shape, "uuid-v7" in layouts())
"""
ONE = """
LAYOUTS = (
    Zero(
        "acme-zero", "twenty zeros", "nowhere", order="none", kind="bytes", aliases=("acme-null",), description=TWENTY
    ),
)
"""


@pytest.mark.parametrize("module", ["acme_layouts.py", "acme_layouts/zero.py"])
def test_another_distribution_plugs_in_a_layout(module, plugged) -> None:
    done = plugged(ONE, USE, module)
    assert done.stderr == ""
    assert done.stdout == "acme-zero (3, 20) True\n"


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ('LAYOUTS = (Zero("uuid-v4", "", "", order="none", description=Description("R128")),)',
         "two layouts are called 'uuid-v4'; the second is in {}: rename one."),
        ('LAYOUTS = (Zero("acme", "", "", order="none", aliases=("zaabee-end",), description=Description("R128")),)',
         "two layouts are called 'zaabee-end'; the second is in {}: rename one."),
        ('LAYOUTS = (Zero("acme-zero", "", "", order="none", description=TWENTY),)',
         "acme_layouts: the diagram of acme-zero has 160 bits: make it 128."),
        ('LAYOUTS = ("uuid-v9",)', "acme_layouts.LAYOUTS holds 'uuid-v9', which is not a Layout."),
        ("LAYOUTS = 9", "acme_layouts.LAYOUTS must be a sequence of Layout instances."),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_named(declaration, message, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, object] = {}
    exec(PLUGIN + declaration, names)
    found = [*discover("keybench.layouts", "LAYOUTS"), ("acme_layouts", names["LAYOUTS"])]
    monkeypatch.setattr("keybench.generators.core.layout.discover", lambda *_: found)
    assert raised(UsageError, layouts.__wrapped__) == message.format("acme_layouts")


def test_a_layout_is_found_by_its_name_and_its_aliases() -> None:
    for name, known in layouts().items():
        assert layout(name) is known
        assert name in (known.name, *known.aliases)


def test_every_layout_has_a_summary_of_one_line() -> None:
    for known in layouts().values():
        assert isinstance(known, Layout)
        assert known.source
        assert 20 <= len(known.summary) <= 110
        assert "\n" not in known.summary


def test_an_unknown_name_lists_the_close_matches() -> None:
    message = raised(UsageError, layout, "rt-comb-postgres")
    assert message.startswith("unknown layout 'rt-comb-postgres'. Did you mean rt-comb-postgresql or ")
    assert message.endswith(" or rt-comb-sql? `keybench list layouts` has all.")
    assert message.count("rt-comb") == 6, "the name itself, and the five nearest"


@pytest.mark.parametrize(
    ("declaration", "reason"),
    [
        ("raise RuntimeError('no [/b]licence\\x1b')", r"RuntimeError: no [/b]licence\u001b"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def", "SyntaxError: invalid syntax (acme_layouts.py, line "),
    ],
)
def test_a_distribution_that_cannot_be_imported_is_named_and_left_out(plugged: Plugged, declaration, reason) -> None:
    code = "from keybench.generators.core.layout import layouts; print(len(layouts.__wrapped__()), len(layouts()))"
    done = plugged(declaration, code)
    assert done.returncode == 0
    assert done.stdout == f"{len(layouts())} {len(layouts())}\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"keybench: acme 1.0 is left out, because its module acme_layouts cannot be imported ({reason}"
    )
    assert line.endswith("): update it, or uninstall it.")
