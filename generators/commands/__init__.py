"""What `keybench list` does with layouts: list, make, decode."""
