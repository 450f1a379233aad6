-- date_from_comb(uuid): when a COMB was made, of those that new_comb() or RT.Comb's Provider.PostgreSql makes.
-- The counterpart of RT.Comb's T-SQL function DateFromComb.
--
--   SELECT date_from_comb(id) FROM orders;
--
-- Any GUID is read, whoever made it: one that is no such COMB gives some other date. NULL beyond the year 9999, where
-- .NET and SQL Server fail. COMBs made for SQL Server have their time in the last six bytes and are not for this one.
--
-- Tested on PostgreSQL 15 and 18; made for 13 and newer. It is created in the first schema of the search path.
CREATE OR REPLACE FUNCTION date_from_comb(comb uuid)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
  -- Days and the rest apart, as in the original: an interval of that many milliseconds would lose the last ones.
  SELECT CASE WHEN ms < 253402300800000 THEN
    (timestamp '1970-01-01' + (ms / 86400000) * interval '1 day' + (ms % 86400000) * interval '1 millisecond')
    AT TIME ZONE 'UTC'
  END
  FROM (SELECT ('x' || encode(substring(uuid_send(comb) FOR 6), 'hex'))::bit(48)::bigint AS ms) AS read
$$;
