"""Key layouts: streams of GUIDs, UUIDs and integers, byte for byte as their originals make them."""
