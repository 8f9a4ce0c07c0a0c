"""The middleware for WSGI and ASGI: the cases that all clients share, and Flask and Django in front of real requests."""
import asyncio
import threading
import urllib.error
import urllib.request
import wsgiref.simple_server
import wsgiref.util

import pytest
import redis
import redis.asyncio

import sluice.asgi
import sluice.asyncio
import sluice.http
import sluice.wsgi
from player import CASES, NOW, Loop, Player, limit_of, seconds

FIVE = sluice.Limit("window", 5, 60)


class Application:
    """Something behind a limit. get(headers): (status, headers in lower case, text) of a request; the headers of the
    request that are functions of the case are x-key and x-cost. errors: what on_error was told."""

    def __init__(self, limit, header, **options):
        self.errors = []
        self.options = {"limit": limit, "key": lambda request: header(request, "x-key"),
                        "cost": lambda request: header(request, "x-cost"),
                        "on_error": lambda error, request: self.errors.append(str(error)), **options}


class Wsgi(Application):
    def __init__(self, space, loop, **options):
        super().__init__(header=lambda environ, name: environ.get("HTTP_" + name.upper().replace("-", "_")), **options)
        self.redis = space.redis()
        self._app = sluice.wsgi.RateLimit(self._served, sluice.LimitClient(self.redis), **self.options)

    def _served(self, environ, start_response):
        self.verdict = environ["sluice.rate_limit"]
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"served"]

    def get(self, headers):
        environ = {"REMOTE_ADDR": "10.1.2.3",
                   **{"HTTP_" + name.upper().replace("-", "_"): value for name, value in headers.items()}}
        wsgiref.util.setup_testing_defaults(environ)
        answer = []
        body = b"".join(self._app(environ, lambda status, headers, *rest: answer.extend((status, headers))))
        return int(answer[0].split()[0]), {name.lower(): value for name, value in answer[1]}, body.decode()

    def close(self):
        self.redis.close()


class Asgi(Application):
    def __init__(self, space, loop, **options):
        super().__init__(header=lambda scope, name: dict(scope["headers"]).get(name.encode(), b"").decode() or None,
                         **options)
        self._loop = loop

        async def made():
            self.redis = redis.asyncio.Redis(**space.connection_kwargs)
            return sluice.asgi.RateLimit(self._served, sluice.asyncio.LimitClient(self.redis), **self.options)
        self._app = loop.run(made())

    async def _served(self, scope, receive, send):
        self.verdict = scope["sluice.rate_limit"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"served"})

    def get(self, headers):
        scope = {"type": "http", "client": ("10.1.2.3", 4711),
                 "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
        messages = []

        async def send(message):
            messages.append(message)
        self._loop.run(self._app(scope, None, send))
        return (messages[0]["status"], {name.decode(): value.decode() for name, value in messages[0]["headers"]},
                messages[1]["body"].decode())

    def close(self):
        self._loop.run(self.redis.close())


KINDS = pytest.mark.parametrize("kind", [Wsgi, Asgi])


@pytest.fixture
def made(sluice_space):
    """made(kind, ...): an application of it."""
    applications = []
    with Loop() as loop:
        def make(kind, **options):
            applications.append(kind(sluice_space, loop, **options))
            return applications[-1]
        yield make
        for application in applications:
            application.close()


@KINDS
@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES["http"]])
def test_cases(sluice_space, made, kind, case):
    player = Player(sluice_space)
    application = made(kind, **{**seconds(case["options"]), "limit": limit_of(case["options"]["limit"])})
    for step in case["steps"]:
        if "key" not in step:
            player.play([step])
            continue
        before = len(application.errors)
        headers = {"x-key": step["key"], **({"x-cost": str(step["cost"])} if "cost" in step else {})}
        status, headers, text = application.get(headers)
        assert status == step["status"], text
        assert step.get("text", "") in text
        for name, value in step.get("headers", {}).items():
            assert headers.get(name.lower()) == value, name
        assert "error" not in step or (len(application.errors) > before) == step["error"], application.errors
        player.compare_sent(step)


@KINDS
def test_who_and_which(sluice_space, made, kind):
    sluice_space.clock.freeze(at=NOW)
    whole = made(kind, limit=FIVE, key=None, cost=None)
    assert whole.get({})[0] == 200
    assert whole.verdict.remaining == 4
    assert sluice_space.execute("EXISTS", "http:default:10.1.2.3") == 1
    for free in ({"limit": lambda request: None}, {"limit": FIVE, "skip": lambda request: True}):
        application = made(kind, **free)
        assert application.get({"x-key": "a"})[:2] == (200, {"content-type": "text/plain"})
        assert application.verdict is None


@KINDS
def test_an_error_of_the_application_is_its_own(made, kind):
    def fault(request):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        made(kind, limit=FIVE, key=fault).get({})


@KINDS
def test_a_late_answer_goes_to_nobody_else(sluice_space, made, kind):
    application = made(kind, limit=FIVE, timeout=0.05)
    rule = sluice_space.faults.on("LIMIT.TAKE", times=1).hang()
    assert application.get({"x-key": "a"})[0] == 200
    assert "limit cannot be asked" in application.errors[0]
    rule.delete()
    for remaining in (4, 3):
        application.get({"x-key": "b"})
        assert application.verdict.remaining == remaining


def test_wrong_options(sluice_redis):
    with pytest.raises(ValueError):
        sluice.wsgi.RateLimit(None, sluice.LimitClient(sluice_redis), limit=FIVE, name='a"b')
    with pytest.raises(TypeError):
        sluice.wsgi.RateLimit(None, sluice.LimitClient(sluice_redis))
    with pytest.raises(TypeError):
        sluice.asyncio.LimitClient(sluice_redis)


def test_what_is_no_request_goes_on(sluice_space):
    async def app(scope, receive, send):
        await send(scope["type"])

    async def play():
        sent = []

        async def send(message):
            sent.append(message)
        client = redis.asyncio.Redis(**sluice_space.connection_kwargs)
        await sluice.asgi.RateLimit(app, sluice.asyncio.LimitClient(client), limit=FIVE)({"type": "lifespan"}, None, send)
        return sent
    assert asyncio.run(play()) == ["lifespan"]


@pytest.mark.parametrize("address, key", CASES["addresses"].items())
def test_addresses(address, key):
    assert sluice.http.address_key(address) == key


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def get(server, path="/"):
    """Status and headers of a request over a socket."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}", timeout=30) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers


def flask_app(limits):
    import flask
    app = flask.Flask(__name__)
    app.wsgi_app = sluice.wsgi.RateLimit(app.wsgi_app, limits, limit=sluice.Limit("window", 1, 60))
    app.add_url_rule("/", view_func=lambda: "served")
    return app


def django_app(limits):
    import django.conf
    import django.core.handlers.wsgi
    import django.http
    import django.urls
    if not django.conf.settings.configured:
        django.conf.settings.configure(ROOT_URLCONF=type("Urls", (), {
            "urlpatterns": [django.urls.path("", lambda request: django.http.HttpResponse("served"))]}),
            ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY="tests")
        django.setup()
    return sluice.wsgi.RateLimit(django.core.handlers.wsgi.WSGIHandler(), limits, limit=sluice.Limit("window", 1, 60))


@pytest.mark.parametrize("framework", [flask_app, django_app])
def test_frameworks(sluice_space, framework):
    sluice_space.clock.freeze(at=NOW)
    application = framework(sluice.LimitClient(sluice_space.redis()))
    with wsgiref.simple_server.make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        status, headers = get(server)
        assert (status, headers["RateLimit"]) == (200, '"default";r=0;t=60')
        status, headers = get(server)
        assert (status, headers["Retry-After"]) == (429, "60")
        server.shutdown()
