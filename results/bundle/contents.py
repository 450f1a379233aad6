"""The files of a bundle and their schema.

manifest.json  the schema's version, keybench's version, and the SHA-256 and size of each other file
run.json       the run, its servers' environments, its warnings
values.csv     every value: the columns of `keybench export`, whose times of some databases are ratios
README.txt     what the file is
"""

from __future__ import annotations

from typing import Final

from keybench.results.tidy import TRIAL, VALUE

# Schema history:
# 1 - the first.
SCHEMA: Final = 1

MANIFEST: Final = "manifest.json"
RUN: Final = "run.json"
VALUES: Final = "values.csv"
ABOUT: Final = "README.txt"
FILES: Final = (RUN, VALUES, ABOUT)
"""What the manifest lists."""

COLUMNS: Final = (*TRIAL, *VALUE)
"""Columns of `VALUES`."""

ABOUT_TEXT: Final = """\
Run {run} of keybench {version}: what was measured and where, to send in.

manifest.json  the SHA-256 of each other file
run.json       the run, its machine, versions and settings of the servers
values.csv     every value of every trial, one a row (docs/data.md)

There are no passwords, paths, or names of hosts and users in it, no messages of errors, and no absolute times of SQL
Server and Oracle, whose licences restrict publishing them. Look through it before you send it. Send it as an issue of
the repository that you have keybench from. `keybench site --verify FILE` checks it.
"""
