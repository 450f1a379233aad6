"""The page model of SQL Server beside the indexes of a data file that a SQL Server wrote."""
