"""The answer: which key a table should have, what that rests on, and how to do it."""
