"""Keys that Oracle makes itself."""

from __future__ import annotations

from keybench.model.names import CONTROL
from keybench.model.table import ServerKeys

_IDENTITY = "GENERATED ALWAYS AS IDENTITY"

SERVER_KEYS = (
    ServerKeys(
        "server-identity",
        "an identity column, sequence cache of 20",
        "number",
        "rfc",
        f"{_IDENTITY} (CACHE 20)",
        replica=CONTROL,
    ),
    ServerKeys(
        "server-identity-cache-1000",
        "the same, cache of 1,000",
        "number",
        "rfc",
        f"{_IDENTITY} (CACHE 1000)",
        replica=CONTROL,
    ),
    ServerKeys(
        "server-identity-no-cache",
        "the same, without a cache",
        "number",
        "rfc",
        f"{_IDENTITY} (NOCACHE)",
        replica=CONTROL,
    ),
    ServerKeys(
        "server-sys-guid",
        "SYS_GUID(): a counter of each session first",
        "raw16",
        "rfc",
        "DEFAULT SYS_GUID()",
        replica="oracle-sys-guid",
    ),
)
"""SYS_GUID was seen to ascend in a session on Linux; that is not documented: `checks` tests it."""
