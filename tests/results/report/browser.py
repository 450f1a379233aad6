"""Headless Chromium: facts about a page in it, and screenshots."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WHY_NOT = "no Chromium is installed here (apt-get install chromium)"

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update",
    "--disable-background-networking", "--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage",
)  # fmt: skip


def evaluated(page: str, widths: Sequence[int], expression: str, folder: Path) -> list[dict[str, Any]]:
    """The value of the JavaScript expression, an object, in windows of these widths."""
    script = f"parent.postMessage(JSON.stringify([innerWidth, {expression}]), '*')"
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    assert page.count("script-src '") == 1
    copy = page.replace("script-src '", f"script-src 'sha256-{allowed}' '")
    (folder / "copy.html").write_text(copy.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    # A window is never narrower than 500 pixels; a frame is.
    frames = "".join(f'<iframe src="copy.html" width="{width}" height="800"></iframe>' for width in widths)
    (folder / "frames.html").write_text(
        "<!DOCTYPE html><style>iframe { border: 0 }</style><pre id='facts'></pre><script>"
        "onmessage = (event) => document.getElementById('facts').append(event.data + '\\n')"
        f"</script>{frames}",
        encoding="utf-8",
    )
    dom = _run(folder, folder / "frames.html", "--virtual-time-budget=10000", "--dump-dom")
    found = re.search(r'<pre id="facts">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[:2000]
    by_width = dict(json.loads(line) for line in unescape(found[1]).splitlines())
    return [by_width[width] for width in widths]


def photograph(page: Path, width: int, height: int) -> Path:
    """A screenshot of the page's top in a window of that size."""
    picture = page.with_suffix(f".{width}.png")
    _run(page.parent, page, f"--screenshot={picture}", f"--window-size={width},{height}")
    return picture


def _run(folder: Path, page: Path, *options: str) -> str:
    assert CHROMIUM
    profile = folder / "profile"
    done = subprocess.run(
        [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    shutil.rmtree(profile, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
