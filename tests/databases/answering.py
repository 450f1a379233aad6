"""Something that answers as a Docker daemon's `GET /_ping` does, and knows nothing else.

The tests that use it concern what keybench asks before it needs a daemon. `tests/containers` has real ones.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread


@contextmanager
def answering() -> Iterator[tuple[str, list[str]]]:
    """Its address, and the requests that it gets."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_response(200 if self.path == "/_ping" else 501)
            self.end_headers()
            self.wfile.write(b"OK")

        do_POST = do_DELETE = do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
