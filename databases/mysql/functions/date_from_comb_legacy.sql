-- date_from_comb_legacy(BINARY(16)): when a COMB was made, in UTC, of those that new_comb_legacy() or RT.Comb's
-- PostgreSqlCombProvider with SqlDateTimeStrategy makes. The counterpart of RT.Comb's T-SQL function DateFromCombLegacy.
--
--   SELECT date_from_comb_legacy(id) FROM orders
--
-- To the microsecond, cut off, where SQL Server shows the same 1/300 s as .000, .003 or .007. Any GUID is read, whoever
-- made it. NULL where its time of day is negative or exceeds 24 hours, where RT.Comb's .NET code fails: 24 hours
-- themselves are the next midnight, as there. COMBs made for SQL Server have their time in the last six bytes and are
-- not for this one.
--
-- Tested on MariaDB 10.11, not on MySQL. One expression: clients need no DELIMITER.
DROP FUNCTION IF EXISTS date_from_comb_legacy;
CREATE FUNCTION date_from_comb_legacy(comb BINARY(16)) RETURNS DATETIME(6)
DETERMINISTIC NO SQL
RETURN CASE WHEN CAST(CONV(HEX(SUBSTRING(comb, 3, 4)), 16, 10) AS UNSIGNED) <= 25920000 THEN
  TIMESTAMP'1900-01-01 00:00:00'
  + INTERVAL CAST(CONV(HEX(LEFT(comb, 2)), 16, 10) AS UNSIGNED) DAY
  + INTERVAL CAST(CONV(HEX(SUBSTRING(comb, 3, 4)), 16, 10) AS UNSIGNED) * 10000 DIV 3 MICROSECOND
END;
