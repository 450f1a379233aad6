"""`keybench verify`: an engine's questions, asked of a live server by ordinary runs, and a table of verdicts."""
