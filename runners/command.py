"""The command `keybench run`.

The modules that a run needs are imported when it begins, so that `keybench run --help` answers at once.
"""

import sys
from typing import Any

import typer

from keybench import cli
from keybench.runners.options import RunOptions, takes

app = cli.application()


@app.command(epilog=cli.EXIT_CODES)
@takes(RunOptions)
def run(context: typer.Context, **values: Any) -> int:
    """Insert rows under each key layout into real servers and measure what that does to the index.

    Without options: PostgreSQL 18 and SQLite, which need no installation, five layouts of 20,000 rows, six times, in
    about a minute.

    Examples:

      keybench run --db postgresql --layout uuid-v4,uuid-v7 --scenario two-million --blocks 6

      keybench run --db postgresql,sqlite --column binary16-mssql --layout all

      keybench run --db postgresql --server postgresql://me@db.example/bench

      keybench run --db mariadb --set page_size=8K --layout uuid-v4,uuid-v7

      keybench run --db postgresql --server model --ram 256MB --scenario beyond-cache
    """
    from keybench.databases.hosting import secret
    from keybench.results.store.database import Store
    from keybench.runners import launch
    from keybench.runners.execute import execute
    from keybench.runners.progress import say

    options, console = RunOptions(**values), cli.console()
    sources = {name: context.get_parameter_source(name) for name in context.params}
    on_command_line = frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")
    with launch.licences_accepted(options.accept_eula), secret.removed_afterwards():
        if options.resume:
            launch.refuse_beside_resume(on_command_line)
        else:
            request, servers = launch.request_of(options, on_command_line)
            notes = launch.notes(options, request)
            if options.dry_run:
                return launch.dry_run(request, notes, console)
            for note in notes:
                say(console, note)
        with Store.open(options.results, write=True, create=not options.resume) as store:
            if options.resume:
                run_id, request, servers = launch.recorded_run(store, options)
            else:
                run_id = launch.add_run(store, request, launch.command_line(sys.argv[1:]))
            code = execute(request, store, run_id, servers, console, debug=options.debug)
        say(console, f"next: keybench report {run_id}{launch.results_option(options.results)} -o report.html")
        return code
