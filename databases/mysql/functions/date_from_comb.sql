-- date_from_comb(BINARY(16)): the time, in UTC, of a COMB that new_comb() or RT.Comb's Provider.PostgreSql made. The
-- counterpart of RT.Comb's T-SQL function DateFromComb.
--
--   SELECT date_from_comb(id) FROM orders
--
-- It takes any GUID: one that is not such a COMB gives a meaningless date. NULL after the year 9999, where .NET and SQL
-- Server fail. It does not read COMBs made for SQL Server, whose time is in the last six bytes.
--
-- Tested on MariaDB 10.11, not on MySQL. It is one expression, so clients need no DELIMITER.
DROP FUNCTION IF EXISTS date_from_comb;
CREATE FUNCTION date_from_comb(comb BINARY(16)) RETURNS DATETIME(3)
DETERMINISTIC NO SQL
RETURN CASE WHEN CAST(CONV(HEX(LEFT(comb, 6)), 16, 10) AS UNSIGNED) < 253402300800000 THEN
  TIMESTAMP'1970-01-01 00:00:00'
  + INTERVAL CAST(CONV(HEX(LEFT(comb, 6)), 16, 10) AS UNSIGNED) DIV 86400000 DAY
  + INTERVAL (CAST(CONV(HEX(LEFT(comb, 6)), 16, 10) AS UNSIGNED) MOD 86400000) * 1000 MICROSECOND
END;
