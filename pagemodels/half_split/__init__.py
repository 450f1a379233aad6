"""Indexes whose pages split in two by count or bytes: PostgreSQL, SQL Server, Oracle."""
