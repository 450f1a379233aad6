-- new_comb: a COMB for a RAW(16) column, as RT.Comb's Provider.PostgreSql makes it: a random GUID whose first six bytes
-- are milliseconds since 1970. The counterpart of RT.Comb's T-SQL function NewComb.
--
--   INSERT INTO orders (id) VALUES (new_comb());
--
-- * The time leads, because Oracle compares RAW from the first byte; NewComb puts it last, for SQL Server.
-- * .NET binds a GUID with the first eight bytes in another order: keys of Provider.Oracle are these, read that way.
-- * Milliseconds are whole, as NewComb counts them: what is left of one is cut off.
-- * Keys of one millisecond come in no order. No version or variant is set: all ten other bytes are random.
-- * Given a GUID and an instant it makes the COMB of these two, as Create(Guid, DateTime) does in .NET.
-- * It needs GRANT EXECUTE ON dbms_crypto for random bytes, and as a column's default a trigger: Oracle allows no
--   functions of one's own there.
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
