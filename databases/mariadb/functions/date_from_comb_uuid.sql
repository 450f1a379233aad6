-- date_from_comb_uuid(UUID): the time, in UTC, of a COMB that new_comb_uuid(), RT.Comb's Provider.Sql or its T-SQL
-- function NewComb made, with the time in the last six bytes. The counterpart of its T-SQL function DateFromComb.
--
--   SELECT date_from_comb_uuid(id) FROM orders
--
-- It takes any GUID: one that is not such a COMB gives a meaningless date. NULL after the year 9999, where .NET and SQL
-- Server fail.
--
-- Tested on MariaDB 10.11, made for 10.7 and newer. It is one expression, so clients need no DELIMITER.
DROP FUNCTION IF EXISTS date_from_comb_uuid;
CREATE FUNCTION date_from_comb_uuid(comb UUID) RETURNS DATETIME(3)
DETERMINISTIC NO SQL
RETURN CASE WHEN CAST(CONV(RIGHT(comb, 12), 16, 10) AS UNSIGNED) < 253402300800000 THEN
  TIMESTAMP'1970-01-01 00:00:00'
  + INTERVAL CAST(CONV(RIGHT(comb, 12), 16, 10) AS UNSIGNED) DIV 86400000 DAY
  + INTERVAL (CAST(CONV(RIGHT(comb, 12), 16, 10) AS UNSIGNED) MOD 86400000) * 1000 MICROSECOND
END;
