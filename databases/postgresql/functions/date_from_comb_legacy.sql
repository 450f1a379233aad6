-- date_from_comb_legacy(uuid): when a COMB was made, of those that new_comb_legacy() or RT.Comb's PostgreSqlCombProvider
-- with SqlDateTimeStrategy makes. The counterpart of RT.Comb's T-SQL function DateFromCombLegacy.
--
--   SELECT date_from_comb_legacy(id) FROM orders;
--
-- To the microsecond, cut off; SQL Server shows the same 1/300 s as .000, .003 or .007. Any GUID is read, whoever made
-- it; NULL where its time of day is negative or exceeds 24 hours, where RT.Comb's .NET code fails: 24 hours themselves
-- are the next midnight, as there. COMBs made for SQL Server have their time in the last six bytes and are not for this
-- one.
--
-- Tested on PostgreSQL 15 and 18; made for 13 and newer. It is created in the first schema of the search path.
CREATE OR REPLACE FUNCTION date_from_comb_legacy(comb uuid)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
  SELECT CASE WHEN units <= 25920000 THEN
    (timestamp '1900-01-01' + days * interval '1 day' + (units * 10000 / 3) * interval '1 microsecond')
    AT TIME ZONE 'UTC'
  END
  FROM (SELECT
    ('x' || encode(substring(uuid_send(comb) FOR 2), 'hex'))::bit(16)::int AS days,
    ('x' || encode(substring(uuid_send(comb) FROM 3 FOR 4), 'hex'))::bit(32)::bigint AS units
  ) AS read
$$;
