"""A server that gives the answers of a table, by the names of commands, and OK to all else."""
import contextlib
import socketserver
import threading


class Handler(socketserver.StreamRequestHandler):
    """A connection."""

    def handle(self):
        with contextlib.suppress(OSError):
            while words := self.request_words():
                self.wfile.write(self.server.answers.get(words[0].upper().decode(), "+OK\r\n").encode())

    def request_words(self):
        """None when the client has gone."""
        count = self.rfile.readline()
        return [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in range(int(count[1:]))] if count else None


class Server(socketserver.ThreadingTCPServer):
    """A `with` ends it. `port` is one of 127.0.0.1."""
    daemon_threads, block_on_close = True, False

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.port = answers, self.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
