"""Where servers run: private folders and processes, containers, URLs, secrets."""
