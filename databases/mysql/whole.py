"""All pages of any table of InnoDB with its keys, read from its file, and the page model's empty table that goes on."""

import os
import re
from pathlib import Path

import numpy as np

from keybench.databases.contract.existing import Allow, WholeIndex
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MARIADB
from keybench.databases.mysql.ibd_file import index_pages, keys_of, pages_of, record_bytes, summarise
from keybench.databases.mysql.row_sample import Facts
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model.column import Column
from keybench.pagemodels.innodb.model import InnodbModel
from keybench.pagemodels.innodb.records import branch_record


def whole_table(server: Queries, facts: Facts, column: Column, allow: Allow) -> WholeIndex:
    """The table, whose primary key is that column. UsageError for a table with other indexes or rows of several sizes;
    EnvironmentMissing where its file cannot be read here."""
    # As files and InnoDB's dictionary spell a name: `@` and four hexadecimal digits for what is no letter or digit.
    name = "/".join(re.sub(r"[^A-Za-z0-9_]", lambda match: f"@{ord(match[0]):04x}", part) for part in facts.place)
    file, host = Path(str(server.value("SELECT @@datadir")), f"{name}.ibd"), server.address.parameters.get("host", "")
    if host not in {"", "localhost", "127.0.0.1"} or not os.access(file, os.R_OK):
        raise EnvironmentMissing(
            f"InnoDB shows its pages to nobody by SQL: run this on the server's machine, as a user who may read {file}."
        )
    indexes = server.rows(server.flavour.index_sql, name)  # (id, name, id of the table) of each
    if [str(row[1]) for row in indexes] != ["PRIMARY"]:
        raise UsageError("--next knows tables of InnoDB whose primary key is their only index.")
    allow(
        file.stat().st_size,
        "FLUSH TABLES … FOR EXPORT lets nobody write to the table while its file is read; that needs RELOAD, LOCK "
        "TABLES and PROCESS.",
    )
    server.rows("SET SESSION TRANSACTION READ WRITE")  # a read-only one may lock no table
    try:
        server.rows(f"FLUSH TABLES {facts.from_sql} FOR EXPORT")
        page_bytes = int(server.value("SELECT @@innodb_page_size"))
        pages = np.array(pages_of(file, page_bytes))  # a copy: the file may change after UNLOCK
    finally:
        server.rows("UNLOCK TABLES")
        server.rows("SET SESSION TRANSACTION READ ONLY")
    index = summarise(pages, int(indexes[0][0]))
    leaves, branch_bytes = pages[index.levels[0]], branch_record(column.width, "clustered")
    if index.height:  # else there are no branch records yet, and their size is that of InnoDB's format
        branch_bytes = record_bytes(pages[np.concatenate(index.levels[1:])])
    model = InnodbModel(record_bytes(leaves), branch_bytes, mysql=server.flavour is not MARIADB, page_bytes=page_bytes)
    return WholeIndex(
        index_pages(pages, index, column),
        keys_of(leaves, column),
        lambda ranks, next_ranks, _: model.state(len(ranks) + len(next_ranks)),
        fill=100,
    )
