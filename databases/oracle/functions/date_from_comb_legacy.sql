-- date_from_comb_legacy: the time, in UTC, of a COMB that new_comb_legacy or RT.Comb's PostgreSqlCombProvider with
-- SqlDateTimeStrategy made. The counterpart of RT.Comb's T-SQL function DateFromCombLegacy.
--
-- It takes any GUID. NULL where the time of day is negative or more than 24 hours, where RT.Comb's .NET code fails;
-- exactly 24 hours are the next midnight, as there.
--
-- Written from documentation for Oracle 23ai, not yet run on a server. It is created in your own schema.
CREATE OR REPLACE FUNCTION date_from_comb_legacy(comb IN RAW)
RETURN TIMESTAMP DETERMINISTIC
IS
  days NUMBER := TO_NUMBER(RAWTOHEX(UTL_RAW.SUBSTR(comb, 1, 2)), 'XXXX');
  units NUMBER := TO_NUMBER(RAWTOHEX(UTL_RAW.SUBSTR(comb, 3, 4)), 'XXXXXXXX');
BEGIN
  IF units > 25920000 THEN
    RETURN NULL;
  END IF;
  RETURN TIMESTAMP '1900-01-01 00:00:00' + NUMTODSINTERVAL(days, 'DAY') + NUMTODSINTERVAL(units / 300, 'SECOND');
END;
/
