"""An answer as text for a terminal, as Markdown, as JSON, and as a page."""
