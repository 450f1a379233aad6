"""How to do it: library calls, statements, and what becomes of a table that exists."""
