"""The options of `keybench run`, each declared once: for the command line, keybench.toml and the environment."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, TypeVar, get_type_hints

import typer

from keybench import cli
from keybench.databases.contract.settings import ContainerOptions
from keybench.model.names import MOST_BLOCKS, MOST_ROWS
from keybench.runners import config as defaults

GIB: Final = 1 << 30

T = TypeVar("T")


def takes(options: type[T]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Gives a command the fields of a dataclass as its options; it gets them, and its context, as keyword arguments."""
    hints = get_type_hints(options, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(field.name, keyword, default=field.default, annotation=hints[field.name])
        for field in fields(options)  # type: ignore[arg-type]
    ]
    context = inspect.Parameter("context", keyword, annotation=typer.Context)

    def with_signature(command: Callable[..., int]) -> Callable[..., int]:
        command.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
        return command

    return with_signature


def load_config(context: typer.Context, value: bool) -> bool:
    """Reads keybench.toml before the other options are processed."""
    if value:
        named = {parameter.name: parameter for parameter in context.command.params if parameter.name}
        context.default_map = defaults.options(
            "run", named.keys() - {"help", "config"}, repeated={name for name in named if named[name].multiple}
        )
    return value


def _option(variable: str, help: str, *names: str, **more: Any) -> Any:  # noqa: A002 (typer's word)
    """An option that the environment variable KEYBENCH_… can set, too. `more` are other arguments of typer.Option."""
    return typer.Option(*names, envvar=f"KEYBENCH_{variable}", help=help, **more)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Values of the options. Lists are comma-separated text. Empty text and None mean that the option was not given."""

    db: Annotated[str, _option("DB", "Databases, comma-separated; `all` for every engine.")] = ""
    layout: Annotated[
        str,
        _option(
            "LAYOUT",
            "Key layouts, comma-separated; `all` for every layout that clients make. The control is always added.",
        ),
    ] = ""
    keys: Annotated[
        str,
        _option(
            "KEYS",
            "A file of keys, one a line in order of arrival (UUIDs, integers, hexadecimal or text): a layout beside "
            "the others, with as many rows as it has lines.",
        ),
    ] = ""
    scenario: Annotated[str, _option("SCENARIO", "The work: a scenario's name, or the path of a .toml file.")] = (
        defaults.SCENARIO
    )
    server: Annotated[
        list[str] | None,
        _option(
            "SERVER",
            "auto, a kind (container, local, embedded, model), DB=KIND, or a URL; may be repeated. Without --db: "
            "embedded.",
        ),
    ] = None
    column: Annotated[
        str,
        _option(
            "COLUMN",
            "Key columns, comma-separated: names, native (the database's own type), or suited (that and, beside it, "
            "the column in whose order the layout ascends). By default the scenario's, else native.",
        ),
    ] = ""
    set: Annotated[
        list[str] | None,
        _option(
            "SET",
            "A setting of the server or its tables on which pages depend, as page_size=8K or mariadb.page_size=8K; "
            "may be repeated. `keybench list databases` names them.",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = None
    rows: Annotated[
        int | None, _option("ROWS", "Rows of each trial; the writers' rates scale with it.", min=1, max=MOST_ROWS)
    ] = None
    writers: Annotated[
        int | None, _option("WRITERS", "Number of equal writers, in place of the scenario's.", min=1, max=64)
    ] = None
    payload: Annotated[
        str,
        _option(
            "PAYLOAD",
            "Characters beside the key, in place of the scenario's: 100, a range 0-200 or 0-200:zipfian, or several, "
            "comma-separated.",
        ),
    ] = ""
    executor: Annotated[
        str,
        _option(
            "EXECUTOR",
            "Dask scheduler whose workers write, tcp://host:port; by default processes of this machine write.",
        ),
    ] = ""
    blocks: Annotated[
        int | None,
        _option(
            "BLOCKS",
            "Repetitions of all trials, each in its own order; by default the scenario's. Use 6 or more for claims.",
            min=1,
            max=MOST_BLOCKS,
        ),
    ] = None
    profile: Annotated[
        str, _option("PROFILE", "Server settings: durable (fsync, full-page writes) or fast (neither).")
    ] = "durable"
    seed: Annotated[int, _option("SEED", "Determines the order of trials and all random bytes.", min=0)] = 1
    ram: Annotated[
        str, _option("RAM", "With --server model: the server's page cache, as 64GB (a GB has 1,024³ bytes).")
    ] = ""
    checkpoint: Annotated[
        str,
        _option(
            "CHECKPOINT", "With --server model: log between two checkpoints, as 4GB, as the engine's setting counts it."
        ),
    ] = ""
    image: Annotated[
        str, _option("IMAGE", "Container images in place of keybench's choice: DB=NAME:TAG, comma-separated.")
    ] = ""
    memory: Annotated[
        float, _option("MEMORY", "GiB of memory that each container may use.", min=0.5, max=1e6, callback=cli.finite)
    ] = ContainerOptions.memory_bytes / GIB
    cpus: Annotated[
        float, _option("CPUS", "Processors that each container may use.", min=0.1, max=1e4, callback=cli.finite)
    ] = ContainerOptions.cpus
    results: Annotated[str, _option("RESULTS", "Results database: a file, or a PostgreSQL URL.")] = defaults.RESULTS
    resume: Annotated[
        str,
        typer.Option(help="Go on with this run (an id, a unique prefix of it, or `latest`); recorded trials are kept."),
    ] = ""
    trial_timeout: Annotated[
        float,
        _option(
            "TRIAL_TIMEOUT",
            "Seconds after which a trial is stopped and counts as failed.",
            min=1,
            max=1e9,
            callback=cli.finite,
        ),
    ] = 3600.0
    accept_eula: Annotated[
        str, typer.Option(help="Databases whose licence terms you accept; containers of mssql need it.")
    ] = ""
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show when each writer is busy, the trials and the disk they need; start nothing."
        ),
    ] = False
    debug: Annotated[
        bool, _option("DEBUG", "Print the traceback of each unexpected exception in a trial.", "--debug")
    ] = False
    config: Annotated[
        bool, typer.Option(is_eager=True, callback=load_config, help="Read defaults from keybench.toml in this folder.")
    ] = True

    @property
    def servers(self) -> Sequence[str]:
        """The values of --server. Without --db the run is the one that needs no installation."""
        return self.server or ([] if self.db else [defaults.SERVER])
