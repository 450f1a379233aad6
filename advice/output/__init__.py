"""An answer as text for a terminal, and as JSON."""
