"""Passwords by reference. Addresses are sent to processes and printed, so they hold a reference to the password only.

Writer processes get the passwords of the runner when they start (`of_this_process`, `replace_with`). They cannot
inherit them: a server that is restarted has a new password, and the fork server keeps the environment of its own start.
Commands remove the passwords from the environment when they end (`removed_afterwards`).
"""

import itertools
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from keybench.databases.contract.roles import Secret
from keybench.errors import EnvironmentMissing

PASSWORD, PASSWORD_FILE = "KEYBENCH_PASSWORD", "KEYBENCH_PASSWORD_FILE"
"""Environment variables for servers whose URL has no password: the password itself, or the file that holds it."""


@contextmanager
def removed_afterwards() -> Iterator[None]:
    """A context in which `keep` may put passwords into the environment; its end removes them."""
    before = of_this_process()
    try:
        yield
    finally:
        replace_with(before)


def of_this_process() -> Mapping[str, str]:
    """This process's passwords by environment variable. They may be sent only to a process that it starts itself."""
    return {name: value for name, value in os.environ.items() if name.startswith(PASSWORD)}


def replace_with(passwords: Mapping[str, str]) -> None:
    """Replaces all passwords in the environment of this process with these."""
    for name in of_this_process():
        del os.environ[name]
    os.environ.update(passwords)


def from_url(password: str) -> Secret | None:
    """A reference to a URL's password. If `password` is empty, to the one that the environment has for such URLs; None
    if it has none."""
    if password:
        return keep(password)
    if os.environ.get(PASSWORD):
        return Secret(variable=PASSWORD)
    return Secret(file=os.environ[PASSWORD_FILE]) if os.environ.get(PASSWORD_FILE) else None


def keep(password: str) -> Secret:
    """Puts the password into an environment variable. Returns a reference to it."""
    for n in itertools.count(1):  # takes the first variable that is free or has that password already
        variable = f"{PASSWORD}_{n}"
        if os.environ.setdefault(variable, password) == password:
            break
    return Secret(variable=variable)


def on_this_machine(secret: Secret) -> Secret:
    """A reference, on this machine, to the password of an address from another machine, which sends no passwords: to
    the variable of the same name, else to the password for URLs without one. EnvironmentMissing if neither is here."""
    if secret.variable in os.environ:
        return secret
    if of_this_machine := from_url(""):
        return of_this_machine
    raise EnvironmentMissing(
        f"the server asks for a password and {socket.gethostname()}, where a writer is to run, has none: keybench "
        f"sends no passwords. Start the workers with {PASSWORD} or {PASSWORD_FILE} in their environment."
    )
