"""The table of fidelity, from the lines of several outputs."""

from benchmarks.fidelity_table import heading, markdown

OUTPUT = f"""real / model / difference where they are not equal, else the one figure of both; shares in %

{heading("MySQL", "9.7.4", "local", 1_000_000)}
  bigint clustered, payload 0, random: leaf 8 · density 59.9926 · branch 1   (model 30 × the server's rate)
  bigint fk, payload 0, random: leaf 6 · FRAGMENTATION 3.1 / 2.9 / -0.2 · branch 1   (model 79 × the server's rate)
  bigint fk, payload 0, 4 lagging by 0.5 %: leaf 6 · branch 1 · PLACES of 6 leaves   (model 79 × the server's rate)

3 of 3 have the leaf pages and the density of the model
{heading("PostgreSQL", "17.11", "local", 3000)}
  uuid clustered, payload 0, random: leaf 8 · density 59.9926 · branch 1   (model 30 × the server's rate)
"""


def test_a_cell_counts_loads_whose_every_figure_is_equal() -> None:
    assert markdown(OUTPUT).splitlines() == [
        "| server | rows | random | 4 lagging by 0.5 % | equal |",
        "|---|---|---|---|---|",
        "| MySQL 9.7.4 | 1,000,000 | 1/2 | 0/1 | 1 of 3 |",
        "| PostgreSQL 17.11 | 3,000 | 1/1 |  | 1 of 1 |",
    ]
