"""What an engine has to be: its declarations, its required roles, and the optional protocols."""
