"""What `keybench list` does with layouts: list, show, make, decode."""
