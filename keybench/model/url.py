"""URLs of servers: their parts, and what may be shown and stored of them.

A URL may hold a password, and a malformed one may hold it anywhere. So a URL is taken apart before anything is said of
it, by a strict form of RFC 3986 section 3: one `@`, special characters as %XX. Of what does not have this form, the
scheme alone is shown.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

PASSWORD: Final = "password"  # noqa: S105 (the name of an option)
"""The option of a query that holds the password."""

_MOST_PORT: Final = 65_535
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,40}(?=://)")
_ESCAPED: Final = r"(?:%[0-9A-Fa-f]{2}|\w|[!$&'()*+;=.~^\"`{|}\\<>-])"
"""A character of a name. The delimiters / ? # [ ] @ : and the comma between hosts must be written as %XX."""
_HOST: Final = rf"(?:\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|{_ESCAPED}*)(?::[0-9]{{0,5}})?"
_FORM: Final = re.compile(
    rf"(?P<scheme>{_SCHEME.pattern})://"
    rf"(?:(?P<user>(?:{_ESCAPED}|,)*)(?::(?P<password>(?:{_ESCAPED}|[,:])*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    rf"(?P<path>(?:/(?:{_ESCAPED}|[,:])*)*)"
    r"(?:\?(?P<query>[^\s#?\x00-\x1f\x7f\ud800-\udfff]*))?"
)
_CONTROL: Final = re.compile(r"%(?:[01][0-9A-Fa-f]|7[Ff])")  # a control character as %XX
_OPTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*=.*")
_SECRET: Final = re.compile(r"(?i).*(?:passw(?:or)?d|pwd|secret)")
"""Names of options that hold a secret in some driver."""
_TYPED: Final = re.compile(r"(?P<before>(?:-[\w-]*=)?(?:\w+=)?)(?P<url>.*)", re.DOTALL)
"""An argument as it is typed: an option or a database's name may stand before a URL."""
_IN_TEXT: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s/?#@:]{0,200}:[^\s@]{0,200}@[^\s'\"]*")
"""A URL with a password, inside a message."""
_GIVEN_SECRET: Final = re.compile(r"(?i)((?:passw(?:or)?d|pwd|secret)=)[^&\s]+")
"""An option with a secret, inside a message."""


@dataclass(frozen=True)
class Url:
    """The parts of a URL as they are written, with their %XX; parts that it does not have are empty."""

    scheme: str
    user: str
    password: str = field(repr=False)
    hosts: str
    """Host and port, or several with commas between them."""
    path: str
    """With its leading /."""
    options: tuple[tuple[str, str], ...] = field(repr=False)
    """(name, value) of each option of the query."""

    def text_without_password(self, options: Iterable[tuple[str, str]] = ()) -> str:
        """The URL without its password, with these options."""
        query = "&".join(f"{name}={value}" for name, value in options)
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{self.hosts}{self.path}" + (f"?{query}" if query else "")


def is_url(text: str) -> bool:
    """Whether a server or results database is given as a URL, well-formed or not."""
    return "://" in text


def parse(text: str) -> Url | None:
    """The URL's parts; None if the text does not have the form of a URL."""
    match = _FORM.fullmatch(text)
    if not match or _CONTROL.search(text):
        return None
    options = [option.partition("=") for option in (match["query"] or "").split("&") if option]
    valid_hosts = all(map(_valid_host, match["hosts"].split(",")))
    if not valid_hosts or not all(_OPTION.fullmatch("".join(option)) for option in options):
        return None
    return Url(
        match["scheme"],
        match["user"] or "",
        match["password"] or "",
        match["hosts"],
        match["path"],
        tuple((name, value) for name, _, value in options),
    )


def _valid_host(host: str) -> bool:
    """Whether a host with a port has a possible port, and a name that can be asked for (RFC 1035 section 2.3.4)."""
    name, _, port = host.rpartition(":") if re.search(r":[0-9]*$", host) else (host, "", "")  # else there is no port
    if int(port or 0) > _MOST_PORT:
        return False
    if name.startswith("[") or "%" in name:  # an address in IPv6, or the %XX of a socket's path
        return True
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return True


def scheme(text: str) -> str:
    """The scheme of a URL, well-formed or not; empty if the text does not begin with one."""
    match = _SCHEME.match(text)
    return match[0] if match else ""


def without_password(text: str) -> str:
    """A URL without its password, so that it may be stored and used again. Any other text is returned unchanged.

    Its options are kept, so they must be known: a database refuses a URL with an unknown option first. Of a URL that
    cannot be parsed the scheme alone is returned.
    """
    if not is_url(text):
        return text
    url = parse(text)
    if url is None:
        return _scheme_alone(text)
    return url.text_without_password((name, value) for name, value in url.options if not _SECRET.fullmatch(name))


def shown(text: str) -> str:
    """A URL without its password and the values of its options, for messages on a URL that nobody has checked.

    Of a URL that cannot be parsed the scheme alone is shown. Of a text that may be one without its scheme, such as
    `me:word@host`, nothing is shown unless a file has that name. Any other text is returned unchanged.
    """
    if not is_url(text):
        return "…" if _may_be_url(text) and not os.path.lexists(text) else text
    url = parse(text)
    if url is None:
        return _scheme_alone(text)
    return url.text_without_password() + ("?…" if url.options else "")


def _scheme_alone(text: str) -> str:
    """The scheme of a URL and nothing else of it: `postgresql://…`."""
    return f"{scheme(text) or '…'}://…"


def argument_without_password(text: str) -> str:
    """An argument of a command line, such as `--server=URL` or `postgresql=URL`, with its URL `without_password`."""
    match = _TYPED.fullmatch(text)
    assert match is not None
    return (match["before"] or "") + without_password(match["url"])


def hidden(message: str, arguments: Iterable[str]) -> str:
    """The message without the secrets of URLs: those among the `arguments` of the command, and any with a password. An
    argument with a colon and then an @ may be a malformed URL: it is not shown either."""
    for argument in sorted(set(arguments), key=len, reverse=True):  # a long one may contain a short one
        for secret in _secrets(argument):
            replacement = shown(secret) if is_url(secret) else "…"
            for spelling in _spellings(secret):
                message = message.replace(spelling, replacement)
        # A path that was made of a URL is spelled otherwise, but the login in it is the same.
        login = argument.rpartition("@")[0].rpartition("/")[2]
        if ":" in login:
            message = message.replace(f"{login}@", "…@")
    message = _IN_TEXT.sub(lambda match: shown(match[0]), message)
    return _GIVEN_SECRET.sub(r"\1…", message)


def _secrets(argument: str) -> Iterator[str]:
    """What messages must not repeat of an argument: what may be a URL, and pieces of it, because an option may divide
    its argument at commas."""
    match = _TYPED.fullmatch(argument)
    assert match is not None
    for text in (argument, match["url"]):  # with and without the name of an option or database
        if is_url(text) or _may_be_url(text):
            yield text
            pieces = (piece.strip() for piece in text.split(","))
            yield from (piece for piece in pieces if is_url(piece) or "@" in piece)


def _spellings(url: str) -> Iterator[str]:
    """How messages may write a URL: whole; without its scheme, as a file's name, if it has options; as a path with
    fewer slashes. Each is given with escapes, too."""
    without_scheme = url.partition("://")[2]
    names = [url, without_scheme] if re.search(r"\?.*=", without_scheme) else [url]
    if is_url(url):
        names = [form for name in names for form in (name, str(PurePath(name)))]
    for name in names:
        yield from (name, repr(name)[1:-1], _escaped(name))


def _escaped(text: str) -> str:
    """The text as typer's messages show it: with \\xXX for what a terminal would not print."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)


def _may_be_url(text: str) -> bool:
    """Whether a text may be a malformed URL with a password: it has a colon and then an @."""
    return ":" in text.rpartition("@")[0]
