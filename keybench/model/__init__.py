"""The values that all parts of keybench share: keys, columns, tables, payloads, metrics, readings."""
