-- new_comb_legacy(): the COMB of 2002 for a BINARY(16) column, as RT.Comb's PostgreSqlCombProvider makes it with
-- SqlDateTimeStrategy: a random GUID whose first six bytes are days since 1900 (two) and 1/300 s since midnight (four).
-- The counterpart of RT.Comb's T-SQL function NewCombLegacy. Use it like new_comb().
--
-- * The time comes first, because BINARY compares from the first byte. NewCombLegacy puts it last, for SQL Server.
-- * It is rounded to the nearest 1/300 s, as SQL Server's datetime is. RT.Comb's .NET code truncates instead. From
--   1/600 s before midnight on, keys have the next day's first 1/300 s.
-- * Days wrap: 1900-01-01 and 2079-06-07 are both 0.
-- * All rows of one statement share one time, as they do in SQL Server.
-- * Keys of the same 1/300 s are in random order. Version and variant are those of the random GUID: version 4.
-- * create_comb_legacy(base, instant) makes the COMB of a GUID and an instant in UTC.
--
-- Tested on MariaDB 10.11. RANDOM_BYTES is in MariaDB 10.10 and newer and in MySQL, on which this has not been run.
-- Each statement is one expression, so clients need no DELIMITER.
DROP FUNCTION IF EXISTS new_comb_legacy;
DROP FUNCTION IF EXISTS create_comb_legacy;
CREATE FUNCTION create_comb_legacy(base BINARY(16), instant DATETIME(6)) RETURNS BINARY(16)
DETERMINISTIC NO SQL
RETURN CONCAT(
  UNHEX(RIGHT(LPAD(HEX(DATEDIFF(instant, DATE'1900-01-01')
    + (TIMESTAMPDIFF(MICROSECOND, DATE(instant), instant) * 3 + 5000) DIV 10000 DIV 25920000), 16, '0'), 4)),
  UNHEX(LPAD(HEX(
    (TIMESTAMPDIFF(MICROSECOND, DATE(instant), instant) * 3 + 5000) DIV 10000 MOD 25920000), 8, '0')),
  SUBSTRING(base, 7));
CREATE FUNCTION new_comb_legacy() RETURNS BINARY(16)
NOT DETERMINISTIC NO SQL
RETURN create_comb_legacy(
  UNHEX(CONCAT('000000000000', HEX(ORD(RANDOM_BYTES(1)) & 15 | 64), HEX(RANDOM_BYTES(1)),
    HEX(ORD(RANDOM_BYTES(1)) & 63 | 128), HEX(RANDOM_BYTES(7)))),
  UTC_TIMESTAMP(6));
