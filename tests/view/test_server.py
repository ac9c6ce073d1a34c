"""The server: loopback only, closes cleanly, keeps what was appended."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

import numpy as np
import pytest

from jourdain.errors import InputError
from jourdain.view import Body, Scene
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
        port = int(server.url.rsplit(":", 1)[1].strip("/"))
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
        server.finish()
        with pytest.raises(InputError, match="finished"):
            server.append(4.0, {"b": pose})


def test_a_ready_page_cannot_be_live() -> None:
    with pytest.raises(InputError, match="give the scene"):
        serve("<p>page</p>", open_browser=False, live=True)
    with serve("<p>page</p>", open_browser=False) as server:
        assert fetch(server.url) == b"<p>page</p>"
