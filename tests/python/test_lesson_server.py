# SPDX-License-Identifier: MIT
"""gradwalk lesson against browsers, scanners and clumsy clients: raw sockets, and a small synthetic page.

cpp-httplib's versions differ in the status of a refusal. Where the difference is harmless, a test accepts each of them."""

import contextlib
import gzip
import http.client
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import time

import pytest
from cli import PROGRAM, ROOT, gradwalk, wait_for_file

SECRET = b"outside of the page"
HUGE = 1 << 25  # bytes, more than the system buffers for a client that does not read
TYPES = {
    "index.html": "text/html; charset=utf-8",
    "assets/index-B3x_9-Zq.js": "text/javascript; charset=utf-8",
    "assets/index-B3x_9-Zq.js.txt": "text/plain; charset=utf-8",
    "assets/worker.js": "text/javascript; charset=utf-8",
    "assets/index-Dk2l0aPQ.css": "text/css; charset=utf-8",
    "assets/engine-a1B2c3D4.wasm": "application/wasm",
    "assets/font-AbCdEfGh.woff2": "font/woff2",
    "data.json": "application/json",
    "icon.svg": "image/svg+xml",
    "icon.png": "image/png",
    "notes-AbCdEfGh.txt": "text/plain; charset=utf-8",
    "robots.txt": "text/plain; charset=utf-8",
    "unknown.xyz": "application/octet-stream",
    "a b+ü.txt": "text/plain; charset=utf-8",
}


class Server:
    def __init__(self, *arguments, program=PROGRAM, **options):
        self.process = subprocess.Popen(
            [program, "lesson", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        line = self.process.stdout.readline()
        assert line.startswith("the lesson is at http://127.0.0.1:"), line + self.process.stderr.read()
        assert self.process.stdout.readline() == "press Ctrl-C to stop\n"
        self.port = int(line.rstrip("/\n").rsplit(":", 1)[1])

    def connect(self, timeout=10):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def raw(self, data):
        """Sends the bytes, and returns the answer until the server closes or resets the connection."""
        with self.connect() as client, contextlib.suppress(BrokenPipeError):
            client.sendall(data)
            return everything(client)
        return b""

    def status(self, data):
        """Returns the status of the answer, or None if the server closed the connection without one."""
        answer = self.raw(data)
        assert not answer or answer.startswith(b"HTTP/1.1 "), answer
        return int(answer.split()[1]) if answer else None

    def ask(self, target, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, target, headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def stop(self, how=signal.SIGINT):
        start = time.monotonic()
        self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=10)
        return self.process.returncode, time.monotonic() - start, errors


def everything(client):
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


def get(target, *headers, host="localhost"):
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lesson") / "page"
    for name in TYPES:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"these are the bytes of " + name.encode())
    (folder / "large.txt").write_bytes(bytes(range(32, 127)) * 80000)
    (folder / "empty.txt").touch()
    (folder / "huge.bin").touch()
    os.truncate(folder / "huge.bin", HUGE)
    (folder / "refused.bin").touch()
    os.truncate(folder / "refused.bin", (1 << 28) + 1)
    (folder / ".git").mkdir()
    (folder / ".git/config").write_bytes(SECRET)
    (folder / ".env").write_bytes(SECRET)
    (folder.parent / "secret.txt").write_bytes(SECRET)
    (folder.parent / "page-two").mkdir()
    (folder.parent / "page-two/secret.txt").write_bytes(SECRET)
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "absolute.txt").symlink_to("/etc/passwd")
    (folder / "beside").symlink_to("../page-two")
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "inside.txt").symlink_to("robots.txt")
    os.mkfifo(folder / "pipe.txt")
    return folder


@pytest.fixture(scope="module")
def server(page):
    running = Server("--port", 0, "--folder", page)
    yield running
    status, _, errors = running.stop()
    assert (status, errors) == (0, "")


def test_every_file_is_served_whole_with_its_type(server, page):
    for name, kind in TYPES.items():
        target = "/" + name.replace(" ", "%20").replace("ü", "%C3%BC")
        status, headers, body = server.ask(target, Accept_Encoding="gzip, br")
        assert (status, headers["Content-Type"], body) == (200, kind, (page / name).read_bytes()), name
        assert headers["Content-Length"] == str(len(body)) and headers["Content-Encoding"] is None
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert server.ask("/large.txt")[2] == (page / "large.txt").read_bytes()
    assert server.ask("/inside.txt")[0] == 200
    assert server.ask("/empty.txt")[::2] == (200, b"")


def test_a_compressed_copy_is_served_to_a_client_that_accepts_it(server, page):
    plain, packed = b"function f() {}\n" * 500, gzip.compress(b"function f() {}\n" * 500)
    (page / "copied.js").write_bytes(plain)
    (page / "copied.js.gz").write_bytes(packed)
    for accepted in ("gzip", "br, gzip;q=0.5", "gzip, deflate, br, zstd"):
        for method in ("GET", "HEAD"):
            status, headers, body = server.ask("/copied.js", method, Accept_Encoding=accepted)
            assert (status, headers["Content-Encoding"], headers["Vary"]) == (200, "gzip", "Accept-Encoding"), accepted
            assert body == (packed if method == "GET" else b"") and headers["Content-Length"] == str(len(packed))
            assert headers.get_all("Content-Type") == ["text/javascript; charset=utf-8"]
    for refused in ("", "br", "gzip;q=0", "gzip;q=0.0, br", "xgzip"):
        status, headers, body = server.ask("/copied.js", Accept_Encoding=refused)
        assert (status, headers["Content-Encoding"], body) == (200, None, plain), refused
    os.utime(page / "copied.js.gz", (1, 1))  # the copy is older than the file
    assert server.ask("/copied.js", Accept_Encoding="gzip")[2] == plain
    (page / "copied.js.gz").unlink()
    (page / "copied.js.gz").symlink_to("../secret.txt")
    assert server.ask("/copied.js", Accept_Encoding="gzip")[2] == plain


def test_the_root_is_the_index_and_a_query_changes_nothing(server):
    index = server.ask("/index.html")[2]
    assert server.ask("/")[2] == index
    assert server.ask("/?expression=a%2Fb&x=../..")[2] == index
    assert server.ask("/index.html?v=1")[2] == index


def test_the_policy_allows_own_scripts_wasm_and_workers_and_nothing_from_elsewhere(server):
    for target in ("/", "/no"):
        policy = dict(part.split(" ", 1) for part in server.ask(target)[1]["Content-Security-Policy"].split("; "))
        assert policy == {
            "default-src": "'self'",
            "script-src": "'self' 'wasm-unsafe-eval'",
            "worker-src": "'self' blob:",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data:",
            "font-src": "'self' data:",
            "connect-src": "'self'",
            "object-src": "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }


def test_only_hashed_assets_are_cached_for_a_year(server):
    for name in TYPES:
        if name == "a b+ü.txt":
            continue
        hashed = name.startswith("assets/") and "-" in name and not name.endswith(".txt")
        expected = "public, max-age=31536000, immutable" if hashed else "no-cache"
        assert server.ask("/" + name)[1]["Cache-Control"] == expected, name


def test_a_changed_file_is_sent_as_it_is_now(server, page):
    for text in (b"old", b"newer"):
        (page / "changing.txt").write_bytes(text)
        assert server.ask("/changing.txt")[2] == text


def test_head_gives_the_headers_of_get_and_no_body(server):
    for target in ("/", "/large.txt", "/nothing"):
        status, headers, body = server.ask(target)
        assert server.ask(target, "HEAD")[0] == status
        head = server.ask(target, "HEAD")
        assert head[2] == b"" and head[1].items() == headers.items() and len(body) == int(headers["Content-Length"])


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_get_405(server, method):
    status, headers, body = server.ask("/", method)
    assert (status, headers["Allow"], body) == (405, "GET, HEAD", b"405 Only GET and HEAD are answered here.\n")


def test_a_body_is_never_read_as_a_request(server):
    inner = get("/robots.txt")
    for method in ("GET", "POST"):
        for headers in ([f"Content-Length: {len(inner)}"], ["Transfer-Encoding: chunked"], ["Content-Length: 0"] * 2):
            head = "\r\n".join([f"{method} / HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()
            answer = server.raw(head + inner)
            assert answer.count(b"HTTP/1.1") <= 1 and b"robots.txt" not in answer


def test_a_large_body_is_not_read(server):
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"
    start = time.monotonic()
    assert server.status(head + b"x" * 10_000_000) in (405, None)
    assert time.monotonic() - start < 3


def test_a_missing_file_gets_404_and_one_line(server):
    status, headers, body = server.ask("/nothing")
    assert (status, body) == (404, b"404 There is no such page here. The lesson is at /.\n")
    assert (headers["Content-Type"], headers["Cache-Control"]) == ("text/plain; charset=utf-8", "no-store")
    for target in ("/assets", "/assets/", "/pipe.txt", "/index.html/", "/INDEX.HTML", "/index.html/x"):
        assert server.ask(target)[0] == 404, target


def test_an_unreadable_file_gets_500_and_reveals_nothing(server, page):
    answer = server.raw(get("/refused.bin"))
    assert answer.startswith(b"HTTP/1.1 500 ") and answer.endswith(b"500 This request cannot be answered.\n")
    assert str(page).encode() not in answer


TRAVERSALS = [
    "/../secret.txt", "/assets/../../secret.txt", "/assets/../index.html", "/..", "/.", "/./index.html",
    "/%2e%2e/secret.txt", "/%2E%2E/secret.txt", "/.%2e/secret.txt", "/%2e%2e%2fsecret.txt", "/..%2fsecret.txt",
    "/..%5csecret.txt", "/..\\secret.txt", "\\..\\secret.txt", "/assets%2findex-B3x_9-Zq.js", "/assets\\data.js",
    "/%252e%252e/secret.txt", "/..%c0%afsecret.txt", "/%c0%ae%c0%ae/secret.txt", "/..;/secret.txt",
    "//etc/passwd", "///etc/passwd", "/%2fetc/passwd", "/etc/passwd", "/file:///etc/passwd", "file:///etc/passwd",
    "http://localhost/index.html", "index.html", "../secret.txt", "*", "?", "/?/../secret.txt/..", "/%00", "/index.html%00",
    "/index.html%00.txt", "/secret.txt%00.html", "/%", "/%2", "/%zz", "/%u002e%u002e/secret.txt", "/index.html%0d%0aX:1",
    "/.git/config", "/.env", "/%2egit/config", "/out.txt", "/absolute.txt", "/beside/secret.txt", "/loop.txt",
    "/../page-two/secret.txt", "/proc/self/environ", "/" + "../" * 500 + "etc/passwd", "/" + "a" * 5000, "/" + "a/" * 2500,
]  # fmt: skip


def test_no_path_leads_out_of_the_folder(server, page):
    of_the_page = [(page / name).read_bytes() for name in ("index.html", "assets/index-B3x_9-Zq.js")]
    for target in [*TRAVERSALS, "/\0../secret.txt", "/a b"]:
        answer = server.raw(get(target))
        assert SECRET not in answer and b"root:" not in answer, target
        if answer.startswith(b"HTTP/1.1 200 "):  # the path leads to a file of the page
            assert answer.split(b"\r\n\r\n", 1)[1] in of_the_page, target
        else:
            assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 404 ")), target


@pytest.mark.parametrize("host", ["localhost", "LocalHost", "127.0.0.1", "localhost:8000", "127.0.0.1:1"])
def test_requests_to_this_machine_are_answered(server, host):
    assert server.status(get("/", host=host)) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io", "localhost:80:evil", "0.0.0.0",
     "[::1]", "127.0.0.2", "localhost:x", "user@localhost", ""],
)  # fmt: skip
def test_requests_to_another_host_are_refused(server, host):
    answer = server.raw(get("/", host=host))
    assert answer.startswith(b"HTTP/1.1 421 Misdirected Request\r\n")
    assert answer.endswith(b"421 This server answers only to the names localhost and 127.0.0.1.\n")


def test_requests_with_no_host_or_two_hosts_are_refused(server):
    assert server.status(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n") == 421
    assert server.status(get("/", "Host: evil.example")) == 421


def test_an_invalid_request_is_refused_and_the_connection_closed(server):
    for data in (b"\r\n\r\n", b"nonsense\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n",
                 b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", bytes(range(256)) + b"\r\n\r\n"):  # fmt: skip
        answer = server.raw(data + get("/"))
        assert answer.count(b"HTTP/1.1 ") <= 1
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ") and b"Connection: close" in answer, data


def test_long_paths_and_headers_are_refused(server):
    for data in (get("/?" + "x" * 10000), get("/", "X: " + "y" * 10000), get("/" + "a" * 1_000_000)):
        assert server.status(data) in (400, 414, 431, None)
    assert server.status(get("/?" + "x" * 5000, "X: " + "y" * 5000)) == 200
    assert server.status(get("/", "Accept-Encoding: gzip" + " " * 5000 + ";" + " " * 2000 + "q=0." + "0" * 1000)) == 200


def test_requests_for_many_ranges_are_refused(server):
    for ranges in ("0-9", "0-,0-,0-", "0-," * 2000 + "0-"):
        answer = server.raw(get("/large.txt", "Range: bytes=" + ranges))
        assert answer.startswith(b"HTTP/1.1 416 ") and len(answer) < 500_000


@pytest.mark.parametrize("part", [b"a" * 65536, b"A: b\r\n" * 10000], ids=["target", "headers"])
def test_an_endless_request_is_cut_off(page, part):
    server = Server("--port", 0, "--folder", page)
    with server.connect() as client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(b"GET /" if part.startswith(b"a") else b"GET / HTTP/1.1\r\n")
        client.setblocking(False)
        sent, end = 0, time.monotonic() + 10
        while not select.select([client], [], [], 0)[0]:  # until the server answers or closes the connection
            assert time.monotonic() < end and sent < 500_000_000
            if select.select([], [client], [], 0.1)[1]:
                sent += client.send(part)
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) < 300_000  # kB, the peak of its memory
    assert server.stop()[::2] == (0, "")


def test_a_request_sent_byte_by_byte_is_answered(server):
    with server.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in get("/robots.txt"):
            client.sendall(bytes([byte]))
        assert everything(client).endswith(b"robots.txt")


def test_the_server_listens_on_loopback_only(server):
    listening = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if int(port, 16) == server.port and line.split()[3] == "0A":
                listening.append(address)
    assert listening == ["0100007F"]


def test_many_clients_at_a_time_are_all_answered(server, page):
    index = (page / "index.html").read_bytes()
    clients = [server.connect() for _ in range(200)]
    for client in clients:
        client.sendall(get("/"))
    for client in clients:
        with client:
            assert everything(client).endswith(index)


def test_hanging_clients_block_no_other_and_are_disconnected(server):
    start = time.monotonic()
    silent, slow = [server.connect() for _ in range(25)], [server.connect() for _ in range(25)]
    deaf = server.connect()
    deaf.sendall(get("/huge.bin"))  # this client reads only at the end
    for _ in range(50):
        assert server.ask("/")[0] == 200
    assert time.monotonic() - start < 3
    waiting = silent + slow
    while waiting and time.monotonic() - start < 15:
        for client in slow:  # sending single bytes does not extend the time limit
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(b"x")
        for client in select.select(waiting, [], [], 0.2)[0]:
            assert everything(client) == b""
            waiting.remove(client)
    assert waiting == []
    time.sleep(max(0, start + 8 - time.monotonic()))
    assert len(everything(deaf)) < HUGE  # only what the system had buffered
    for client in [*silent, *slow, deaf]:
        client.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_server_at_once_even_with_open_connections(page, how):
    running = Server("--port", 0, "--folder", page)
    idle, started, reading = running.connect(), running.connect(), running.connect()
    started.sendall(b"GET /")
    reading.sendall(get("/large.txt"))
    time.sleep(0.1)
    status, seconds, errors = running.stop(how)
    assert (status, errors) == (0, "") and seconds < 1
    again = Server("--port", running.port, "--folder", page)  # the port is free again
    assert again.stop()[0] == 0
    for client in (idle, started, reading):
        client.close()


def test_a_port_in_use_is_an_error_with_advice(page, server):
    run = gradwalk("lesson", "--folder", str(page), "--port", str(server.port))
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        f"gradwalk lesson: needs a free port, got {server.port} (Address already in use); "
        "give another with --port, 1024 or above, or --port 0 for any free port\n"
    )
    assert gradwalk("lesson", "--port", "65536").returncode == 2
    assert gradwalk("lesson", "--port", "-1").returncode == 2


def test_without_a_port_the_next_free_port_is_used(page):
    first, second = Server("--folder", page), Server("--folder", page)
    assert 8000 <= first.port < second.port < 8100
    assert first.stop()[0] == 0
    assert second.stop()[2] == f"port 8000 is in use; using port {second.port}\n"


def test_a_folder_without_a_page_is_an_error_with_advice(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        run = gradwalk("lesson", "--folder", str(folder))
        assert (run.returncode, run.stdout) == (1, "")
        assert run.stderr == (
            f"gradwalk lesson: needs a folder with an index.html, got '{folder}'; give the folder that tools/build-lesson writes, web/dist\n"
        )


def test_an_installed_program_finds_its_page(page, tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy2(PROGRAM, tmp_path / "bin/gradwalk")
    (tmp_path / "share/gradwalk/lesson").mkdir(parents=True)
    (tmp_path / "share/gradwalk/lesson/index.html").write_text("installed")
    running = Server("--port", 0, program=tmp_path / "bin/gradwalk")
    assert running.ask("/")[2] == b"installed"
    assert running.stop()[0] == 0


@pytest.mark.skipif((ROOT / "web/dist/index.html").exists(), reason="the page is built here")
def test_a_missing_page_is_an_error_that_says_how_to_build_it():
    run = gradwalk("lesson")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("gradwalk lesson: needs the lesson's page, got none in ")
    assert run.stderr.endswith("; build it with ./run lesson, or give its folder with --folder\n")


def test_open_starts_the_browser_and_warns_if_there_is_none(page, tmp_path):
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$#" "$@" > {tmp_path}/.opened && mv {tmp_path}/.opened {tmp_path}/opened\n')
    opener.chmod(0o755)
    running = Server("--port", 0, "--open", "--folder", page, env={**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"})
    wait_for_file(tmp_path / "opened")
    assert (tmp_path / "opened").read_text() == f"1 http://127.0.0.1:{running.port}/\n"
    assert running.stop()[::2] == (0, "")

    opener.write_text("#!/bin/sh\nexit 3\n")
    for path, why in ((f"{tmp_path}/nothing", "xdg-open is not installed"), (f"{tmp_path}:/usr/bin:/bin", "xdg-open found none")):
        running = Server("--port", 0, "--open", "--folder", page, env={**os.environ, "PATH": path})
        assert running.process.stderr.readline() == f"could not open a browser ({why}); open the address yourself\n"
        assert running.ask("/")[0] == 200
        assert running.stop()[::2] == (0, "")
