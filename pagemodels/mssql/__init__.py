"""The page model of SQL Server."""
