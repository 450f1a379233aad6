"""The reader of buvinghausen's SequentialGuid (6.x `Guid.ToDateTime`): the time that it finds in a GUID.

It does not know which layout made a GUID. It tries these rules on the bytes as they are, then after `FromSqlGuid`:

- RFC variant: version 8 is 60 bits of ticks, version 7 is milliseconds since 1970, any other version is no time.
- Another variant: 64 bits of ticks if r0 is 8, unless r7 and r8 look like those of a version 7 or 8 for SQL Server.
- A time is accepted only from 1970 to one second from now.

So keys made ahead of this machine's clock have no time. Legacy keys have none from 2056-01-27T22:30:34Z on, where r0
becomes 9, and, since version 5, none if the machine's hash begins with the bits of the RFC variant, as a quarter do. A
random version 4 GUID has a time if its bytes after `FromSqlGuid` happen to fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.bits import from_sql_guid, read_words
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH, Ticks
from keybench.model.keys import Keys

_MS_MASK = (1 << 48) - 1


def to_datetime(keys: Keys, now: int) -> tuple[Ticks, NDArray[np.bool_]]:
    """The ticks that it reads when the clock shows `now`, 0 where it reads none, and for which GUIDs it reads any.

    Raises UsageError for keys that are not GUIDs.
    """
    ticks, known = _read(keys, now)
    if not known.all():
        turned = keys.data.copy()
        from_sql_guid(turned)  # type: ignore[arg-type]
        again, known_again = _read(Keys(turned, "uuid"), now)
        ticks, known = np.where(known, ticks, again), known | known_again
    return np.where(known, ticks, 0), known


def _read(keys: Keys, now: int) -> tuple[Ticks, NDArray[np.bool_]]:
    high, low = (word.view(np.int64) for word in read_words(keys))
    version, variant = high >> 12 & 15, low >> 62 & 3
    r0, r7, r8_high = high >> 56 & 0xFF, high & 0xFF, low >> 60 & 15
    milliseconds = UNIX_EPOCH + (high >> 16 & _MS_MASK) * TICKS_PER_MS
    ticks = np.where(version == 8, (high >> 16 & _MS_MASK) << 12 | high & 0xFFF, milliseconds)
    ticks = np.where(variant == 2, ticks, high)
    for_sql = (r7 >> 6 == 2) & ((r8_high == 7) | (r8_high == 8))
    known = np.where(variant == 2, (version == 7) | (version == 8), (r0 == 8) & ~for_sql)
    return ticks, known & (ticks >= UNIX_EPOCH) & (ticks <= now + TICKS_PER_SECOND)
