-- date_from_comb: the time, in UTC, of a COMB that new_comb or RT.Comb's Provider.PostgreSql made. The counterpart of
-- RT.Comb's T-SQL function DateFromComb.
--
--   SELECT date_from_comb(id) FROM orders;
--
-- It takes any GUID; one that is not such a COMB gives a meaningless date. NULL after the year 9999.
--
-- Written from documentation for Oracle 23ai, not yet run on a server. It is created in your own schema.
CREATE OR REPLACE FUNCTION date_from_comb(comb IN RAW)
RETURN TIMESTAMP DETERMINISTIC
IS
  ms NUMBER := TO_NUMBER(RAWTOHEX(UTL_RAW.SUBSTR(comb, 1, 6)), 'XXXXXXXXXXXX');
BEGIN
  IF ms >= 253402300800000 THEN
    RETURN NULL;
  END IF;
  RETURN TIMESTAMP '1970-01-01 00:00:00' + NUMTODSINTERVAL(TRUNC(ms / 86400000), 'DAY')
    + NUMTODSINTERVAL(MOD(ms, 86400000) / 1000, 'SECOND');
END;
/
