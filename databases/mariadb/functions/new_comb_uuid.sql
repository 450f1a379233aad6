-- new_comb_uuid(): a COMB for MariaDB's type uuid, as RT.Comb's Provider.Sql makes it: a random GUID whose last six
-- bytes are milliseconds since 1970. The bytes are those that RT.Comb's T-SQL function NewComb makes for SQL Server.
--
--   INSERT INTO orders (id, ...) VALUES (new_comb_uuid(), ...)
--
-- * To fill the column by default, use a trigger, because a column's DEFAULT may not call stored functions:
--     CREATE TABLE orders (id UUID DEFAULT UUID() PRIMARY KEY, ...)
--     CREATE TRIGGER orders_id BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = new_comb_uuid()
-- * The time is last, because MariaDB compares the last six bytes of such a uuid first. For BINARY(16) use new_comb().
-- * All rows of one statement share one time, as they do in SQL Server.
-- * Keys of the same millisecond are in random order. Version and variant are those of the random GUID: version 4.
-- * create_comb_uuid(base, instant) makes the COMB of a GUID and an instant in UTC, as Create(Guid, DateTime) in .NET.
--
-- Tested on MariaDB 10.11, made for 10.10 and newer. Each statement is one expression, so clients need no DELIMITER.
DROP FUNCTION IF EXISTS new_comb_uuid;
DROP FUNCTION IF EXISTS create_comb_uuid;
CREATE FUNCTION create_comb_uuid(base UUID, instant DATETIME(6)) RETURNS UUID
DETERMINISTIC NO SQL
RETURN CONCAT(
  LEFT(base, 24),
  RIGHT(LPAD(HEX(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', instant) DIV 1000), 16, '0'), 12));
CREATE FUNCTION new_comb_uuid() RETURNS UUID
NOT DETERMINISTIC NO SQL
RETURN create_comb_uuid(
  CONCAT(HEX(RANDOM_BYTES(6)), HEX(ORD(RANDOM_BYTES(1)) & 15 | 64), HEX(RANDOM_BYTES(1)),
    HEX(ORD(RANDOM_BYTES(1)) & 63 | 128), HEX(RANDOM_BYTES(7))),
  UTC_TIMESTAMP(6));
