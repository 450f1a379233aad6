-- date_from_comb_legacy(BINARY(16)): the time, in UTC, of a COMB that new_comb_legacy() or RT.Comb's
-- PostgreSqlCombProvider with SqlDateTimeStrategy made. The counterpart of RT.Comb's T-SQL function DateFromCombLegacy.
--
--   SELECT date_from_comb_legacy(id) FROM orders
--
-- The result is truncated to microseconds, where SQL Server shows the same 1/300 s as .000, .003 or .007. It takes any
-- GUID. NULL where the time of day is negative or more than 24 hours, where RT.Comb's .NET code fails. Exactly 24 hours
-- are the next midnight, as there. It does not read COMBs made for SQL Server, whose time is in the last six bytes.
--
-- Tested on MariaDB 10.11, not on MySQL. It is one expression, so clients need no DELIMITER.
DROP FUNCTION IF EXISTS date_from_comb_legacy;
CREATE FUNCTION date_from_comb_legacy(comb BINARY(16)) RETURNS DATETIME(6)
DETERMINISTIC NO SQL
RETURN CASE WHEN CAST(CONV(HEX(SUBSTRING(comb, 3, 4)), 16, 10) AS UNSIGNED) <= 25920000 THEN
  TIMESTAMP'1900-01-01 00:00:00'
  + INTERVAL CAST(CONV(HEX(LEFT(comb, 2)), 16, 10) AS UNSIGNED) DAY
  + INTERVAL CAST(CONV(HEX(SUBSTRING(comb, 3, 4)), 16, 10) AS UNSIGNED) * 10000 DIV 3 MICROSECOND
END;
