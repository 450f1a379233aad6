-- date_from_comb_uuid(UUID): when a COMB was made, in UTC, of those that new_comb_uuid(), RT.Comb's Provider.Sql or its
-- T-SQL function NewComb makes: their time is in the last six bytes. The counterpart of its T-SQL function DateFromComb.
--
--   SELECT date_from_comb_uuid(id) FROM orders
--
-- Any GUID is read, whoever made it: one that is no such COMB gives some other date. NULL beyond the year 9999, where
-- .NET and SQL Server fail.
--
-- Tested on MariaDB 10.11, made for 10.7 and newer. One expression: clients need no DELIMITER.
DROP FUNCTION IF EXISTS date_from_comb_uuid;
CREATE FUNCTION date_from_comb_uuid(comb UUID) RETURNS DATETIME(3)
DETERMINISTIC NO SQL
RETURN CASE WHEN CAST(CONV(RIGHT(comb, 12), 16, 10) AS UNSIGNED) < 253402300800000 THEN
  TIMESTAMP'1970-01-01 00:00:00'
  + INTERVAL CAST(CONV(RIGHT(comb, 12), 16, 10) AS UNSIGNED) DIV 86400000 DAY
  + INTERVAL (CAST(CONV(RIGHT(comb, 12), 16, 10) AS UNSIGNED) MOD 86400000) * 1000 MICROSECOND
END;
