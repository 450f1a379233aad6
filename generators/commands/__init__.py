"""The commands `keybench generators …`: list, show, make, decode."""
