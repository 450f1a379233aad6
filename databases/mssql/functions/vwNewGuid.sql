-- vwNewGuid: a view of one row with one new random GUID, as RT.Comb has it: SQL Server does not allow NEWID() in
-- functions.
--
-- Written from documentation for SQL Server 2022, not yet run on a server. It is created in the schema dbo.
CREATE OR ALTER VIEW dbo.vwNewGuid AS
SELECT NEWID() AS id;
GO
