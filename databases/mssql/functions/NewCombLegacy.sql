-- NewCombLegacy(): the COMB of 2002 for a uniqueidentifier column, as RT.Comb's Provider.Legacy makes it: a random GUID
-- whose last six bytes are days since 1900 (two) and 1/300 s since midnight (four): the low six of a datetime's eight.
-- It needs the view dbo.vwNewGuid (keybench databases sql mssql vwNewGuid).
--
-- * A datetime is rounded to the nearest 1/300 s; RT.Comb's .NET code truncates instead.
-- * Days wrap: 1900-01-01 and 2079-06-07 are both 0.
-- * Keys of the same 1/300 s are in random order. Version and variant are those of the random GUID: version 4.
--
-- Written from documentation for SQL Server 2022, not yet run on a server. It is created in the schema dbo.
CREATE OR ALTER FUNCTION dbo.NewCombLegacy()
RETURNS uniqueidentifier
AS
BEGIN
  DECLARE @base binary(10), @time binary(6);
  SELECT @base = CAST(id AS binary(10)) FROM dbo.vwNewGuid;
  SET @time = SUBSTRING(CAST(GETUTCDATE() AS binary(8)), 3, 6);
  DECLARE @comb uniqueidentifier = CAST(@base + @time AS uniqueidentifier);
  RETURN @comb;
END;
GO
