"""The server: loopback only, closes cleanly, keeps what was appended."""

from __future__ import annotations

import socket
import struct
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import pytest

from jourdain.errors import InputError
from jourdain.view import Body, Scene
from jourdain.view import server as server_module
from jourdain.view.server import serve


def fetch(url: str, headers: dict[str, str] | None = None) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers=headers or {})
    with opener.open(request, timeout=120) as reply:
        data: bytes = reply.read()
    return data


def test_the_page_is_served_on_loopback_and_the_port_is_freed(scene: Scene) -> None:
    with serve(scene, open_browser=False) as server:
        assert server.url.startswith("http://127.0.0.1:")
        port = int(server.url.rsplit(":", 1)[1].split("/")[0])
        assert b"test bench" in fetch(server.url)
        for path, host, code in (("etc", server.url.split("/")[2], 404), ("", "evil.example", 403)):
            with pytest.raises(urllib.error.HTTPError) as error:
                fetch(server.url + path, {"Host": host})
            assert error.value.code == code
            error.value.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    server.close()


def test_events_repeat_the_history_and_end() -> None:
    with serve(Scene("live", [Body("b")]), open_browser=False, live=True) as server:
        server.append([0, 1], {"b": (np.zeros((2, 3)), [[2, 0, 0, 0]] * 2)})
        server.append(2, {"b": ([1, 2, 3], [0, 0, 0, 1])}, {"x": np.nan})
        server.finish()
        text = fetch(server.url + "events").decode()
        resumed = fetch(server.url + "events", {"Last-Event-ID": "1"}).decode()
    rest = "[0.0,0.0,0.0,1.0,0.0,0.0,0.0]"
    assert text.split("\n\n") == [
        f'id: 1\ndata: {{"times":[0.0,1.0],"bodies":{{"b":[{rest},{rest}]}},"channels":{{}},"arrows":{{}}}}',
        'id: 2\ndata: {"times":[2.0],"bodies":{"b":[[1.0,2.0,3.0,0.0,0.0,0.0,1.0]]},"channels":{"x":[null]},"arrows":{}}',
        "event: end\ndata: {}",
        "",
    ]
    assert resumed == text[text.index("id: 2") :]


def test_bad_appends_are_named() -> None:
    with serve(Scene("live", [Body("b")]), open_browser=False, live=True) as server:
        pose = ([0, 0, 0], [1, 0, 0, 0])
        server.append(1.0, {"b": pose})
        with pytest.raises(InputError, match=r"time 0.5 s comes before 1 s"):
            server.append(0.5, {"b": pose})
        with pytest.raises(InputError, match="no body 'c'"):
            server.append(2.0, {"c": pose})
        with pytest.raises(InputError, match="body 'b'"):
            server.append([2.0, 3.0], {"b": pose})
        for times in (np.nan, [2.0, np.inf], [[2.0, 3.0]]):
            with pytest.raises(InputError, match="row of finite seconds"):
                server.append(times, {"b": ([[0, 0, 0]] * 2, [[1, 0, 0, 0]] * 2)})
        with pytest.raises(InputError, match="channel 'x': 3 values for 1 times"):
            server.append(2.0, {"b": pose}, {"x": [1.0, 2.0, 3.0]})
        with pytest.raises(InputError, match="body 'b': 1 rows of 3 finite numbers"):
            server.append(2.0, {"b": ([0, 0], [1, 0, 0, 0])})
        server.finish()
        with pytest.raises(InputError, match="finished"):
            server.append(4.0, {"b": pose})


def test_the_address_holds_a_token_that_others_do_not_know() -> None:
    with serve(Scene("live", [Body("b")]), open_browser=False, live=True) as server, serve(Scene("x"), open_browser=False) as other:
        base = server.url.removesuffix(f"{server.token}/")
        assert len(server.token) > 20 and server.token != other.token
        for path in ("", "events", "wrong/", "wrong/events", f"{server.token}", f"{other.token}/"):
            with pytest.raises(urllib.error.HTTPError) as error:
                fetch(base + path)
            assert error.value.code == 404
            error.value.close()


def test_the_page_may_load_nothing_from_elsewhere() -> None:
    with serve(Scene("x"), open_browser=False) as server:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(server.url, timeout=60) as reply:
            policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "http" not in policy and "frame-ancestors 'none'" in policy


def talk(url: str, lines: bytes, seconds: float = 10.0) -> bytes:
    """What the server says to raw bytes until it hangs up."""
    host, port = url.split("/")[2].split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as line:
        line.sendall(lines)
        found = b""
        while part := line.recv(65536):
            found += part
    return found


def test_odd_requests_leave_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with serve(Scene("live", [Body("b")]), open_browser=False, live=True) as server:
        server.append([0, 1], {"b": (np.zeros((2, 3)), [[1, 0, 0, 0]] * 2)})
        server.finish()
        path, host = server.url.split("/", 3)[3], server.url.split("/")[2]
        for word in ("²", "-1", "1e9", "٣", "9" * 400, "9" * 5000):
            head = f"GET /{path}events HTTP/1.0\r\nHost: {host}\r\nLast-Event-ID: {word}\r\n\r\n"
            assert b"event: end" in talk(server.url, head.encode())
        talk(server.url, b"\x00\xff garbage\r\n\r\n")
        talk(server.url, b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n")
    assert "Traceback" not in capfd.readouterr().err


def test_a_client_that_goes_before_it_is_answered_leaves_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with serve("<p>" + "x" * 20_000_000, open_browser=False) as server:
        path, host = server.url.split("/", 3)[3], server.url.split("/")[2]
        name, port = host.split(":")
        for _ in range(5):
            with socket.create_connection((name, int(port)), timeout=5) as line:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
                line.sendall(f"GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
                line.recv(100)
        assert len(fetch(server.url)) > 20_000_000
    assert "Traceback" not in capfd.readouterr().err


def test_a_client_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CLIENT_TIME", 0.3)
    with serve(Scene("x"), open_browser=False) as server:
        assert talk(server.url, b"GET /") == b""
        assert b"<html" in fetch(server.url)


def test_a_client_that_drips_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each letter comes in time, the question as a whole does not."""
    monkeypatch.setattr(server_module, "CLIENT_TIME", 0.5)
    with serve(Scene("x"), open_browser=False) as server:
        host, port = server.url.split("/")[2].split(":")
        with socket.create_connection((host, int(port)), timeout=30) as line, pytest.raises(OSError):
            for _ in range(600):
                line.sendall(b"G")
                time.sleep(0.05)
        assert b"<html" in fetch(server.url)


ROWS, TURNS = np.zeros((2, 3)), [[1, 0, 0, 0]] * 2
#: What does not fit a live view, and what is told.
UNFIT: dict[str, tuple[Any, ...]] = {
    "times .*abc": ("abc", {}), "times .*complex": ([1j], {}), "times .*no real": (object(), {}),
    r"body 'b': 2 rows of 3 .*\(3, 2\)": ([2, 3], {"b": (ROWS.reshape(3, 2), TURNS)}),
    "body 'b': 2 rows of 4": ([2, 3], {"b": (ROWS, [1, 0, 0, 0])}), "body 'b': .* not finite": ([2, 3], {"b": (ROWS * np.nan, TURNS)}),
    "body 'b' .*no real numbers": ([2, 3], {"b": ("x", TURNS)}), "body 'b': give a pair": ([2, 3], {"b": ROWS}),
    "poses are given by name": ([2, 3], [ROWS, TURNS]), "channels are given by name": ([2, 3], {}, [1, 2]),
    "channel 'c' .*complex": ([2, 3], {}, {"c": [1j, 2]}), "arrow 'a': give a pair of feet": ([2, 3], {}, None, {"a": 3}),
    "arrow 'a': 2 rows": ([2, 3], {}, None, {"a": (ROWS, ROWS[0])}), "amplitudes of 's'": ([2, 3], {}, None, None, {"s": np.zeros((2, 4, 5))}),
}  # fmt: skip


@pytest.mark.parametrize("told", UNFIT)
def test_motion_that_does_not_fit_is_refused(told: str) -> None:
    with serve(Scene("live", [Body("b")]), open_browser=False, live=True) as server:
        with pytest.raises(InputError, match=told):
            server.append(*UNFIT[told])
        server.append([2, 3], {"b": (ROWS, TURNS)})  # nothing of it was shown


@pytest.mark.parametrize("port", [-1, 99999, "a", None, 1.5])
def test_ports_that_are_none_are_refused(port: Any) -> None:
    with pytest.raises(InputError, match="port = "):
        serve(Scene("x"), False, port=port)


def test_a_taken_port_and_no_scene_are_told() -> None:
    with serve(Scene("x"), False) as server, pytest.raises(InputError, match="cannot be taken .*port=0"):
        serve(Scene("x"), False, port=int(server.url.split("/")[2].split(":")[1]))
    with pytest.raises(InputError, match="None is no scene"):
        serve(None, False)  # type: ignore[arg-type]


def test_answers_hold_numbers_that_pages_can_read() -> None:
    with serve("<p>", open_browser=False, answer=lambda asked: {"x": float("nan"), "y": [float("inf"), 1.0]}) as server:
        assert ask(server, b"{}").endswith(b'{"x":null,"y":[null,1.0]}')


def ask(server: server_module.Server, question: bytes) -> bytes:
    host = server.url.split("/")[2]
    head = f"POST /{server.token}/ask HTTP/1.0\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n"
    return talk(server.url, f"{head}Content-Length: {len(question)}\r\n\r\n".encode() + question)


def test_any_question_is_answered(capfd: pytest.CaptureFixture[str]) -> None:
    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        return {"value": float({"a": 1}[question["name"]]), "number": float(question["number"])}

    with serve("<p>", open_browser=False, answer=answer) as server:
        assert b'{"value":1.0,"number":2.0}' in ask(server, b'{"name":"a","number":2}')
        wrong = [
            '{"name":[],"number":1}',
            '{"name":"b"}',
            '{"name":"a","number":' + "9" * 400 + "}",
            '{"name":"a","number":null}',
            "{",
            "[" * 10**5,
            "3",
        ]
        for question in wrong:
            assert b'{"error":"' in ask(server, question.encode()), question[:40]
    assert "Traceback" not in capfd.readouterr().err


def test_more_clients_than_there_is_room_for_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CLIENTS", 3)
    with serve(Scene("x"), open_browser=False) as server, ExitStack() as held:
        host, port = server.url.split("/")[2].split(":")
        lines = [held.enter_context(socket.create_connection((host, int(port)), timeout=10)) for _ in range(4)]
        assert lines[3].recv(1) == b""  # the fourth is hung up on
        for line in lines:
            line.close()
        for _ in range(100):
            with suppress(OSError):
                assert b"<html" in fetch(server.url)
                return
            time.sleep(0.1)
        pytest.fail("it serves no more")


def test_a_ready_page_cannot_be_live() -> None:
    with pytest.raises(InputError, match="give the scene"):
        serve("<p>page</p>", open_browser=False, live=True)
    with serve("<p>page</p>", open_browser=False) as server:
        assert fetch(server.url) == b"<p>page</p>"
