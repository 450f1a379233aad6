"""The address of a user's own server, from its URL."""

from __future__ import annotations

from collections.abc import Mapping

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.secret import from_url
from keybench.databases.hosting.url_parsing import UrlForm
from keybench.databases.oracle.settings import NAMES, options

_FORM = UrlForm("Oracle", "oracle://user@host:1521/service", NAMES)
_PORT = "1521"


def address_of(url: str, preferred: Mapping[str, str] | None = None) -> Address:
    """The address of an oracle:// URL, its password replaced by a reference. `preferred`: options before its own.

    UsageError, without the URL, where it cannot be understood, has an unknown option or names no user or service.
    """
    parts = _FORM.parse(url)
    if not parts.path or not parts.user:
        raise _FORM.misunderstood()
    where = {"host": parts.host, "port": parts.port or _PORT, "service": parts.path, "user": parts.user}
    chosen = options({**parts.options, **(preferred or {})})
    return Address("oracle", "url", {**chosen, **where}, secret=from_url(parts.password))
