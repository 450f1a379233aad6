-- new_comb_legacy: the COMB of 2002 for a RAW(16) column, as RT.Comb's PostgreSqlCombProvider makes it with
-- SqlDateTimeStrategy: a random GUID whose first six bytes are days since 1900 (two) and 1/300 s since midnight (four).
-- The counterpart of RT.Comb's T-SQL function NewCombLegacy.
--
-- * The time comes first, because Oracle compares RAW from the first byte; NewCombLegacy puts it last, for SQL Server.
-- * It is rounded to the nearest 1/300 s, as SQL Server's datetime is; RT.Comb's .NET code truncates instead.
-- * Days wrap: 1900-01-01 and 2079-06-07 are both 0.
-- * Keys of the same 1/300 s are in random order. It needs GRANT EXECUTE ON dbms_crypto for random bytes.
-- * Given a GUID and an instant it makes the COMB of these two, as Create(Guid, DateTime) does in .NET.
--
-- Written from documentation for Oracle 23ai, not yet run on a server. It is created in your own schema.
CREATE OR REPLACE FUNCTION new_comb_legacy(
  base IN RAW DEFAULT NULL, instant IN TIMESTAMP DEFAULT SYS_EXTRACT_UTC(SYSTIMESTAMP))
RETURN RAW
IS
  since INTERVAL DAY(9) TO SECOND(9) := instant - TIMESTAMP '1900-01-01 00:00:00';
  units NUMBER;
  days NUMBER;
BEGIN
  units := ROUND(
    ((EXTRACT(HOUR FROM since) * 60 + EXTRACT(MINUTE FROM since)) * 60 + EXTRACT(SECOND FROM since)) * 300);
  days := MOD(EXTRACT(DAY FROM since) + TRUNC(units / 25920000), 65536);
  RETURN UTL_RAW.CONCAT(
    HEXTORAW(TO_CHAR(days, 'FM0XXX')), HEXTORAW(TO_CHAR(MOD(units, 25920000), 'FM0XXXXXXX')),
    UTL_RAW.SUBSTR(NVL(base, DBMS_CRYPTO.RANDOMBYTES(16)), 7, 10));
END;
/
