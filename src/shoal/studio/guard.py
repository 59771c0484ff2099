"""ASGI middleware that authenticates requests, checks their origin, limits their size, and sets security headers.

Any web page can make a browser send requests to this machine, and other local programs can connect to the port. Only
the browser that was opened with the one-time token in the address is let through.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

FORM_LIMIT = 1_000_000
"""Maximum size of a form in bytes: enough for the roles of a few thousand columns."""
UPLOAD_PATH = "/open/dropped"
"""The path of uploaded tables, which may be larger than forms."""
HIERARCHY_PATH = "/goal/shape/file"
"""The path of uploaded hierarchies, which have a line for each value of a column."""
HIERARCHY_LIMIT = 20_000_000
"""Maximum size of a hierarchy in bytes."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Content security policy of pages: no inline scripts or styles, no other origins, no frames."""
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox"
"""Content security policy of reports and drawings: inline styles, but no scripts."""
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": PAGE_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",  # with "no-referrer" browsers would hide the origin of our own forms, too
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_ENTRANCE = "The studio opens with the address that `shoal studio` printed. It works once, and in one browser"
_REFUSED = {
    400: "This request is not one of the studio's pages.",
    403: f"{_ENTRANCE}: stop the studio and start it again for another one.",
    405: "The studio's pages neither change nor delete anything in this way.",
    413: "That is larger than the studio takes. Start it with --max-upload MEGABYTES, or open the file by its path.",
    421: "The studio answers at 127.0.0.1 and localhost only.",
}


class Guard:
    """ASGI middleware that protects an application.

    Parameters
    ----------
    app : ASGI application
        The application to protect.
    port : int
        The port that the studio listens on.
    max_upload : int
        Maximum size of an uploaded file in bytes.
    """

    def __init__(self, app: ASGIApp, *, port: int, max_upload: int) -> None:
        self._app = app
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._max_upload = max_upload
        self._token: str | None = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._cookie = f"shoal-studio-{port}"  # browsers share cookies between the ports of a host

    @property
    def entrance(self) -> str:
        """The address with the one-time token, which opens the studio in one browser."""
        return f"http://{self._hosts[0]}/?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        # Startup and shutdown events are not requests.
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # WebSockets are not served
            await send({"type": "websocket.close", "code": 1008})
            return
        guarded = _with_headers(send)
        # The one-time token is exchanged for a cookie; every other request must have the cookie.
        cookie = self._cookie_for(scope)
        if cookie is not None:
            await _answer(guarded, 303, "", [(b"location", b"/"), (b"set-cookie", cookie)])
            return
        refused = self._refused(scope)
        if refused is not None:
            await _answer(guarded, refused, _REFUSED[refused])
            return
        limits = {UPLOAD_PATH: self._max_upload, HIERARCHY_PATH: min(HIERARCHY_LIMIT, self._max_upload)}
        limit = limits.get(scope["path"], FORM_LIMIT)
        await self._within(limit, scope, receive, guarded)

    def _cookie_for(self, scope: Scope) -> bytes | None:
        """Create the session cookie if the request has the unused token; None for any other request."""
        if scope["method"] != "GET" or scope["path"] != "/" or _header(scope, b"host") not in self._hosts:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        # The token works once: after this request it is discarded.
        if not given or self._token is None or not secrets.compare_digest(given.encode(), self._token.encode()):
            return None
        self._token = None
        return f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/".encode()

    def _refused(self, scope: Scope) -> int | None:
        """Return the HTTP status of a refusal; None if the request is accepted."""
        host = _header(scope, b"host")
        if host not in self._hosts:  # DNS rebinding: a foreign name that resolves to this machine
            return 421
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405
        # Requests that other sites caused are refused, by the headers that browsers set themselves.
        if _header(scope, b"sec-fetch-site") not in (None, "none", "same-origin"):
            return 400
        # Forms must come from a page of the studio.
        if scope["method"] == "POST" and _header(scope, b"origin") != f"http://{host}":
            return 400
        if not self._knows(_header(scope, b"cookie") or ""):
            return 403
        # A malformed length is refused before it is parsed.
        length = _header(scope, b"content-length") or "0"
        return None if length.isascii() and length.isdigit() else 400

    def _knows(self, cookies: str) -> bool:
        """Check whether the cookies of a request include the one of this session."""
        pairs = (one.strip().partition("=") for one in cookies.split(";"))
        given = [value for name, _, value in pairs if name == self._cookie]
        # Comparison in constant time: the duration reveals nothing about the session.
        return any(secrets.compare_digest(one.encode(), self._session.encode()) for one in given)

    async def _within(self, limit: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and count the bytes of its body, because the declared length may be wrong."""
        # Refuse early if the declared length is too large already.
        if int(_header(scope, b"content-length") or "0") > limit:
            await _answer(send, 413, _REFUSED[413])
            return
        came = 0

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > limit:
                raise HTTPException(413, _REFUSED[413])  # the application turns it into the response
            return message

        await self._app(scope, counted, send)


def _header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header; None if it is missing or repeated."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else None


def _with_headers(send: Send) -> Send:
    """Wrap `send` so that every response has the security headers; its own headers take precedence."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {key.lower() for key, _ in message.get("headers", ())}
            added = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in own]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    body = text.encode()
    own = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": body})
