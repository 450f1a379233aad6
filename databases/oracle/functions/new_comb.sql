-- new_comb: a COMB for a RAW(16) column, as RT.Comb's Provider.PostgreSql makes it: a random GUID whose first six bytes
-- are milliseconds since 1970. The counterpart of RT.Comb's T-SQL function NewComb.
--
--   INSERT INTO orders (id) VALUES (new_comb());
--
-- * The time comes first, because Oracle compares RAW from the first byte; NewComb puts it last, for SQL Server.
-- * .NET binds the first eight bytes of a GUID in another order: keys of Provider.Oracle are these keys in that order.
-- * Milliseconds are truncated, as by NewComb.
-- * Keys of the same millisecond are in random order. No version or variant is set: all ten other bytes are random.
-- * Given a GUID and an instant it makes the COMB of these two, as Create(Guid, DateTime) does in .NET.
-- * It needs GRANT EXECUTE ON dbms_crypto for random bytes. To fill a column by default, use a trigger, because a
--   column's DEFAULT may not call your own functions.
--
-- Written from documentation for Oracle 23ai, not yet run on a server. It is created in your own schema.
CREATE OR REPLACE FUNCTION new_comb(
  base IN RAW DEFAULT NULL, instant IN TIMESTAMP DEFAULT SYS_EXTRACT_UTC(SYSTIMESTAMP))
RETURN RAW
IS
  since INTERVAL DAY(9) TO SECOND(9) := instant - TIMESTAMP '1970-01-01 00:00:00';
  ms NUMBER;
BEGIN
  ms := ((EXTRACT(DAY FROM since) * 24 + EXTRACT(HOUR FROM since)) * 60 + EXTRACT(MINUTE FROM since)) * 60000
    + TRUNC(EXTRACT(SECOND FROM since) * 1000);
  RETURN UTL_RAW.CONCAT(
    HEXTORAW(TO_CHAR(ms, 'FM0XXXXXXXXXXX')), UTL_RAW.SUBSTR(NVL(base, DBMS_CRYPTO.RANDOMBYTES(16)), 7, 10));
END;
/
