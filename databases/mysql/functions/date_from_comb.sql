-- date_from_comb(BINARY(16)): when a COMB was made, in UTC, of those that new_comb() or RT.Comb's Provider.PostgreSql
-- makes. The counterpart of RT.Comb's T-SQL function DateFromComb.
--
--   SELECT date_from_comb(id) FROM orders
--
-- Any GUID is read, whoever made it: one that is no such COMB gives some other date. NULL beyond the year 9999, where
-- .NET and SQL Server fail. COMBs made for SQL Server have their time in the last six bytes and are not for this one.
--
-- Tested on MariaDB 10.11, not on MySQL. One expression: clients need no DELIMITER.
DROP FUNCTION IF EXISTS date_from_comb;
CREATE FUNCTION date_from_comb(comb BINARY(16)) RETURNS DATETIME(3)
DETERMINISTIC NO SQL
RETURN CASE WHEN CAST(CONV(HEX(LEFT(comb, 6)), 16, 10) AS UNSIGNED) < 253402300800000 THEN
  TIMESTAMP'1970-01-01 00:00:00'
  + INTERVAL CAST(CONV(HEX(LEFT(comb, 6)), 16, 10) AS UNSIGNED) DIV 86400000 DAY
  + INTERVAL (CAST(CONV(HEX(LEFT(comb, 6)), 16, 10) AS UNSIGNED) MOD 86400000) * 1000 MICROSECOND
END;
