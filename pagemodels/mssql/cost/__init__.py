"""What a load costs SQL Server, as documented: no live server has confirmed it."""
