-- new_comb(): a COMB for a uuid column, as RT.Comb's Provider.PostgreSql makes it: a random GUID whose first six bytes
-- are milliseconds since 1970. The counterpart of RT.Comb's T-SQL function NewComb.
--
--   CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT new_comb(), …);
--
-- * The time leads, because PostgreSQL compares uuid from the first byte; NewComb puts it last, for SQL Server.
-- * Milliseconds are whole, as NewComb counts them: what is left of one is cut off.
-- * Each row has its own time. SQL Server evaluates SYSUTCDATETIME() once a statement, so that all its rows share one.
-- * Keys of one millisecond come in no order. Version and variant stay those of the random GUID: a key says 4.
-- * Given a GUID and an instant it makes the COMB of these two, as Create(Guid, DateTime) does in .NET.
--
-- Tested on PostgreSQL 15 and 18; made for 13 and newer. It is created in the first schema of the search path.
CREATE OR REPLACE FUNCTION new_comb(base uuid DEFAULT gen_random_uuid(), instant timestamptz DEFAULT clock_timestamp())
RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
  -- Truncated before the multiplication: version 13 extracts an epoch as a double, which has milliseconds exactly enough.
  SELECT encode(
    substring(int8send(round(extract(epoch FROM date_trunc('milliseconds', instant AT TIME ZONE 'UTC')) * 1000)::bigint) FROM 3)
    || substring(uuid_send(base) FROM 7),
    'hex')::uuid
$$;
