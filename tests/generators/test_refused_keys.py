"""Keys that a layout cannot have made: which one, and why."""

from uuid import UUID

import pytest

from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from tests.errors import raised

V7 = "version and variant are not those of UUIDv7"
V8 = "version and variant are not those of UUIDv8"
LATE = "its time lies beyond the year 9999"
NEGATIVE = "its time component is negative"
LONG_DAY = "its time component exceeds 24 hours"
POMELO = "version and variant are not 4 and 8"


def of_net(digits: str) -> str:
    """The GUID whose bytes in .NET begin with these."""
    return str(UUID(bytes_le=bytes.fromhex(digits) + bytes(10)))


@pytest.mark.parametrize(
    ("name", "guid", "reason"),
    [
        ("rt-comb-sql", "00000000-0000-0000-0000-e677d21fdc00", LATE),
        ("rt-comb-postgresql", "ffffffff-ffff-0000-0000-000000000000", LATE),
        ("rt-comb-legacy", "00000000-0000-0000-0000-0000ffffffff", NEGATIVE),
        ("rt-comb-legacy", "00000000-0000-0000-0000-000080000000", NEGATIVE),
        ("rt-comb-legacy", "00000000-0000-0000-0000-0000018b8201", LONG_DAY),
        ("nhibernate-comb", "00000000-0000-0000-0000-b13a018b8203", LONG_DAY),
        ("marten-2016", of_net("b13a00470000"), "there is no 4 in its fifth byte"),
        ("marten-2016", of_net("b13affff4fff"), LONG_DAY),
        ("marten-2016", of_net("b13a18b84200"), LONG_DAY),
        *(
            (name, guid, reason)
            for name in ("pomelo-mysql", "pomelo-mysql-little-endian")
            for guid, reason in (
                ("08d9f65a-2d78-78b0-8001-020304050607", POMELO),
                ("08d9f65a-2d78-48b0-9001-020304050607", POMELO),
                ("ffffffff-ffff-48b0-8001-020304050607", LATE),
            )
        ),
        ("buvinghausen-legacy", "ffffffff-ffff-ffff-9e8c-06234507a126", LATE),
        ("buvinghausen-v7", "017f22e2-79b0-4000-b1e7-c0ffee0badf0", V7),
        ("buvinghausen-v7-sql", "017f22e2-79b0-7000-b1e7-c0ffee0badf0", V7),
        ("buvinghausen-v8time", "8c122024-7e5c-76a0-87a1-224c08e62345", V8),
        ("buvinghausen-v8time-sql", "8c122024-7e5c-86a0-17a1-224c08e62345", V8),
        ("uuid-v7", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", V7),
        ("uuid-v7", "017f22e2-79b0-7cc3-d8c4-dc0c0c07398f", V7),
        ("dotnet-v7", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", V7),
        ("uuidnext-v8-sqlserver", "00112233-4455-7677-8000-017f22e279b0", V8),
        *(
            (f"jhtodd-{form}-v4", "39babcb4-e446-5ed5-9012-2e27653a9d13", V7.replace("v7", "v4"))
            for form in ("string", "binary", "end")
        ),
        ("percona-ordered-uuid", "58e0a7d7-eebc-11d8-9669-0800200c9a66",
         "version and variant are not those of a reordered UUIDv1"),
        ("newsequentialid", "c232ab00-9414-11ec-b3c8-9f6bdeced846",
         "version and variant are not those of a shuffled UUIDv1"),
    ],
)  # fmt: skip
def test_a_key_that_the_layout_cannot_have_made_is_named_with_the_reason(name, guid, reason, guids_of) -> None:
    readable = "00000000-0000-0000-0000-000000000000"
    before = [readable] if name.startswith("rt-comb") else []  # the refused one is found behind others
    said = raised(UsageError, layout(name).decode, guids_of([*before, guid]))
    assert said == f"{guid} is no {name} key: {reason}. Decode it as the layout that made it."
