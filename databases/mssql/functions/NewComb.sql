-- NewComb(): a COMB for a uniqueidentifier column, as RT.Comb's Provider.Sql makes it: a random GUID whose last six
-- bytes are milliseconds since 1970. It needs the view dbo.vwNewGuid (keybench databases sql mssql vwNewGuid).
--
--   CREATE TABLE dbo.Orders (id uniqueidentifier NOT NULL DEFAULT dbo.NewComb() PRIMARY KEY, …);
--
-- * The time is last, because SQL Server compares the last six bytes of a uniqueidentifier first.
-- * Milliseconds are truncated. (RT.Comb's .NET code computes with doubles, which turn the last tick of a millisecond
--   into the next one; this does not.)
-- * Whether all rows of one INSERT … SELECT share a time is not known: in a function each call may read the clock.
-- * Keys of the same millisecond are in random order. Version and variant are those of the random GUID: version 4.
--
-- Written from documentation for SQL Server 2022, not yet run on a server. It is created in the schema dbo.
CREATE OR ALTER FUNCTION dbo.NewComb()
RETURNS uniqueidentifier
AS
BEGIN
  DECLARE @base binary(10), @time binary(6);
  SELECT @base = CAST(id AS binary(10)) FROM dbo.vwNewGuid;
  -- A number as binary keeps its low bytes, the most significant first.
  SET @time = CAST(DATEDIFF_BIG(MILLISECOND, CAST('1970-01-01' AS datetime2), SYSUTCDATETIME()) AS binary(6));
  DECLARE @comb uniqueidentifier = CAST(@base + @time AS uniqueidentifier);
  RETURN @comb;
END;
GO
