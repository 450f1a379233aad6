"""The options of `keybench run`, each declared once: for the command line, keybench.toml and the environment."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Final, TypeVar, get_type_hints

import typer

from keybench import cli
from keybench.databases.contract.settings import ContainerOptions
from keybench.model.names import MOST_BLOCKS, MOST_ROWS
from keybench.runners import config as defaults

GIB: Final = 1 << 30

T = TypeVar("T")


def takes(options: type[T]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Gives a command the fields of a dataclass as its options (`_option`), each also set by the environment variable
    KEYBENCH_…; the command gets them, and its context, as keyword arguments."""
    hints, keyword = get_type_hints(options), inspect.Parameter.KEYWORD_ONLY
    annotated: Any = Annotated  # Any: mypy knows Annotated[…] as a type alone, not as a value
    parameters = [inspect.Parameter("context", keyword, annotation=typer.Context)]
    for one in fields(options):  # type: ignore[arg-type]
        # the field's own `more` comes last: it may say `envvar=None`
        names, more = one.metadata["names"], {"envvar": f"KEYBENCH_{one.name.upper()}"} | one.metadata["more"]
        option = annotated[hints[one.name], typer.Option(*names, **more)]
        parameters.append(inspect.Parameter(one.name, keyword, default=one.default, annotation=option))

    def with_signature(command: Callable[..., int]) -> Callable[..., int]:
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # which typer reads
        return command

    return with_signature


def load_config(context: typer.Context, value: bool) -> bool:
    """Makes what keybench.toml sets the defaults of the other options, which are processed later (`is_eager`). Does
    nothing with --no-config: then `value` is False. Returns `value`, as typer wants."""
    if value:
        options = {option.name: option for option in context.command.params if option.name}
        context.default_map = defaults.options(
            "run", options.keys() - {"help", "config"}, repeated={name for name in options if options[name].multiple}
        )
    return value


def _option(default: Any, help: str, *names: str, **more: Any) -> Any:  # noqa: A002 (typer's word)
    """A field that is an option. `names`: its spellings, if it needs them; `more`: other arguments of typer.Option."""
    return field(default=default, metadata={"names": names, "more": {"help": help, **more}})


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Values of the options. Lists are comma-separated text. Empty text and None mean that the option was not given."""

    db: str = _option("", "Databases, comma-separated; `all` for every engine.")
    layout: str = _option(
        "", "Key layouts, comma-separated; `all` for every layout that clients make. The control is always added."
    )
    keys: str = _option(
        "",
        "A file of keys, one a line in order of arrival (UUIDs, integers, hexadecimal or text): a layout beside the "
        "others, with as many rows as it has lines.",
    )
    scenario: str = _option(defaults.SCENARIO, "The work: a scenario's name, or the path of a .toml file.")
    server: list[str] | None = _option(  # noqa: RUF009 (a field)
        None,
        "auto, a kind (container, local, embedded, model), DB=KIND, or a URL; may be repeated. Without --db: embedded.",
    )
    column: str = _option(
        "",
        "Key columns, comma-separated: names, native (the database's own type), or suited (that and, beside it, the "
        "column in whose order the layout ascends). By default the scenario's, else native.",
    )
    set: list[str] | None = _option(  # noqa: RUF009
        None,
        "A setting of the server or its tables on which pages depend, as page_size=8K or mariadb.page_size=8K; may be "
        "repeated. `keybench list databases` names them.",
        "--set",
        metavar="NAME=VALUE",
    )
    rows: int | None = _option(None, "Rows of each trial; the writers' rates scale with it.", min=1, max=MOST_ROWS)
    writers: int | None = _option(None, "Number of equal writers, in place of the scenario's.", min=1, max=64)
    payload: str = _option(
        "",
        "Characters beside the key, in place of the scenario's: 100, a range 0-200 or 0-200:zipfian, or several, "
        "comma-separated.",
    )
    executor: str = _option(
        "", "Dask scheduler whose workers write, tcp://host:port; by default processes of this machine write."
    )
    blocks: int | None = _option(
        None,
        "Repetitions of all trials, each in its own order; by default the scenario's. Use 6 or more for claims.",
        min=1,
        max=MOST_BLOCKS,
    )
    profile: str = _option("durable", "Server settings: durable (fsync, full-page writes) or fast (neither).")
    seed: int = _option(1, "Determines the order of trials and all random bytes.", min=0)
    ram: str = _option("", "With --server model: the server's page cache, as 64GB (a GB has 1,024³ bytes).")
    checkpoint: str = _option(
        "", "With --server model: log between two checkpoints, as 4GB, as the engine's setting counts it."
    )
    image: str = _option("", "Container images in place of keybench's choice: DB=NAME:TAG, comma-separated.")
    memory: float = _option(
        ContainerOptions.memory_bytes / GIB,
        "GiB of memory that each container may use.",
        min=0.5,
        max=1e6,
        callback=cli.finite,
    )
    cpus: float = _option(
        ContainerOptions.cpus, "Processors that each container may use.", min=0.1, max=1e4, callback=cli.finite
    )
    results: str = _option(cli.RESULTS, "Results database: a file, or a PostgreSQL URL.")
    resume: str = _option(
        "", "Go on with this run (an id, a unique prefix of it, or `latest`); recorded trials are kept.", envvar=None
    )
    trial_timeout: float = _option(
        3600.0, "Seconds after which a trial is stopped and counts as failed.", min=1, max=1e9, callback=cli.finite
    )
    accept_eula: str = _option(
        "", "Databases whose licence terms you accept; containers of mssql need it.", envvar=None
    )
    dry_run: bool = _option(
        False,
        "Show when each writer is busy, the trials and the disk they need; start nothing.",
        "--dry-run",
        envvar=None,
    )
    debug: bool = _option(False, "Print the traceback of each unexpected exception in a trial.", "--debug")
    config: bool = _option(
        True, "Read defaults from keybench.toml in this folder.", envvar=None, is_eager=True, callback=load_config
    )

    @property
    def servers(self) -> Sequence[str]:
        """The values of --server. With neither --server nor --db: the kind that needs no installation."""
        return self.server or ([] if self.db else [defaults.SERVER])
