"""The library calls that can be run here: they make keys that our layouts read, in the order that the data says.

A test is skipped, with the reason, where toolchain or package is missing: npm and pip bring theirs; those of Go, PHP
and Rust come from Debian's packages (golang-go, golang-github-google-uuid-dev, golang-github-gofrs-uuid-dev,
golang-github-oklog-ulid-dev, php-cli, php-ramsey-uuid, php-symfony-uid, librust-uuid-dev), whose versions are older
than the advised ones.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from keybench.advice.how_to.libraries import LibraryCall, calls_for, languages
from keybench.generators.core.clock import UNIX_EPOCH, VirtualClock
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.process import Process
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys

pytestmark = pytest.mark.long

KEYS = 3_000
ON_TOP = ("import", "from", "use ", "using")
RUN = {
    call.language + " " + call.call: call
    for name in layouts()
    for call in calls_for(name)
    if call.checked in ("run", "golden")
}
Runner = Callable[[LibraryCall, Path], list[str]]


def parts(call: LibraryCall) -> tuple[str, str]:
    """(the lines of the setup that import, the other lines)."""
    lines = call.setup.strip().splitlines()
    return (
        "\n".join(each for each in lines if each.startswith(ON_TOP)),
        "\n".join(each for each in lines if not each.startswith(ON_TOP)),
    )


def run(*command: str | Path, folder: Path, **environment: str) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def need(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"there is no {program} here")
    return path


@pytest.fixture
def npm(installed: Callable[..., Path]) -> Path:
    """A folder with the packages of npm."""
    return installed(
        "npm", *sorted(f"{one.package}@{one.version}" for one in RUN.values() if one.language == "typescript")
    )


@pytest.fixture
def pip(installed: Callable[..., Path]) -> Path:
    """A folder with the packages of pip."""
    return installed(
        "pip",
        *sorted(f"{one.package}=={one.version}" for one in RUN.values() if one.language == "python" and one.install),
    )


def python(call: LibraryCall, folder: Path) -> list[str]:
    program = folder / "keys.py"
    program.write_text(f"{call.setup}\nfor _ in range({KEYS}):\n    print({call.call})\n")
    return run(sys.executable, program, folder=folder, PYTHONPATH=str(folder))


def typescript(call: LibraryCall, folder: Path) -> list[str]:
    top, rest = parts(call)
    loop = f"for (let i = 0; i < {KEYS}; i++) console.log(String({call.call}));"
    (folder / "keys.mjs").write_text(f"{top}\n{rest}\n{loop}\n")
    return run(need("node"), "keys.mjs", folder=folder)


def php(call: LibraryCall, folder: Path) -> list[str]:
    loads = [Path("/usr/share/php") / at / "autoload.php" for at in ("Ramsey/Uuid", "Symfony/Component/Uid")]
    if not all(file.exists() for file in loads):
        pytest.skip("there is no php-ramsey-uuid or no php-symfony-uid here")
    required = "".join(f"require '{file}';\n" for file in loads)
    program = f'<?php\n{call.setup}\n{required}for ($i = 0; $i < {KEYS}; $i++) echo {call.call}, "\\n";\n'
    (folder / "keys.php").write_text(program)
    return run(need("php"), "keys.php", folder=folder)


def go_program(call: LibraryCall, body: str, folder: Path) -> list[str]:
    go, sources = need("go"), Path("/usr/share/gocode/src")
    top, rest = parts(call)
    for major in ("/v5", "/v2"):
        top = top.replace(f'{major}"', '"')  # Debian's are older
    for line in top.splitlines():
        package = line.removeprefix("import ").strip('"')
        if "." in package and not (sources / package).exists():
            pytest.skip(f"there is no {package} among Debian's packages here")
    (folder / "main.go").write_text(f'package main\nimport "fmt"\n{top}\nfunc main() {{\n{rest}\n{body}\n}}\n')
    return run(
        go,
        "run",
        "main.go",
        folder=folder,
        GO111MODULE="off",
        GOPATH="/usr/share/gocode",
        GOCACHE=str(folder / "cache"),
        GOFLAGS="",
    )


def go(call: LibraryCall, folder: Path) -> list[str]:
    made = call.call.replace("ulid.Now()", "ulid.Timestamp(time.Now())")  # 2.0 has no Now
    setup = call.setup if made == call.call else f'import "time"\n{call.setup}'
    body = f"for i := 0; i < {KEYS}; i++ {{ fmt.Println({made}) }}"
    return go_program(call.model_copy(update={"setup": setup}), body, folder)


def java(call: LibraryCall, folder: Path) -> list[str]:
    compiler = need("javac")
    top, rest = parts(call)
    loop = f"for (int i = 0; i < {KEYS}; i++) System.out.println({call.call});"
    program = f"{top}\npublic class Main {{ public static void main(String[] a) {{ {rest}\n{loop} }} }}"
    (folder / "Main.java").write_text(program)
    run(compiler, "Main.java", folder=folder)
    return run(need("java"), "Main", folder=folder)


def rust(call: LibraryCall, folder: Path) -> list[str]:
    registry = Path("/usr/share/cargo/registry")
    if not list(registry.glob("uuid-1.*")):
        pytest.skip("there is no librust-uuid-dev here")
    (folder / "src").mkdir(exist_ok=True)
    (folder / ".cargo").mkdir(exist_ok=True)
    (folder / ".cargo" / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{registry}"\n'
    )
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "keys"\nversion = "0.1.0"\nedition = "2021"\n'
        '[dependencies]\nuuid = { version = "1", features = ["v4"] }\n'
    )
    top, rest = parts(call)
    (folder / "src" / "main.rs").write_text(
        f'{top}\nfn main() {{\n{rest}\nfor _ in 0..{KEYS} {{ println!("{{}}", {call.call}); }}\n}}\n'
    )
    return run(need("cargo"), "run", "--offline", "--quiet", folder=folder, CARGO_TARGET_DIR=str(folder / "target"))


RUNNERS: dict[str, Runner] = {
    "python": python,
    "typescript": typescript,
    "php": php,
    "go": go,
    "java": java,
    "rust": rust,
}


def read(name: str, texts: list[str]) -> Keys:
    kind = layout(name).kind
    if kind == "int":
        return Keys(np.array([int(text) for text in texts], np.int64), "int")
    if kind == "text":
        return Keys(np.frombuffer("".join(texts).encode(), np.uint8).reshape(len(texts), -1).copy(), "text")
    raw = b"".join(bytes.fromhex(text.replace("-", "")) for text in texts)
    return Keys(np.frombuffer(raw, np.uint8).reshape(-1, 16).copy(), "uuid")


def test_the_languages_that_can_be_run_have_calls_that_were() -> None:
    assert {call.language for call in RUN.values()} == set(RUNNERS)
    assert set(languages()) - set(RUNNERS) == {"csharp", "ruby"}  # no .NET and no Ruby here


@pytest.mark.parametrize("label", RUN)
def test_a_call_makes_keys_of_its_layouts_in_the_order_that_is_said(
    label: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    call = RUN[label]
    folder = {"python": "pip", "typescript": "npm"}.get(call.language)
    texts = RUNNERS[call.language](call, request.getfixturevalue(folder) if folder else tmp_path)
    assert len(set(texts)) == KEYS
    for name in call.layouts:
        keys, of = read(name, texts), layout(name)
        if of.kind == "uuid":
            fixed, values = of.shared_bits()
            assert (np.unpackbits(keys.data, axis=1)[:, fixed] == values[fixed]).all()
        words = [tuple(word) for word in sort_words(keys, of.order if of.order != "none" else "rfc").tolist()]
        above = [before < after for before, after in pairwise(words)]
        if call.ascends == "each key":
            assert all(above)
        if call.ascends == "no":
            assert 0.45 < sum(above) / len(above) < 0.55
            continue
        ticks = of.decode(keys).ticks
        now = time.time_ns() // 100 + UNIX_EPOCH
        assert (np.diff(ticks) >= 0).all()
        if call.random_bits > 62:  # nothing stands behind the time but random bits
            assert not all(above)
        assert now - 60 * 10_000_000 < ticks[0] <= ticks[-1] < now + 10_000_000


@dataclass
class Given(Entropy):
    """Random bytes that are known: the same ones for every request."""

    data: bytes

    def take(self, n: int, width: int) -> NDArray[np.uint8]:
        return np.frombuffer(self.data[:width] * n, np.uint8).reshape(n, width).copy()

    def partition(self, i: int, *, of: int) -> Entropy:
        raise NotImplementedError


MILLISECONDS = 1_645_557_742_123
RANDOM = bytes(range(161, 177))


def exact(name: str, entropy: bytes = RANDOM) -> Keys:
    """The key that our layout makes at that time of these random bytes."""
    clock = VirtualClock(np.array([UNIX_EPOCH + MILLISECONDS * 10_000]))
    return layout(name).stream(Process("host", 1), clock, Given(entropy)).take(1)


def test_npms_uuids_have_the_bytes_of_our_layouts(npm: Path) -> None:
    last = RANDOM[6:]  # the bytes of a UUIDv7 behind its time
    counter = (last[0] & 15) << 28 | last[1] << 20 | (last[2] & 63) << 14 | last[3] << 6 | last[4] >> 2
    (npm / "golden.mjs").write_text(
        f"""import {{ v4, v7 }} from "uuid";
const random = Uint8Array.from({list(RANDOM)});
console.log(v4({{ random: random.slice() }}));
console.log(v7({{ msecs: {MILLISECONDS}, seq: {counter}, random }}));"""
    )
    v4, v7 = run(need("node"), "golden.mjs", folder=npm)
    assert read("uuid-v4", [v4]).data.tobytes() == exact("uuid-v4").data.tobytes()
    assert read("uuid-v7", [v7]).data.tobytes() == exact("uuid-v7").data.tobytes()


def test_npms_ulids_have_the_characters_of_our_layout(npm: Path) -> None:
    text = exact("ulid-text", RANDOM[:10]).data.tobytes().decode()
    digits = ["0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(letter) for letter in text[10:]]
    (npm / "ulid.mjs").write_text(
        f"""import {{ ulid }} from "ulid";
const digits = {digits};
console.log(ulid({MILLISECONDS}, () => (digits.pop() + 0.5) / 32));"""
    )
    assert run(need("node"), "ulid.mjs", folder=npm) == [text]


def test_gos_ulids_have_the_bytes_of_our_layout(tmp_path: Path) -> None:
    call = next(call for call in RUN.values() if call.language == "go" and call.layouts[0] == "ulid")
    given = ", ".join(map(str, RANDOM[:10]))
    body = f'id := ulid.MustNew({MILLISECONDS}, bytes.NewReader([]byte{{{given}}}))\nfmt.Printf("%x", id[:])'
    setup = 'import "bytes"\nimport "github.com/oklog/ulid/v2"'
    made = go_program(call.model_copy(update={"setup": setup}), body, tmp_path)
    assert made == [exact("ulid", RANDOM[:10]).data.tobytes().hex()]
