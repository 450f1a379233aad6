"""`keybench inspect`: which keys a database has, how full its indexes are, and where most could be gained."""
