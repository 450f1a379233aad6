"""Foreign text (names in a database, messages of servers, files) as what a terminal shows and does not obey."""

import unicodedata


def printable(text: str) -> str:
    r"""The text with all that cannot be printed as an escape: control characters, marks of direction, lone surrogates.

    Ends of lines and all spaces stay. The escapes are those of JSON (`\u001b`), so that JSON means the same afterwards.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" or unicodedata.category(each) == "Zs" else _escaped(each)
        for each in text
    )


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()  # one of four digits, or two beyond 16 bits
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
