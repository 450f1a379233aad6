"""URLs with a password, malformed in every way, for every option that takes one."""

import json
from random import Random

from tests.fuzz.harness import SECRET, Case
from tests.fuzz.nasty import TEXTS

_DATABASES = ("postgresql", "mariadb", "mysql", "mssql", "oracle")
_SCHEMES = (*_DATABASES, "postgres", "sqlserver", "sqlite", "postgresql+psycopg", "oracle+oracledb", "http", "tcp")
_HOSTS = (
    "127.0.0.1:1",
    "127.0.0.1",
    "[::1]:1",
    "[::1",
    "::1",
    "a..b:1",
    "тест.invalid:1,2",
    "127.0.0.1:99999999999999",
)
_HOSTS += ("127.0.0.1:-1", "127.0.0.1:port", "", ":1", "256.256.256.256:9", "127.0.0.1:1,127.0.0.1:2", "%2Ftmp%2Fx")
_PATHS = ("", "/", "/db", "/keybench", "/a/b", "/a b", "/%00", "/%zz", "/\udcff", "//")
_NAMES = ("password", "passwd", "pwd", "PASSWORD", "sslpassword", "Password", "secret", "x", "oauth_client_secret")
_OPTIONS = (
    "sslmode=disable",
    "connect_timeout=2",
    "ssl_ca=/x",
    "encrypt=no",
    "host=127.0.0.1",
    "unix_socket=/tmp/x",
    "port=abc",
)
_MARKS = "@:/?#[]%&=+,; \t\n\0\\'\"|{}<>^`~!$*()\udcff"


def urls(rng: Random) -> Case:
    """A command with a URL that has the secret as its password."""
    database = rng.choice(_DATABASES)
    url = _url(rng, database)
    spelled = url if rng.random() < 0.9 else f"{database}={url}"
    where = rng.random()
    small = ("--rows", "20", "--blocks", "1", "--layout", "uuid-v4")
    run = ("run", "--db", database, *small, "--results", "r.sqlite")
    environment = {"KEYBENCH_PASSWORD": SECRET} if rng.random() < 0.2 else {}
    if where < 0.4:
        given = ("--server", spelled) if rng.random() < 0.5 else (f"--server={spelled}",)
        dry = ("--dry-run",) if rng.random() < 0.5 else ()
        return Case((*run, *given, *dry), {}, environment)
    if where < 0.5:
        return Case(run, {}, {**environment, "KEYBENCH_SERVER": spelled.replace("\0", "")})
    if where < 0.6:
        server = json.dumps([spelled] if rng.random() < 0.5 else spelled, ensure_ascii=False)
        content = f"[run]\nserver = {server}\n".encode("utf-8", "surrogatepass")
        return Case(run, {"keybench.toml": content}, environment)
    if where < 0.7:
        return Case(("clean", "--dry-run", "--server", spelled), {}, environment)
    if where < 0.75:
        return Case(("inspect", spelled, *rng.choice(((), ("--json",)))), {}, environment)
    if where < 0.8:
        command = rng.choice((("advise", "-o"), ("site", "--verify"), ("check", "latest", "--baseline"), ("verify",)))
        return Case((*command, spelled), {}, environment)
    if where < 0.9:
        command = rng.choice(
            (("report", "latest"), ("export", "latest"), ("run", "--db", "sqlite", "--server", "model", *small))
        )
        return Case((*command, "--results", spelled), {}, environment)
    option = rng.choice(("--db", "--layout", "--column", "--rows", "--executor", "--image", "--resume", "--scenario"))
    given = (option, spelled) if rng.random() < 0.7 else (spelled,)
    return Case(("run", "--dry-run", *given), {}, environment)


def _url(rng: Random, database: str) -> str:
    scheme = database if rng.random() < 0.8 else rng.choice(_SCHEMES)
    host = _HOSTS[0] if rng.random() < 0.5 else rng.choice(_HOSTS)
    path = rng.choice(_PATHS[:4]) if rng.random() < 0.7 else rng.choice(_PATHS)
    options = rng.sample(_OPTIONS, rng.choice((0, 0, 1, 2)))
    password = _marked(rng, SECRET)
    if rng.random() < 0.5:
        login = f"me:{password}@"
    else:
        login = rng.choice(("", "me@"))
        options.insert(rng.randrange(len(options) + 1), f"{rng.choice(_NAMES)}={password}")
    query = "?" + "&".join(options) if options else ""
    url = f"{scheme}://{login}{host}{path}{query}"
    if login.startswith("me:") and rng.random() < 0.2:  # it may be taken for a file: all but a login is its name
        url = url.replace("://", rng.choice((":/", ":", "//", "/", " ://", ":///")))
    if rng.random() < 0.05:
        url = rng.choice(TEXTS[:10]) + url
    return url


def _marked(rng: Random, text: str) -> str:
    """The text with up to two marks in it, most of which a URL must have as %XX."""
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(_MARKS) + text[at:]
    return text
