-- DateFromComb(uniqueidentifier): the time, in UTC, of a COMB that NewComb() or RT.Comb's Provider.Sql made.
--
--   SELECT dbo.DateFromComb(id) FROM dbo.Orders;
--
-- It takes any GUID; one that is not such a COMB gives a meaningless date. NULL after the year 9999, where RT.Comb's
-- own function fails.
--
-- Written from documentation for SQL Server 2022, not yet run on a server. It is created in the schema dbo.
CREATE OR ALTER FUNCTION dbo.DateFromComb(@comb uniqueidentifier)
RETURNS datetime2
AS
BEGIN
  DECLARE @ms bigint = CAST(SUBSTRING(CAST(@comb AS binary(16)), 11, 6) AS bigint);
  DECLARE @made datetime2;
  -- Days and the rest apart: DATEADD takes no more than an int.
  IF @ms < 253402300800000
    SET @made = DATEADD(MILLISECOND, CAST(@ms % 86400000 AS int),
      DATEADD(DAY, CAST(@ms / 86400000 AS int), CAST('1970-01-01' AS datetime2)));
  RETURN @made;
END;
GO
