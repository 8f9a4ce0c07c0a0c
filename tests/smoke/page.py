#!/usr/bin/python3
"""The page of the HTTP port, in Chromium: real locks that are held, waited for and handed over; names that want to
do harm; keyboard, widths, schemes; who may break a lock and delete a key. And its paths without a browser: bad
input, bounds, how often an open page asks.

  page.py [--server program] [name ...]     names: those of the functions test_*

The pictures of docs/operating.md are made anew by
  SLUICE_PAGE_SHOTS=docs/images SLUICE_PAGE_SECONDS=600 tests/smoke/page.py test_pictures
"""
import atexit
import base64
import contextlib
import functools
import http.client
import json
import math
import os
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from browser import Browser, Missing  # noqa: E402
from server import free_port  # noqa: E402
from smoke import MIB, PATIENCE, Checked, Skip, client, run_tests, send_all, until  # noqa: E402
from wire import encode  # noqa: E402

ANSWER_BYTES_MAX = 200_000
REQUESTS_A_SECOND_MAX = 10
RTL = "\u202e"


def key_id(name):
    return base64.urlsafe_b64encode(name).decode().rstrip("=")


def send(connection, *words):
    connection.send(encode([word if isinstance(word, bytes) else str(word).encode() for word in words]))


def call(connection, *words):
    send(connection, *words)
    return connection.replies(1)[0]


class Paged(Checked):
    """A server with an HTTP port; `get` and `post` ask as a program does, `url` is for a browser."""

    def __init__(self, *options, **named):
        self.port = free_port()
        super().__init__("--http-port", self.port, *options, **named)

    def __enter__(self):
        super().__enter__()
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def url_as(self, password):
        return f"http://me:{password}@127.0.0.1:{self.port}/"

    def ask(self, method, path, body=None, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def get(self, path, **headers):
        """What a path answers, as JSON."""
        status, found, text = self.ask("GET", path, headers=headers)
        assert status == 200, (path, status, text[:200])
        assert found["Content-Type"].startswith("application/json") and len(text) <= ANSWER_BYTES_MAX, len(text)
        return json.loads(text)

    def status(self, path, method="GET", body=None, **headers):
        return self.ask(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})[0]

    def change(self, path, name, password="secret", token=None, **headers):
        """A request as the page makes it, but for what is said otherwise; None leaves a header out."""
        login = "Basic " + base64.b64encode(f"me:{password}".encode()).decode()
        if token is None:
            token = self.get("/api/overview", Authorization=login).get("token", "")
        given = {"Authorization": login, "Content-Type": "application/json", "X-Sluice-Token": token,
                 "Origin": f"http://127.0.0.1:{self.port}", "Sec-Fetch-Site": "same-origin"}
        given.update({key.replace("_", "-"): value for key, value in headers.items()})
        body = json.dumps({"db": 0, "key": key_id(name)})
        return self.ask("POST", path, body, {key: value for key, value in given.items() if value is not None})


@functools.cache
def the_browser():
    """One for all tests: it takes longer to start than most of them."""
    browser = Browser().__enter__()
    atexit.register(browser.__exit__)
    return browser


@contextlib.contextmanager
def browser_at(url, **size):
    try:
        browser = the_browser()
    except Missing as reason:
        raise Skip(reason) from None
    browser.anew(**size)
    browser.open(url)
    browser.until("return document.getElementById('state').textContent !== 'asking'")
    yield browser
    said = [entry["message"] for entry in browser.log() if entry["level"] in ("SEVERE", "WARNING")]
    assert not [line for line in said if "401" not in line and "403" not in line and "503" not in line], said


def rows_of(browser, table):
    return browser.run("return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map((row) => row.innerText)",
                       table)


# --- in a browser

def test_a_lock_is_handed_over():
    """The page shows who holds, who waits, and the hand-over when it comes, without being loaded again."""
    with Paged() as it, browser_at(it.url) as browser:
        one, two, three = (client(it.server) for _ in range(3))
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 60000)
        send(two, "LOCK.ACQUIRE", "door:1", "bob", "LEASE", 60000, "WAIT", 60000)
        call(three, "LOCK.ACQUIRE", "door:2", "carol", "LEASE", 60000)
        browser.until("return document.querySelector('#graph .waiter')")
        held, waits = rows_of(browser, "locks"), rows_of(browser, "waits")
        assert "door:1" in held[0] and "alice" in held[0] and "carol" in held[1], held
        assert len(waits) == 1 and "alice" in waits[0] and "bob" in waits[0] and "gives up in" in waits[0], waits
        texts = browser.run("return [...document.querySelectorAll('#graph text')].map((text) => text.textContent)")
        assert {"alice", "bob", "door:1"} <= set(texts) and "carol" not in texts, texts
        assert browser.run("return document.querySelectorAll('#graph path.wait').length") == 1
        # What runs down does so by itself.
        left = "return document.querySelector('#locks tbody .bar i').getBoundingClientRect().width"
        widths = [browser.run(left)]
        browser.until("return document.querySelector('#locks tbody .bar i').getBoundingClientRect().width < arguments[0]",
                      widths[0])
        call(one, "LOCK.RELEASE", "door:1", "alice")
        assert two.replies(1)[0].startswith(b"*")
        browser.until("return document.getElementById('waits-some').hidden")
        browser.until("return document.querySelector('#locks tbody').innerText.includes('bob')")
        assert "alice" not in browser.text("#locks tbody")
        # A wait is told of when it is over.
        browser.until("return document.getElementById('locks-waited').innerText.includes('1 request waited and had the lock')")
        call(one, "CONFIG", "SET", "metrics-prefixes", "<b>: door:")
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 60000, "WAIT", 1)
        browser.until("return document.getElementById('locks-waited').innerText.includes('door:… 1 waited in vain (1 timed out)')")
        assert browser.run("return document.querySelectorAll('#locks-waited li').length") == 2


def test_a_chain_of_waits():
    """c waits for b, who waits for a: the picture has three owners in a row, the table says the same."""
    with Paged() as it, browser_at(it.url) as browser:
        conns = {name: client(it.server) for name in "abc"}
        call(conns["a"], "LOCK.ACQUIRE", "first", "a", "LEASE", 60000)
        call(conns["b"], "LOCK.ACQUIRE", "second", "b", "LEASE", 60000)
        send(conns["b"], "LOCK.ACQUIRE", "first", "b", "LEASE", 60000, "WAIT", 60000)
        send(conns["c"], "LOCK.ACQUIRE", "second", "c", "LEASE", 60000, "WAIT", 60000)
        browser.until("return document.querySelectorAll('#graph .waiter').length === 2")
        places = browser.run("""return Object.fromEntries([...document.querySelectorAll('#graph svg > g[transform]')]
            .map((box) => [box.querySelector('text').textContent, box.getBoundingClientRect().left]))""")
        assert places["a"] < places["first"] < places["b"] < places["second"] < places["c"], places
        assert len(rows_of(browser, "waits")) == 2
        label = browser.run("return document.querySelector('#graph svg').getAttribute('aria-label')")
        assert label == "3 owners and 2 locks that are waited for", label


def test_a_limiter_fills():
    with Paged() as it, browser_at(it.url) as browser:
        one = client(it.server)
        for _ in range(5):
            call(one, "LIMIT.TAKE", "api:7", "WINDOW", 3, 600000)
        call(one, "CL.THROTTLE", "cell", 0, 1, 60)
        call(one, "CL.THROTTLE", "cell", 0, 1, 60)
        browser.until("return document.querySelectorAll('#limits tbody tr').length === 2")
        rows = rows_of(browser, "limits")
        assert "api:7" in rows[0] and "2" in rows[0] and "3 of 3" in rows[0], rows
        assert "cell" in rows[1], rows
        call(one, "LIMIT.TAKE", "api:8", "WINDOW", 4, 600000)
        browser.run("document.getElementById('match').value = 'api:8'")
        browser.click("#search button[type=submit]")
        browser.until("return document.querySelector('#keys tbody tr')")
        browser.click("#keys tbody tr button")
        browser.until("return document.querySelector('.tank strong')")
        assert "1 of 4 used" in browser.text(".tank")
        call(one, "LIMIT.TAKE", "api:8", "WINDOW", 4, 600000)
        browser.until("return document.querySelector('.tank strong').textContent === '2 of 4 used'")
        assert browser.run("return document.querySelector('.tank svg').getAttribute('aria-valuenow')") == "2"
        assert not browser.run("return [...document.querySelectorAll('#panel button')].some((b) => b.className === 'danger')")


HOSTILE = [b"<script>document.title='hacked'</script>", b"<img src=x onerror=\"document.title='hacked'\">",
           RTL.encode() + b"gnp.exe", b"\x00\x01\x1b[31mred", b"\xff\xfe\xc3(", b"\"';--", b"a\nb\r\nc: d",
           "e".encode() + "\u0301".encode() * 50, b"\\x41", b"{{constructor}}", b"javascript:alert(1)", b" ", b""]


def test_hostile_names():
    """Nothing that a name says is done, nothing is hidden, and nothing pushes the page apart."""
    with Paged(grow=128 * MIB) as it, browser_at(it.url) as browser:
        one = client(it.server)
        big = b"<b>" + b"x" * MIB
        for at, name in enumerate([*HOSTILE, big]):
            owner = name[:1000] or b"none"
            assert call(one, "LOCK.ACQUIRE", b"k:" + name, owner, "LEASE", 600000).startswith(b"*")
            waiter = client(it.server)
            send(waiter, "LOCK.ACQUIRE", b"k:" + name, b"w%d:" % at + owner[:900], "LEASE", 1, "WAIT", 600000)
            for _ in range(2):
                call(one, "LIMIT.TAKE", b"l:" + name, "WINDOW", 1, 600000)
        call(one, "CONFIG", "SET", "slowlog-log-slower-than", "0")
        call(one, "ECHO", b"<script>document.title='hacked'</script>")
        rows = len(HOSTILE) + 1
        browser.until(f"return document.querySelectorAll('#locks tbody tr').length === {rows}")
        browser.until(f"return document.querySelectorAll('#limits tbody tr').length >= {rows - 1}")
        browser.until("return document.querySelectorAll('#slow tbody tr').length > 0")
        for selector in ("script:not(:last-of-type)", "img", "iframe", "object", "main b", "main a", "[onerror]"):
            assert not browser.run("return document.querySelector(arguments[0])", selector), selector
        assert "hacked" not in browser.run("return document.title")
        text = browser.text("#locks tbody")
        for shown in ("<script>document.title='hacked'</script>", "\\u{202e}gnp.exe", "\\x00\\x01\\x1b[31mred",
                      "\\xff\\xfe\\xc3(", "a\\x0ab\\x0d\\x0ac: d", "\\u{301}", "\\\\x41", "1,048,581 bytes"):
            assert shown in text, (shown, text)
        assert RTL not in browser.run("return document.body.innerText")
        assert browser.run("""return [...document.querySelectorAll('.name')].every((name) =>
            getComputedStyle(name).unicodeBidi === 'isolate' && name.textContent.length < 1000)""")
        for width in (360, 1280):
            browser.resize(width, 900)
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), width
        # One of them is asked for by its id, and nothing else.
        browser.click("#locks tbody tr:nth-child(1) button")
        browser.until("return document.getElementById('panel-body').innerText.includes('Newest token')")
        assert "<script>" in browser.text("#panel-title")


def test_keyboard():
    with Paged() as it:
        one = client(it.server)
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        with browser_at(it.url) as browser:
            browser.until("return document.querySelector('#locks tbody tr')")
            focused = "const at = document.activeElement; return at.id || at.className || at.innerText"
            seen = []
            for _ in range(6):
                browser.press("Tab")
                seen.append(browser.run(focused))
                assert browser.run("""const at = document.activeElement;
                    return at.matches(':focus-visible') && getComputedStyle(at).outlineStyle !== 'none'"""), seen
            assert seen[:2] == ["skip", "match"] and "pause" in seen, seen
            browser.run("document.getElementById('match').focus()")
            browser.type("nothing")
            browser.press("Enter")
            browser.until("return !document.getElementById('locks-none').hidden")
            browser.run("document.getElementById('match').select()")
            browser.type("door:*")
            browser.press("Enter")
            browser.until("return document.querySelector('#locks tbody tr button')")
            browser.run("document.querySelector('#locks tbody tr button').focus()")
            browser.press("Enter")
            browser.until("return document.getElementById('panel').open && document.querySelector('#panel dd')")
            for _ in range(4):  # the focus stays inside
                browser.press("Tab")
                assert browser.run("return document.getElementById('panel').contains(document.activeElement) || "
                                   "document.activeElement === document.body")
            browser.press("Escape")
            browser.until("return !document.getElementById('panel').open")
            assert browser.run("return document.activeElement.closest('#locks') !== null")


def test_landmarks_and_labels():
    """What a screen reader goes by."""
    with Paged() as it, browser_at(it.url) as browser:
        one = client(it.server)
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        browser.until("return document.querySelector('#locks tbody tr')")
        faults = browser.run("""
            const faults = [];
            for (const landmark of ['header', 'main', 'footer', '[role=search]']) {
              if (document.querySelectorAll(landmark).length !== 1) faults.push(landmark);
            }
            if (document.documentElement.lang !== 'en' || document.querySelectorAll('h1').length !== 1) faults.push('h1');
            for (const table of document.querySelectorAll('table')) {
              if (!table.caption || [...table.tHead.rows[0].cells].some((cell) => cell.scope !== 'col')) faults.push(table.id);
            }
            for (const control of document.querySelectorAll('button, input, select')) {
              const name = control.getAttribute('aria-label') || control.innerText || [...(control.labels || [])].map((l) => l.innerText).join('');
              if (!name.trim() && control.id !== 'confirm-yes') faults.push(control.outerHTML.slice(0, 80));
            }
            for (const plot of document.querySelectorAll('.tile svg')) {
              if (plot.getAttribute('role') !== 'img' || !/over the last .+: /.test(plot.getAttribute('aria-label') || '')) faults.push('plot');
            }
            for (const section of document.querySelectorAll('main section')) {
              const by = section.getAttribute('aria-labelledby');
              if (!section.getAttribute('aria-label') && !(by && document.getElementById(by))) faults.push(section.outerHTML.slice(0, 60));
            }
            if (document.querySelectorAll('[aria-live], [role=alert], [role=status]').length > 2) faults.push('live regions');
            return faults;""")
        assert not faults, faults


CONTRAST = """
    const parse = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((value) => value / 255).map((value) =>
      value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4).reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
        if (a > 0.9) return [r, g, b];
      }
      return [255, 255, 255];
    };
    const faults = [];
    for (const element of document.querySelectorAll('body *:not(svg *):not(script):not(option)')) {
      if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
      const box = element.getBoundingClientRect();
      if (box.width < 2 || element.closest('[hidden], dialog:not([open]), button:disabled')) continue;
      const [one, two] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
      const ratio = (one + 0.05) / (two + 0.05);
      if (ratio < 4.5) faults.push(`${ratio.toFixed(2)} ${element.className || element.tagName}: ${element.textContent.slice(0, 30)}`);
    }
    return faults;"""


def fill(it):
    """Something of each kind; what it gives is to be kept."""
    one = client(it.server)
    call(one, "LOCK.ACQUIRE", "deploy:production", "ci-runner-7", "LEASE", 90000)
    call(one, "LOCK.ACQUIRE", "report:nightly", "worker-3", "LEASE", 240000)
    call(one, "LOCK.ACQUIRE", "migrate:orders", "worker-12", "LEASE", 600000, "SESSION")
    for owner in ("trainer-a", "trainer-b"):
        call(one, "LOCK.ACQUIRE", "pool:gpu", owner, "LEASE", 300000, "PERMITS", "1", "OF", "2")
    kept = [one]
    for owner, lock in (("worker-3", "migrate:orders"), ("ci-runner-7", "report:nightly"), ("ci-runner-2", "deploy:production"),
                        ("alice@ops", "deploy:production"), ("worker-4", "migrate:orders"), ("trainer-c", "pool:gpu"),
                        ("trainer-d", "pool:gpu"), ("trainer-e", "pool:gpu")):
        waiter = client(it.server)
        words = ["LOCK.ACQUIRE", lock, owner, "LEASE", 60000, "WAIT", 240000]
        send(waiter, *words, *(("PERMITS", "1", "OF", "2") if lock == "pool:gpu" else ()))
        kept.append(waiter)
    for i in range(40):
        call(one, "LOCK.ACQUIRE", f"invoice:{4711 + i}", f"billing-{i % 3}", "LEASE", 20000 + 7000 * i)
    for key, times, limit in (("api:user:17", 210, 60), ("api:ip:203.0.113.9", 90, 60), ("login:bob", 9, 5), ("api:user:4", 50, 60)):
        for _ in range(times):
            call(one, "LIMIT.TAKE", key, "GCRA", limit, 600000, "BURST", limit - 1)
    call(one, "LIMIT.POLICY", "SET", "free-tier", "WINDOW", 5, 60000)
    for _ in range(9):
        call(one, "LIMIT.TAKE", "tenant:acme", "POLICY", "free-tier")
    call(one, "CONFIG", "SET", "slowlog-log-slower-than", "2000")
    call(one, "DEBUG", "SLEEP", "0.02")
    return kept


def test_schemes_and_widths():
    """Light and dark with enough contrast, from 360 px to a wall, without a scroll bar to the side."""
    with Paged() as it, browser_at(it.url) as browser:
        kept = fill(it)
        browser.until("return document.querySelectorAll('#graph .waiter').length >= 7")
        browser.until("return document.querySelectorAll('#limits tbody tr').length === 4")
        backs = []
        for scheme in ("light", "dark"):
            browser.prefer(color_scheme=scheme, reduced_motion="reduce")
            backs.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
            faults = browser.run(CONTRAST)
            assert not faults, (scheme, faults)
            for width in (360, 414, 768, 1024, 1440, 2560, 3840):
                browser.resize(width, 900)
                until_drawn(browser)
                wide, high = browser.run("const page = document.documentElement; return [page.scrollWidth, page.scrollHeight]")
                assert wide <= width, (scheme, width, wide)
                assert high < 6500, (scheme, width, high)
                # The picture fits, and is no small corner of a wall.
                frame, picture = browser.run("return [document.getElementById('graph'), document.querySelector('#graph svg')]"
                                             ".map((element) => element.getBoundingClientRect().width)")
                assert picture <= frame + 1, (width, frame, picture)
                assert width < 2560 or picture > 0.6 * frame, (width, frame, picture)
        assert backs[0] != backs[1]
        assert browser.run("return getComputedStyle(document.querySelector('.bar > i')).transitionDuration") == "0s"
        assert kept


def until_drawn(browser):
    """The picture is drawn for the width that the page has now."""
    browser.run("window.dispatchEvent(new Event('resize'))")
    browser.until("return document.querySelectorAll('#graph .waiter').length >= 7")


def acquired(it, count, prefix="lock"):
    send_all(client(it.server), (["LOCK.ACQUIRE", f"{prefix}:{i:05}", f"owner-{i}", "LEASE", 6000000] for i in range(count)))


def test_long_lists_have_pages():
    with Paged() as it, browser_at(it.url) as browser:
        acquired(it, 60)
        # The first page is drawn as soon as some are there.
        browser.until("""return document.getElementById('locks-page').textContent === 'Page 1 of 3' &&
            document.querySelector('#locks tbody').rows.length === 25""")
        assert "lock:00000" in rows_of(browser, "locks")[0]
        assert browser.run("return document.getElementById('locks-back').disabled")
        for page, row, left in ((2, "lock:00025", 25), (3, "lock:00050", 10)):
            browser.click("#locks-next")
            # The page draws itself anew meanwhile: all of it is asked for at one moment.
            browser.until("""const body = document.querySelector('#locks tbody');
                return body.innerText.includes(arguments[0]) && body.rows.length === arguments[1] &&
                       document.getElementById('locks-page').textContent === arguments[2]""",
                          row, left, f"Page {page} of 3")
        assert browser.run("return document.getElementById('locks-next').disabled && document.activeElement.id === 'locks-back'")
        browser.click("#locks-back")
        browser.until("return document.querySelector('#locks tbody').innerText.includes('lock:00025')")
        browser.resize(360, 800)
        browser.until("return document.getElementById('locks-page').textContent === 'Page 1 of 8'")
        assert len(rows_of(browser, "locks")) == 8


def test_what_is_not_known_is_not_empty():
    """A refusal is said where the rows would be; a search that is not over is not one that found nothing."""
    with Paged("--requirepass", "secret") as it:
        one = client(it.server)
        call(one, "AUTH", "secret")
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        with browser_at(it.url) as browser:
            for part in ("waits", "locks", "limits", "slow"):
                browser.until("return document.getElementById(`${arguments[0]}-none`).innerText.startsWith('Not known: ')", part)
            assert "http-password" in browser.text("#banner")
            browser.run("document.getElementById('match').value = 'door'")
            browser.click("#search button[type=submit]")
            browser.until("return document.getElementById('keys-none').innerText.startsWith('Not known: ')")
            call(one, "CONFIG", "SET", "requirepass", "")
            browser.until("return document.querySelector('#locks tbody tr')")
            browser.until("return document.getElementById('banner').hidden")
            browser.until("return !document.getElementById('slow-none').innerText.startsWith('Not known')")
    with Paged(grow=256 * MIB) as it, browser_at(it.url) as browser:
        acquired(it, 60_000, "nothing")
        call(client(it.server), "LOCK.ACQUIRE", "needle", "alice", "LEASE", 600000)
        browser.until("return document.querySelector('#locks tbody tr')")  # what was shown before them is gone
        seen = set()
        browser.run("document.getElementById('match').value = 'needle'")
        browser.click("#search button[type=submit]")

        def found():
            seen.add(browser.run("const none = document.getElementById('locks-none'); return none.hidden ? '' : none.innerText"))
            return browser.run("return document.querySelector('#locks tbody').innerText.includes('needle')")
        until(found, "it is found in the end")
        assert not any("No lock" in words for words in seen), seen


def test_counts_agree():
    with Paged() as it, browser_at(it.url) as browser:
        kept = fill(it)
        browser.until("return document.querySelectorAll('#graph .waiter').length >= 7")
        for _ in range(5):
            tile_held, tile_waiting, held, waiting, title = browser.run("""
                const figure = (name) => [...document.querySelectorAll('.tile')].find((tile) => tile.innerText.startsWith(name)).querySelector('.now').innerText;
                return [figure('Locks held'), figure('Waiting'), document.getElementById('locks-count').innerText,
                        document.getElementById('waits-count').innerText, document.title]""")
            assert held == f"{tile_held} held" and waiting == f"{tile_waiting} requests wait", (tile_held, held, tile_waiting, waiting)
            assert title.startswith(f"({tile_waiting}) "), title
            time.sleep(0.7)
        assert kept


def test_a_search_is_in_the_address():
    with Paged("--server-name", "billing <b>", tcp=True) as it:
        acquired(it, 3, "door")
        acquired(it, 3, "gate")
        with browser_at(it.url + "?search=gate") as browser:
            browser.until("return document.querySelectorAll('#locks tbody tr').length === 3")
            assert "gate" in rows_of(browser, "locks")[0] and browser.run("return document.getElementById('match').value") == "gate"
            browser.run("document.getElementById('pause').focus()")
            browser.press("/")
            assert browser.run("return document.activeElement.id") == "match"
            browser.type("door")  # what was there is selected
            browser.press("Enter")
            browser.until("return document.querySelector('#locks tbody').innerText.includes('door:')")
            assert browser.run("return location.search") == "?search=door"
            browser.run("history.back()")
            browser.until("return document.querySelector('#locks tbody').innerText.includes('gate:')")
            assert browser.run("return document.getElementById('match').value") == "gate"
            # Which server it is: in words, where people look.
            title = browser.run("return document.title")
            assert title.startswith("billing <b> ") and f":{it.server.port}" in title and title.endswith("Sluice"), title
            assert browser.text("#server-name") == "billing <b>" and browser.text("#place"), browser.text("header")
            call(client(it.server), "CONFIG", "SET", "server-name", "")
            browser.until("return document.getElementById('server-name').hidden")


def test_old_figures_fade():
    with Paged() as it, browser_at(it.url) as browser:
        call(client(it.server), "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        browser.until("return document.querySelector('#locks tbody tr')")
        it.server.kill()
        browser.until("return document.title.startsWith('No answer: ')")
        assert browser.text("#state") == "no answer" and "does not answer" in browser.text("#banner")
        browser.until("return getComputedStyle(document.querySelector('main')).opacity <= 0.5")
        words = "return document.querySelector('#locks tbody').innerText"
        stands = browser.run(words)
        time.sleep(1.2)
        assert browser.run(words) == stands and "alice" in stands  # leases that nobody tells of do not run down
        it.server.start()
        browser.until("return !document.title.startsWith('No answer') && document.getElementById('banner').hidden")
        browser.log()  # the browser's own words about the time between


def test_plots():
    """From the first minute on they are as wide as there is room, and a value stands at the pointer."""
    with Paged() as it, browser_at(it.url) as browser:
        line = "return document.querySelector('.tile .plot-line').getAttribute('d')"
        browser.until(line + " !== null && " + line[7:] + ".startsWith('M0.0 ')")
        browser.until("return document.querySelector('.plot-axis').innerText.includes('ago')")
        points = browser.run(line)[1:].split("L")
        assert points[0].startswith("0.0 ") and points[-1].startswith("240.0 ") and len(points) < 10, points
        assert not browser.run("return [...document.querySelectorAll('.plot-figure')].some((figure) => figure.textContent === '')")
        browser.run("""const field = document.querySelector('.plot-field'); const box = field.getBoundingClientRect();
            field.dispatchEvent(new PointerEvent('pointermove', {clientX: box.right - 1, clientY: box.top + 5, bubbles: true}))""")
        shown = browser.text(".plot-value")
        assert ":" in shown and shown.split()[-1] == browser.text(".tile .now"), shown
        box, value = browser.run("return ['.plot-field', '.plot-value'].map((each) => document.querySelector(each).getBoundingClientRect()).map(({left, right}) => [left, right])")
        assert box[0] - 1 <= value[0] and value[1] <= box[1] + 1, (box, value)


def test_terms_are_explained():
    with Paged() as it, browser_at(it.url) as browser:
        browser.until("return document.querySelectorAll('.tile').length === 8")
        for width in (360, 1440):
            browser.resize(width, 900)
            for at, words in ((6, "one round of the loop"), (7, "after its deadline")):
                browser.until("""document.querySelectorAll('.tile .term')[arguments[0]].focus();
                    return document.getElementById('hint').innerText.includes(arguments[1])""", at, words)
                assert browser.run("return document.activeElement.getAttribute('aria-describedby')") == "hint"
                left, right = browser.run("const box = document.getElementById('hint').getBoundingClientRect(); return [box.left, box.right]")
                assert left >= 0 and right <= width, (left, right)
            browser.press("Escape")
            assert browser.run("return document.getElementById('hint').hidden")
        missing = browser.run("return [...document.querySelectorAll('[data-hint]')].filter((each) => !HINTS[each.dataset.hint]).length")
        assert missing == 0


def test_who_holds_is_told():
    """The label, the client and where it comes from; blanks that stand before and behind a name."""
    with Paged(tcp=True) as it, browser_at(it.url) as browser:
        one = client(it.server)
        call(one, "CLIENT", "SETNAME", "deployer")
        call(one, "LOCK.ACQUIRE", "  door ", "alice", "LEASE", 600000, "SESSION", "LABEL", "build <7>")
        two = client(it.server)
        call(two, "CLIENT", "SETNAME", "second")
        send(two, "LOCK.ACQUIRE", "  door ", "bob", "LEASE", 600000, "WAIT", 600000)
        browser.until("return document.querySelector('#waits tbody tr')")
        row, wait = rows_of(browser, "locks")[0], rows_of(browser, "waits")[0]
        assert "build <7>" in row and "deployer at " in row, row
        assert "second at " in wait and "deployer at " in wait and "build <7>" in wait, wait
        blanks = browser.run("return [...document.querySelectorAll('#locks tbody .first .blank')].map((each) => [each.textContent, each.getBoundingClientRect().width])")
        assert [text for text, _ in blanks] == ["  ", " "] and all(width > 3 for _, width in blanks), blanks
        texts = browser.run("return [...document.querySelectorAll('#graph text')].map((text) => text.textContent)")
        assert "␣␣door␣" in texts, texts


def test_limiters_that_never_refused():
    with Paged() as it, browser_at(it.url) as browser:
        one = client(it.server)
        for i in range(3):
            call(one, "LIMIT.TAKE", f"calm:{i}", "WINDOW", 5, 600000)
        call(one, "SET", "other", "1")
        browser.click("#limits-all")
        browser.until("return document.querySelectorAll('#keys tbody tr').length === 3")
        assert all("limiter, 1 of 5" in row for row in rows_of(browser, "keys")), rows_of(browser, "keys")
        assert browser.run("return location.search") == "?keys=limiter" and "4 looked at, which are all" in browser.text("#keys-count")
        browser.click("#keys-close")
        assert browser.run("return document.getElementById('keys-card').hidden && location.search === ''")


def test_lease_bars_know_the_whole():
    """A page that is opened late knows how long the lease was when it was given, and renewed."""
    with Paged() as it:
        one = client(it.server)
        call(one, "LOCK.ACQUIRE", "a", "alice", "LEASE", 600000)
        call(one, "LOCK.ACQUIRE", "b", "alice", "LEASE", 100)
        call(one, "LOCK.RENEW", "b", "alice", "LEASE", 3600000)
        call(one, "LOCK.ACQUIRE", "c", "alice", "SESSION")
        wholes = {lock["name"]["text"]: lock["holders"][0]["lease_whole_ms"] for lock in it.get("/api/locks")["locks"]}
        assert wholes == {"a": 600000, "b": 3600000, "c": 0}, wholes
        with browser_at(it.url) as browser:
            browser.until("return document.querySelectorAll('#locks tbody tr').length === 3")
            shares = browser.run("""return [...document.querySelectorAll('#locks tbody .bar')].map((bar) =>
                bar.hidden ? null : bar.firstChild.getBoundingClientRect().width / bar.getBoundingClientRect().width)""")
            assert shares[0] > 0.9 and shares[1] > 0.9 and shares[2] is None, shares


def busy(it, seconds):
    """Clients at work, more and less, so that there is something to plot."""
    one, begun = client(it.server), time.monotonic()
    while time.monotonic() - begun < seconds:
        share = 1 + math.sin((time.monotonic() - begun) / 40)
        for _ in range(int(1 + 30 * share)):
            number = random.randrange(40)
            words = [encode([b"SET", b"session:%d" % random.randrange(9999), b"x" * 100, b"PX", b"30000"])] * 20
            words += [encode([b"LIMIT.TAKE", b"api:user:%d" % (number * number // 90), b"GCRA", b"60", b"60000", b"BURST", b"59"])] * 9
            one.send(b"".join(words))
            one.replies(len(words))
            call(one, "LOCK.ACQUIRE", f"job:{number}", "worker-1", "LEASE", 3000)
            time.sleep(0.02)


def test_pictures():
    folder = os.environ.get("SLUICE_PAGE_SHOTS")
    if not folder:
        raise Skip("only for SLUICE_PAGE_SHOTS")
    folder = pathlib.Path(folder)
    with Paged("--http-password", "secret", "--http-actions", "yes", "--appendonly", "yes", grow=256 * MIB) as it:
        busy(it, float(os.environ.get("SLUICE_PAGE_SECONDS", "60")))
        kept = fill(it)
        loads = threading.Thread(target=busy, args=(it, 45))
        loads.start()
        with browser_at(it.url_as("secret")) as browser:
            browser.until("return document.querySelectorAll('#graph .waiter').length >= 7")
            browser.until("return document.querySelectorAll('#slow tbody tr').length > 0")
            time.sleep(6)
            for name, scheme, size in (("page-light", "light", (1440, 1180)), ("page-dark", "dark", (1440, 1180)),
                                       ("page-narrow", "dark", (360, 780))):
                browser.prefer(color_scheme=scheme)
                browser.resize(*size)
                time.sleep(2.5)
                browser.screenshot(folder / f"{name}.png")
            browser.prefer(color_scheme="light")
            browser.resize(1120, 620)
            browser.click("#limits tbody tr button")
            time.sleep(30)
            browser.screenshot(folder / "page-panel.png")
        loads.join()
        assert kept


# --- who may change something

def test_an_action_with_a_login():
    options = ("--http-password", "secret", "--http-actions", "yes")
    with Paged(*options) as it, browser_at(it.url_as("secret")) as browser:
        one, two, three = (client(it.server) for _ in range(3))
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        send(two, "LOCK.ACQUIRE", "door:1", "bob", "LEASE", 600000, "WAIT", 600000)
        call(three, "SET", "a<b>", "1")
        browser.until("return document.querySelector('#locks tbody .danger')")
        browser.click("#locks tbody .danger")
        assert "door:1" in browser.text("#confirm") and browser.run("return document.activeElement.id") == "confirm-no"
        browser.click("#confirm-no")
        browser.click("#locks tbody .danger")
        browser.press("Escape")
        assert call(one, "LOCK.WAITERS", "door:1").startswith(b"*1")  # nothing has happened
        browser.click("#locks tbody .danger")
        browser.click("#confirm-yes")
        assert two.replies(1)[0].startswith(b"*")  # the waiter got it
        browser.until("return document.querySelector('#locks tbody').innerText.includes('bob')")
        browser.until("return document.getElementById('said').textContent === 'The lock door:1 is broken: 1 holder lost it.'")
        # The focus is where it was; with the last lock gone it is at the heading.
        assert browser.run("return document.activeElement.getAttribute('aria-label')") == "Break the lock door:1"
        call(two, "LOCK.RELEASE", "door:1", "bob")
        browser.until("return document.querySelectorAll('#locks tbody tr').length === 0")
        assert browser.run("return document.activeElement.id") == "locks-title"
        # A holder that has given it back, and keeps it for a while: there is nothing to break.
        call(one, "LOCK.ACQUIRE", "door:2", "alice", "LEASE", 600000, "MINHOLD", 600000)
        browser.until("return document.querySelector('#locks tbody .danger')")
        call(one, "LOCK.RELEASE", "door:2", "alice")
        browser.until("return document.querySelector('#locks tbody tr') && !document.querySelector('#locks tbody .danger')")
        browser.run("document.getElementById('match').value = 'a<*'")
        browser.click("#search button[type=submit]")
        browser.until("return document.querySelector('#keys tbody tr button')")
        browser.click("#keys tbody tr button")
        browser.until("return document.querySelector('#panel-body .danger')")
        browser.click("#panel-body .danger")
        assert "a<b>" in browser.text("#confirm-name")
        browser.click("#confirm-yes")
        until(lambda: call(three, "EXISTS", "a<b>") == b":0\r\n", "the key is gone")
        log = it.server.output()
        assert 'LOCK.BREAK "door:1" of database 0: 1' in log and 'DEL "a<b>" of database 0: 1' in log, log


def test_no_action_without_a_login():
    """Without http-actions, or without a password, there are no buttons, and the paths refuse."""
    for options in ((), ("--http-actions", "yes"), ("--http-password", "secret")):
        with Paged(*options) as it:
            one = client(it.server)
            call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
            status, _, text = it.change("/api/break", b"door:1", password="secret")
            assert status == 403, (options, status, text)
            assert call(one, "LOCK.INFO", "door:1") != b"*0\r\n"
            has_password = "--http-password" in options
            with browser_at(it.url_as("secret") if has_password else it.url) as browser:
                browser.until("return document.querySelector('#locks tbody tr')")
                assert not browser.run("return document.querySelector('#locks tbody .danger')")


def test_changes_from_elsewhere_are_refused():
    with Paged("--http-password", "secret", "--http-actions", "yes") as it:
        one = client(it.server)
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        other = "0" * 64
        for status, headers in ((403, {"Origin": "http://evil.example"}), (403, {"Origin": None}),
                                (403, {"Origin": "null"}), (403, {"Sec_Fetch_Site": "cross-site"}),
                                (403, {"Sec_Fetch_Site": "same-site"}), (403, {"Origin": f"http://127.0.0.1:{it.port + 1}"}),
                                (403, {"token": other}), (403, {"token": ""}), (401, {"Authorization": None}),
                                (415, {"Content_Type": "text/plain"}), (415, {"Content_Type": None}),
                                (415, {"Content_Type": "application/x-www-form-urlencoded"}),
                                (421, {"Host": "evil.example"})):
            assert it.change("/api/break", b"door:1", **headers)[0] == status, (status, headers)
        assert call(one, "LOCK.INFO", "door:1") != b"*0\r\n"
        token = it.get("/api/overview", Authorization="Bearer secret")["token"]
        call(one, "CONFIG", "SET", "http-password", "another")
        assert it.change("/api/break", b"door:1", password="another", token=token)[0] == 403  # of another login
        status, _, text = it.change("/api/break", b"door:1", password="another")
        assert status == 200 and json.loads(text) == {"done": 1}, text
        assert call(one, "LOCK.INFO", "door:1") == b"*0\r\n"


def test_a_page_elsewhere_cannot_ask():
    """A page of another origin, in a browser that has logged in here: neither reads nor changes anything."""
    with Paged("--http-password", "secret", "--http-actions", "yes") as it, Paged() as other:
        one = client(it.server)
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        token = it.get("/api/overview", Authorization="Bearer secret")["token"]
        try:
            browser = Browser()
        except Missing as reason:
            raise Skip(reason) from None
        with browser:
            browser.open(it.url_as("secret"))
            browser.until("return document.getElementById('state').textContent === 'ready'")
            browser.open(other.url.replace("127.0.0.1", "localhost") + "healthz")  # no policy of a page there
            tries = """
                const done = arguments[arguments.length - 1], [url, token, body] = arguments;
                const ask = (path, options) => fetch(url + path, {credentials: 'include', ...options})
                  .then((answer) => answer.type === 'opaque' ? 'sent' : String(answer.status)).catch(() => 'refused');
                Promise.all([
                  ask('api/overview', {}),
                  ask('api/break', {method: 'POST', body, headers: {'Content-Type': 'application/json', 'X-Sluice-Token': token}}),
                  ask('api/break', {method: 'POST', body, mode: 'no-cors'}),
                ]).then(done);"""
            body = json.dumps({"db": 0, "key": key_id(b"door:1")})
            outcome = browser.wait_for(tries, it.url, token, body)
            assert outcome[0] == outcome[1] == "refused", outcome
            assert call(one, "LOCK.INFO", "door:1") != b"*0\r\n"


# --- its paths, without a browser

def test_the_page_is_closed():
    with Paged() as it:
        status, headers, text = it.ask("GET", "/")
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8" and len(text) < 100_000
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "connect-src 'self'",
                     "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
            assert part in policy, policy
        assert "unsafe" not in policy and "http:" not in policy
        for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                            ("Cache-Control", "no-store"), ("X-Frame-Options", "DENY"),
                            ("Cross-Origin-Resource-Policy", "same-origin")):
            assert headers[name] == value, (name, headers)
        for outside in (b"http://", b"https://", b"innerHTML", b"document.write", b"eval("):
            found = text.replace(b"http://www.w3.org/2000/svg", b"")
            assert outside not in found, outside
        assert it.ask("HEAD", "/")[2] == b""
        assert it.status("/", method="POST", body="x") == 405


def test_bad_queries():
    with Paged() as it:
        call(client(it.server), "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        for query in ("db=16", "db=-1", "db=x", "db", "cursor=x", "cursor=-1", "cursor=99999999999999999999", "match=%zz",
                      "rows=0", "rows=101", "rows=x",
                      "match=" + "*" * 129, "key=!!!", "key=A", "key=" + "A" * 4000, "nothing=1", "db=0&db=0", "=", "&&"):
            for path in ("/api/locks", "/api/waits", "/api/limits", "/api/keys", "/api/key", "/api/history"):
                assert it.status(f"{path}?{query}") == 400, (path, query)
        assert it.status("/api/key") == 400
        assert it.get("/api/key?db=0&key=" + key_id(b"none"))["type"] == "none"
        assert it.get("/api/locks?cursor=18446744073709551615")["locks"] == []
        assert it.get("/api/keys?cursor=18446744073709551615")["cursor"] == "0"
        assert it.get("/api/history?cursor=18446744073709551615")["commands"] == []
        for path in ("/api", "/api/", "/api/locks/", "/api/../metrics", "/api/lock%73", "/API/LOCKS"):
            assert it.status(path) == 404, path
        for path in ("/api/locks", "/api/overview"):
            assert it.status(path, method="POST", body="{}") == 405
        for path in ("/api/break", "/api/delete"):
            assert it.status(path) == 405


def test_bad_bodies():
    with Paged("--http-password", "secret", "--http-actions", "yes") as it:
        one = client(it.server)
        call(one, "SET", "text", "1")
        login = "Basic " + base64.b64encode(b"me:secret").decode()
        headers = {"Authorization": login, "Content-Type": "application/json", "Origin": f"http://127.0.0.1:{it.port}",
                   "X-Sluice-Token": it.get("/api/overview", Authorization=login)["token"]}
        for body in (None, "", "{}", "[]", "null", "{", '{"db":0}', '{"key":"YQ"}', '{"db":"0","key":"YQ"}', '{"db":0,"key":1}',
                     '{"db":99,"key":"YQ"}', '{"db":0,"key":"!"}', '{"db":0,"key":"YQ"}x', '{"db":0,"key":"YQ","x":1}',
                     '{"db":0,"key":"YQ","token":-1}', "[" * 10_000, '{"db":0,"key":"' + "A" * 4000 + '"}', "\x00" * 100):
            for path in ("/api/break", "/api/delete"):
                assert it.ask("POST", path, body, headers)[0] == 400, (path, body)
        assert it.ask("POST", "/api/break", "x" * 20_000, headers)[0] == 413
        status, _, text = it.ask("POST", "/api/break", json.dumps({"db": 0, "key": key_id(b"text")}), headers)
        assert status == 409 and text.startswith(b"WRONGTYPE"), text
        assert call(one, "GET", "text") == b"$1\r\n1\r\n"


def test_names_need_what_clients_need():
    """Where clients need a password, names are not shown without one; figures are."""
    with Paged("--requirepass", "secret") as it:
        assert it.status("/") == it.status("/api/overview") == it.status("/metrics") == 200
        for path in ("/api/locks", "/api/waits", "/api/keys", "/api/key", "/api/limits", "/api/slowlog"):
            assert it.status(path) == 403, path
        one = client(it.server)
        call(one, "AUTH", "secret")
        call(one, "CONFIG", "SET", "requirepass", "")
        assert it.status("/api/locks") == 200


def test_names_need_what_the_default_user_may():
    """Where whoever connects may do little, a visitor without a password is not shown more."""
    with Paged() as it:
        one = client(it.server)
        call(one, "ACL", "SETUSER", "admin", "on", "nopass", "+@all", "~*", "&*")
        call(one, "AUTH", "admin", "x")
        names = ("/api/locks", "/api/waits", "/api/keys", "/api/key", "/api/limits", "/api/slowlog")
        call(one, "ACL", "SETUSER", "default", "-@all", "+ping")
        assert it.status("/") == it.status("/api/overview") == it.status("/metrics") == 200
        assert [it.status(path) for path in names] == [403] * len(names)
        call(one, "ACL", "SETUSER", "default", "+lock.list")
        assert it.status("/api/locks") == 200 and it.status("/api/waits") == 403
        call(one, "ACL", "SETUSER", "default", "+@all", "resetkeys", "~app:*")
        assert [it.status(path) for path in names] == [403] * len(names), "keys that it may not read"
        call(one, "ACL", "SETUSER", "default", "allkeys", "-debug")
        assert it.status("/api/locks") == it.status("/api/keys") == it.status("/api/slowlog") == 200


def test_asked_from_elsewhere():
    with Paged() as it:
        for headers in ({"Sec_Fetch_Site": "cross-site"}, {"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "same-site"}):
            assert it.status("/api/locks", **headers) == 403 and it.status("/api/overview", **headers) == 403, headers
            assert it.status("/", **headers) == 200  # a link from elsewhere leads here
        assert it.status("/api/locks", Host="evil.example") == 421


def test_slow_commands_are_not_disturbed():
    """While a script runs figures are shown, and neither names nor changes."""
    options = ("--busy-reply-threshold", "10", "--http-password", "secret", "--http-actions", "yes")
    with Paged(*options) as it:
        login = {"Authorization": "Bearer secret"}
        one = client(it.server)
        call(one, "LOCK.ACQUIRE", "door:1", "alice", "LEASE", 600000)
        token = it.get("/api/overview", **login)["token"]
        one.send(b'EVAL "while true do end" 0\r\n')
        until(lambda: client(it.server).call("PING")[1].startswith(b"BUSY"), "the script is slow")
        assert it.get("/api/overview", **login)["busy"] is True
        assert it.ask("GET", "/api/locks", headers=login)[0] == 503
        assert it.change("/api/break", b"door:1", token=token)[0] == 503
        client(it.server).call("SCRIPT", "KILL")
        assert one.replies(1)[0].startswith(b"-")
        assert it.get("/api/locks", **login)["locks"][0]["holders"][0]["owner"]["text"] == "alice"
        assert it.change("/api/break", b"door:1", token=token)[0] == 200


def test_answers_are_bounded():
    """A million keys, 10,000 locks, hostile names and globs: each answer is small, and no turn is long."""
    with Paged(grow=700 * MIB) as it:
        one = client(it.server)
        one.call("DEBUG", "POPULATE", "1000000")
        for at in range(0, 10_000, 1000):
            one.send("".join(f"LOCK.ACQUIRE lock:{i} {'o' * 200}{i} LEASE 600000\r\n" for i in range(at, at + 1000)).encode())
            assert not any(raw.startswith(b"-") for raw in one.replies(1000))
        names = [b"a" * 500 + b"%d" % i for i in range(2000)]
        one.send(b"".join(encode([b"SET", name, b"1"]) for name in names))
        one.replies(len(names))
        waiters = [client(it.server) for _ in range(50)]
        for i, waiter in enumerate(waiters):
            send(waiter, "LOCK.ACQUIRE", f"lock:{i % 7}", f"w{i}", "LEASE", 1000, "WAIT", 600000)
        for _ in range(20):
            for key in names[:100]:
                send(one, "LIMIT.TAKE", b"l" + key, "WINDOW", 1, 600000)
            one.replies(100)
        call(one, "CONFIG", "RESETSTAT")
        costly = "*" + "?" * 60 + "b*" + "?a" * 30 + "*"
        worst = {}
        for query in ("/api/overview", "/api/locks", "/api/locks?match=lock:9*", f"/api/locks?match={costly}", "/api/waits",
                      "/api/limits", "/api/keys", "/api/keys?match=nothing:*", f"/api/keys?match={costly}",
                      "/api/history", "/api/slowlog", "/api/key?key=" + key_id(b"lock:1"), "/"):
            before = it.ask("GET", "/metrics")[2]
            for _ in range(30):
                status, _, text = it.ask("GET", query.replace("?a", "%3Fa").replace("??", "%3F%3F") if "match" in query else query)
                assert status == 200 and len(text) <= ANSWER_BYTES_MAX, (query, status, len(text))
            after = it.ask("GET", "/metrics")[2]
            worst[query] = (mean_us(before, after), len(text))
        for query, (us, size) in worst.items():
            print(f"  {us:6.0f} µs {size:7} bytes  {query[:60]}")
        assert all(us < 1000 for us, _ in worst.values()), worst
        walked, cursor = 0, "0"
        while True:  # the whole walk ends
            answer = it.get(f"/api/keys?match=nothing:*&cursor={cursor}")
            walked, cursor = walked + answer["looked_at"], answer["cursor"]
            if cursor == "0":
                break
        assert walked >= 1_012_000, walked
        seen, cursor = set(), "0"
        while True:
            answer = it.get(f"/api/locks?cursor={cursor}")
            seen |= {lock["name"]["text"] for lock in answer["locks"]}
            cursor = answer["cursor"]
            if cursor == "0":
                break
        assert len(seen) == 10_000, len(seen)


def mean_us(before, after):
    def of(text, name):
        return float(next(line for line in text.decode().splitlines() if line.startswith(name + " ")).split(" ")[1])
    total = [of(text, "sluice_http_page_seconds_sum") for text in (before, after)]
    times = [of(text, "sluice_http_page_seconds_count") for text in (before, after)]
    return (total[1] - total[0]) / (times[1] - times[0]) * 1e6


def test_what_an_open_page_asks():
    """A page asks some times a second, however many locks there are; one that is hidden asks nothing."""
    with Paged(grow=128 * MIB) as it:
        send_all(client(it.server), (["LOCK.ACQUIRE", f"lock:{i}", f"owner-{i}", "LEASE", 6000000] for i in range(10_000)))
        with browser_at(it.url) as browser:
            browser.until("return document.querySelectorAll('#locks tbody tr').length >= 20")
            asked, begun = requests(it), time.monotonic()
            time.sleep(5)
            a_second = (requests(it) - asked) / (time.monotonic() - begun)
            assert 0 < a_second < REQUESTS_A_SECOND_MAX, a_second
            browser.run("Object.defineProperty(document, 'hidden', {value: true}); document.dispatchEvent(new Event('visibilitychange'))")
            asked = requests(it)
            time.sleep(5)
            assert requests(it) - asked <= 2, "a page that is hidden asks on"  # the scrapes of this test


def requests(it):
    text = it.ask("GET", "/metrics")[2].decode()
    return float(next(line for line in text.splitlines() if line.startswith("sluice_http_requests_total ")).split(" ")[1])


def test_a_thousand_connections():
    """To the page: the newest have their place, and clients notice nothing."""
    with Paged(tcp=True) as it:
        one = client(it.server)
        stopped = threading.Event()

        def crowd():
            while not stopped.is_set():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    it.ask("GET", "/api/locks")
        threads = [threading.Thread(target=crowd, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        worst = 0
        for _ in range(200):
            begun = time.monotonic()
            assert one.call("PING") == ("+", b"PONG")
            worst = max(worst, time.monotonic() - begun)
        stopped.set()
        for thread in threads:
            thread.join()
        print(f"  slowest PING beside them: {worst * 1e3:.1f} ms")


if __name__ == "__main__":
    sys.exit(run_tests(__doc__, globals()))
