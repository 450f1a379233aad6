-- uuid_v7(): a UUIDv7 (RFC 9562) for servers before 18, which has uuidv7() built in.
--
--   CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT uuid_v7(), …);
--
-- * 48 bits of milliseconds since 1970, then 74 random bits. Keys of one millisecond come in no order; uuidv7() of
--   version 18 has a finer time there.
-- * Each row has its own time, also in one statement.
-- * Given a GUID and an instant it makes the UUIDv7 of these two.
--
-- Tested on PostgreSQL 15 and 18; made for 13 and newer. It is created in the first schema of the search path.
CREATE OR REPLACE FUNCTION uuid_v7(base uuid DEFAULT gen_random_uuid(), instant timestamptz DEFAULT clock_timestamp())
RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
  -- The variant is that of the random GUID; its version 4 is 0100, so that two more bits make it 7.
  -- Truncated before the multiplication: version 13 extracts an epoch as a double, which has milliseconds exactly enough.
  SELECT encode(set_bit(set_bit(
    substring(int8send(round(extract(epoch FROM date_trunc('milliseconds', instant AT TIME ZONE 'UTC')) * 1000)::bigint) FROM 3)
    || substring(uuid_send(base) FROM 7),
    52, 1), 53, 1), 'hex')::uuid
$$;
