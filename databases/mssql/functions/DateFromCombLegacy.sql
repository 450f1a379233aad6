-- DateFromCombLegacy(uniqueidentifier): the time, in UTC, of a COMB that NewCombLegacy() or RT.Comb's Provider.Legacy
-- made.
--
-- It takes any GUID. NULL where the time of day is negative or more than 24 hours, where RT.Comb's own function fails;
-- exactly 24 hours are the next midnight, as in RT.Comb's .NET code.
--
-- Written from documentation for SQL Server 2022, not yet run on a server. It is created in the schema dbo.
CREATE OR ALTER FUNCTION dbo.DateFromCombLegacy(@comb uniqueidentifier)
RETURNS datetime
AS
BEGIN
  DECLARE @days int = CAST(SUBSTRING(CAST(@comb AS binary(16)), 11, 2) AS int);
  DECLARE @units bigint = CAST(SUBSTRING(CAST(@comb AS binary(16)), 13, 4) AS bigint);
  DECLARE @made datetime;
  -- A datetime is eight bytes: days since 1900 in four, 1/300 s since midnight in four.
  IF @units < 25920000
    SET @made = CAST(CAST(@days AS binary(4)) + CAST(CAST(@units AS int) AS binary(4)) AS datetime);
  IF @units = 25920000
    SET @made = DATEADD(DAY, @days + 1, CAST('19000101' AS datetime));
  RETURN @made;
END;
GO
