"""Reads scenarios from TOML files: keybench's own by name, which are in this folder, and the user's by path."""

from collections.abc import Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from keybench.errors import UsageError, shortened, unknown_name
from keybench.model import parsers
from keybench.scenarios.parts import ALTERNATIVE, FilePart, TablePart
from keybench.scenarios.schema import Scenario, scenario_of


def scenario_names() -> list[str]:
    """Names of the scenarios that come with keybench."""
    names = [item.name for item in files(__package__).iterdir()]
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_scenario(name: str) -> Scenario:
    """The scenario called `name`, or the one in the file `name` if it ends in .toml; UsageError if it is invalid."""
    if name.endswith(".toml"):
        path = Path(name)
        try:
            text = parsers.file_text(path)
        except (OSError, ValueError) as error:  # ValueError: no text, or a NUL in the path
            raise UsageError(f"scenario file {name} cannot be read ({error}): check the path.") from None
        return parse_scenario(path.stem, text, where=name)
    if name not in scenario_names():
        unknown = unknown_name("scenario", name, scenario_names())
        raise UsageError(f"{unknown} Your own: give the path of a file that ends in .toml.")
    return parse_scenario(name, (files(__package__) / f"{name}.toml").read_text(encoding="utf-8"), where=name)


def parse_scenario(name: str, text: str, *, where: str) -> Scenario:
    """The scenario in a TOML text. UsageError lists all problems in it; `where` names the text in messages."""
    try:
        content = parsers.toml(text)
    except ValueError as error:
        raise UsageError(f"scenario {where} is no valid TOML: {error}.") from None
    if "name" in content:
        raise UsageError(
            f"scenario {where}:\n  name: no such field, because a scenario has the name of its file.\n"
            "Fields: docs/scenarios.md."
        )
    try:
        return scenario_of({**content, "name": name})
    except ValidationError as error:
        problems = "".join(f"\n  {_problem(item)}" for item in error.errors())
        raise UsageError(f"scenario {where}:{problems}\nFields: docs/scenarios.md.") from None


def _problem(item: ErrorDetails) -> str:
    """One of pydantic's errors as a line for the user: where it is in the file, what is wrong, what the file says."""
    # Names that begin with `ALTERNATIVE` are not in the file: pydantic puts them in for the forms of a value.
    location: Sequence[str | int] = [part for part in item["loc"] if not str(part).startswith(ALTERNATIVE)]
    where = ".".join(str(part) for part in location) or "the file"
    if item["type"] == "extra_forbidden":
        near = get_close_matches(str(location[-1]), field_names(), n=1)
        return f"{where}: no such field{f', did you mean {near[0]}?' if near else '.'}"
    message = item["msg"].removeprefix("Value error, ")
    if not location:
        return message
    if item["type"] == "missing" or isinstance(item["input"], dict):  # then the input is a whole table: not repeated
        return f"{where}: {message}"
    return f"{where}: {message} (it says {shortened(item['input'])})"


def field_names() -> list[str]:
    """The names of all fields of all parts of a file."""
    return sorted({name for part in FilePart.__subclasses__() for name in part.model_fields})


def with_payload(scenario: Scenario, text: str) -> Scenario:
    """The scenario with the payloads of --payload, as `100, 0-200:zipfian`, and a name that says so. UsageError for a
    text that is no list of payloads."""
    try:
        payload = tuple(_payload(part.strip()) for part in text.split(","))
        table = TablePart(**{**scenario.table.model_dump(), "payload": payload})
    except (ValueError, ValidationError):
        raise UsageError(
            f"--payload {text}: write a number of characters up to 1,000,000, or a range with a distribution (uniform, "
            "zipfian or row-number), as in 100, 0-200 or 0-200:zipfian; several are separated by commas."
        ) from None
    return scenario.model_copy(update={"table": table, "name": f"{scenario.name}, payload {text}"})


def _payload(text: str) -> int | dict[str, object]:
    """One payload as a scenario file has it: `100` is a number, `0-200:zipfian` a range; ValueError for other texts."""
    lengths, _, distribution = text.partition(":")
    least, dash, most = lengths.partition("-")
    if not dash and not distribution:
        return int(least)
    return {"min": int(least), "max": int(most)} | ({"distribution": distribution} if ":" in text else {})
