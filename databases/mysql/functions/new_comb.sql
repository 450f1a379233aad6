-- new_comb(): a COMB for a BINARY(16) column, as RT.Comb's Provider.PostgreSql makes it: a random GUID whose first six
-- bytes are milliseconds since 1970. The counterpart of RT.Comb's T-SQL function NewComb.
--
--   INSERT INTO orders (id, ...) VALUES (new_comb(), ...)
--
-- * To fill the column by default, use a trigger, because a column's DEFAULT may not call stored functions:
--     CREATE TABLE orders (id BINARY(16) DEFAULT '' PRIMARY KEY, ...)
--     CREATE TRIGGER orders_id BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = new_comb()
-- * The time comes first, because BINARY compares from the first byte. NewComb puts it last, for SQL Server.
-- * Milliseconds are truncated, as by NewComb.
-- * All rows of one statement share one time, as they do in SQL Server.
-- * Keys of the same millisecond are in random order. Version and variant are those of the random GUID: version 4.
-- * create_comb(base, instant) makes the COMB of a GUID and an instant in UTC, as Create(Guid, DateTime) does in .NET.
--
-- Tested on MariaDB 10.11. RANDOM_BYTES is in MariaDB 10.10 and newer and in MySQL, on which this has not been run.
-- Each statement is one expression, so clients need no DELIMITER.
DROP FUNCTION IF EXISTS new_comb;
DROP FUNCTION IF EXISTS create_comb;
CREATE FUNCTION create_comb(base BINARY(16), instant DATETIME(6)) RETURNS BINARY(16)
DETERMINISTIC NO SQL
RETURN CONCAT(
  UNHEX(RIGHT(LPAD(HEX(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', instant) DIV 1000), 16, '0'), 12)),
  SUBSTRING(base, 7));
CREATE FUNCTION new_comb() RETURNS BINARY(16)
NOT DETERMINISTIC NO SQL
RETURN UNHEX(CONCAT(
  RIGHT(LPAD(HEX(
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000), 16, '0'), 12),
  HEX(ORD(RANDOM_BYTES(1)) & 15 | 64), HEX(RANDOM_BYTES(1)),
  HEX(ORD(RANDOM_BYTES(1)) & 63 | 128), HEX(RANDOM_BYTES(7))));
