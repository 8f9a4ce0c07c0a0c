"""Chromium without a window, driven by chromedriver over HTTP (W3C WebDriver, and Chromium's own commands by it).
Gone at the end, whatever happens, with its folder.

  with Browser(width=1280) as browser:
      browser.open("http://127.0.0.1:9121/")
      browser.until("return document.title === 'Sluice'")
      browser.click("#pause")
      browser.screenshot(path)
"""
import base64
import contextlib
import http.client
import json
import shutil
import subprocess
import tempfile
import time

from server import die_with_parent, free_port

PATIENCE = 30
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--disable-default-apps", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
         "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # W3C's name of a reference
KEYS = {"Tab": "\ue004", "Shift": "\ue008", "Enter": "\ue007", "Escape": "\ue00c", "Space": " "}


class Missing(Exception):
    """There is no browser on this machine."""


def programs():
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if not all(found):
        raise Missing("chromium and chromium-driver are not installed")
    return found


class Browser:
    def __init__(self, width=1280, height=900):
        self.chromium, self.driver = programs()
        self.size = width, height
        self.session = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-browser-")
        self.port = free_port()
        self.process = subprocess.Popen([self.driver, f"--port={self.port}", "--allowed-ips=127.0.0.1"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        try:
            self._wait_for_driver()
            options = {"binary": self.chromium, "args": [*FLAGS, f"--user-data-dir={self.folder}"]}
            answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = answer["sessionId"]
            self.resize(*self.size)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.session:
            with contextlib.suppress(OSError, RuntimeError, http.client.HTTPException):
                self._ask("DELETE", f"/session/{self.session}")
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- WebDriver
    def _wait_for_driver(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self._ask("GET", "/status")["ready"]:
                    return
            time.sleep(0.05)
        raise RuntimeError("chromedriver does not answer")

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2 * PATIENCE)
        with contextlib.closing(connection):
            text = json.dumps(body if body is not None else {}) if method == "POST" else None
            connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            value = json.loads(answer.read())["value"]
            if answer.status != 200:
                raise RuntimeError(f"{value['error']}: {value['message'].splitlines()[0]}")
            return value

    def _do(self, command, body=None, method="POST"):
        return self._ask(method, f"/session/{self.session}/{command}", body)

    def devtools(self, command, **parameters):
        """A command of Chromium's own protocol."""
        return self._do("goog/cdp/execute", {"cmd": command, "params": parameters})

    def anew(self, width=1280, height=900):
        """Another tab in the place of all that was: nothing is emulated in it, and nothing has been said."""
        tab = self._do("window/new", {"type": "tab"})["handle"]
        self._do("window", method="DELETE")
        self._do("window", {"handle": tab})
        self.devtools("Emulation.setFocusEmulationEnabled", enabled=True)  # as the one in front has it
        self.resize(width, height)
        self.log()

    # --- what a person does
    def open(self, url):
        self._do("url", {"url": url})

    def resize(self, width, height, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                      mobile=False)

    def prefer(self, **features):
        """prefer(color_scheme="dark", reduced_motion="reduce")"""
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()])

    def press(self, *keys):
        """press("Tab"), press("Shift", "Tab"): held together."""
        typed = [KEYS.get(key, key) for key in keys]
        actions = [{"type": "keyDown", "value": key} for key in typed]
        actions += [{"type": "keyUp", "value": key} for key in reversed(typed)]
        self._do("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type(self, text):
        for character in text:
            self.press(character)

    def find(self, selector):
        return self._do("element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._do(f"element/{self.find(selector)}/click")

    def log(self):
        """What the page and the browser have said since the last call: faults, refusals of the policy."""
        return self._do("se/log", {"type": "browser"})

    # --- what a person sees
    def run(self, script, *arguments):
        return self._do("execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script, *arguments):
        """The value of a script that calls arguments[-1] when it has one."""
        return self._do("execute/async", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("const found = document.querySelector(arguments[0]); return found && found.innerText", selector)

    def until(self, script, *arguments):
        deadline = time.monotonic() + PATIENCE
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            assert time.monotonic() < deadline, f"still not so: {script}\n{self.run('return document.body.innerText')}"
            time.sleep(0.05)

    def screenshot(self, path=None):
        data = base64.b64decode(self._do("screenshot", method="GET"))
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return data
