-- new_comb_legacy(): the COMB of 2002 for a uuid column, as RT.Comb's PostgreSqlCombProvider makes it with
-- SqlDateTimeStrategy: a random GUID whose first six bytes are days since 1900 (two) and 1/300 s since midnight (four).
-- The counterpart of RT.Comb's T-SQL function NewCombLegacy.
--
--   CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT new_comb_legacy(), …);
--
-- * The time leads, because PostgreSQL compares uuid from the first byte; NewCombLegacy puts it last, for SQL Server.
-- * It is rounded to the nearest 1/300 s, as SQL Server's datetime is; RT.Comb's .NET code cuts off instead. From 1/600 s
--   before midnight on a key has the next day's first 1/300 s.
-- * Days wrap: 1900-01-01 and 2079-06-07 are both 0.
-- * Keys of one 1/300 s come in no order. Version and variant stay those of the random GUID: a key says 4.
-- * Given a GUID and an instant it makes the COMB of these two, as Create(Guid, DateTime) does in .NET.
--
-- Tested on PostgreSQL 15 and 18; made for 13 and newer. It is created in the first schema of the search path.
CREATE OR REPLACE FUNCTION new_comb_legacy(
  base uuid DEFAULT gen_random_uuid(), instant timestamptz DEFAULT clock_timestamp())
RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
  SELECT encode(
    substring(int4send(date(utc) - date '1900-01-01' + units / 25920000) FROM 3)
    || int4send(units % 25920000)
    || substring(uuid_send(base) FROM 7),
    'hex')::uuid
  FROM (SELECT
    instant AT TIME ZONE 'UTC' AS utc,
    -- In microseconds times three, of which a unit has 10000; extract(microseconds …) counts within the minute.
    ((((extract(hour FROM instant AT TIME ZONE 'UTC') * 60 + extract(minute FROM instant AT TIME ZONE 'UTC'))::bigint
      * 60000000 + extract(microseconds FROM instant AT TIME ZONE 'UTC')::bigint) * 3 + 5000) / 10000)::int AS units
  ) AS told
$$;
