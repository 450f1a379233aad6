"""Passwords by reference: an address travels and is printed, the password stays where it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from keybench.errors import EnvironmentMissing


@dataclass(frozen=True)
class Secret:
    """A password in an environment variable or in a file; neither `repr` nor pickle holds the password itself."""

    variable: str = ""
    file: str = ""

    def reveal(self) -> str:
        """The password; EnvironmentMissing where the reference leads nowhere."""
        if self.variable:
            try:
                return os.environ[self.variable]
            except KeyError:
                raise EnvironmentMissing(f"the password variable {self.variable} is not set: export it.") from None
        try:
            return Path(self.file).read_text(encoding="utf-8").rstrip("\n")
        except OSError as error:
            raise EnvironmentMissing(f"the password file {self.file} cannot be read: {error.strerror}.") from None
