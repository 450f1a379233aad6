"""The console command `keybench`: every command under one name.

Worker processes import the program that started them, so everything is imported inside `main`.
"""

from __future__ import annotations


def main() -> None:
    """Runs the command and ends the process."""
    from keybench import commandline
    from keybench.databases import commands as databases
    from keybench.generators.commands import app as generators
    from keybench.results import export
    from keybench.results.check import command as check
    from keybench.results.claims import command as claims
    from keybench.results.compare import command as compare
    from keybench.results.report import command as report
    from keybench.runners import clean, doctor
    from keybench.runners import command as run

    app = commandline.application(help="Which primary-key layout should this table have? Measured on real servers.")
    app.add_typer(run.app)
    app.add_typer(report.app)
    app.add_typer(check.app)
    app.add_typer(compare.app)
    app.add_typer(export.app)
    app.add_typer(claims.app)
    app.add_typer(doctor.app)
    app.add_typer(clean.app)
    app.add_typer(generators.app, name="generators")
    app.add_typer(databases.app, name="databases")
    commandline.run(app)
