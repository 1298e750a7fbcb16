"""Specs at URLs: fetched through fsspec, verified, and cached by hash."""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final
from urllib.parse import urlsplit

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, SpecError, TuninglinkError
from tuninglink.files import make_directory, write_file
from tuninglink.mlir import DiagnosticSink, error, note
from tuninglink.specs.spec import load_spec

CACHE_VARIABLE: Final = "TUNINGLINK_CACHE_DIR"
"""The environment variable that names the directory of the cache."""

LIMIT_VARIABLE: Final = "TUNINGLINK_FETCH_SECONDS"
"""The environment variable with the time limit of a transfer, in seconds."""

DEFAULT_LIMIT: Final = "30"
"""The time limit of a transfer, in seconds. Specs are small."""

LARGEST: Final = 64 << 20
"""The greatest size of a fetched spec, decompressed, in bytes."""

_CHUNK: Final = 1 << 20

_WITH_HOST: Final = ("http", "https")
"""The schemes whose URLs name a host."""

SPEC_FOLDERS: Final = ("specs", "urls")
"""The folders of the cache with specs by hash, and with the last hash of each URL."""


def is_url(source: str) -> bool:
    """Return whether the name of a spec is a URL, as in `https://…` or `s3://…`."""
    scheme, separator, _ = source.partition("://")
    return bool(separator) and scheme.replace("+", "").isalnum()


def cache_directory() -> Path:
    """Return the directory of the cache: by default `tuninglink` in the user's cache directory."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home directory has no cache
        home = Path(os.devnull)
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "tuninglink"


def fetch(url: str, sha256: str, diagnostics: DiagnosticSink) -> bytes:
    """Return the spec at a URL."""
    # With a hash, the cache is tried before the network. Without one, the spec is fetched each time; if that fails, the
    # version that was fetched last is used.
    specs, urls = (cache_directory() / name for name in SPEC_FOLDERS)
    last = urls / hashlib.sha256(url.encode()).hexdigest()

    def pin(content: bytes) -> Diagnostic:
        return note(f"to pin it: {url}#sha256={hashlib.sha256(content).hexdigest()}")

    if sha256 and (content := _cached(specs, sha256)) is not None:
        return content
    try:
        content = _read_url(url)
    except SpecError as failure:
        try:
            content = None if sha256 else _cached(specs, last.read_text().strip())
        except (OSError, ValueError):  # the URL was never fetched, or the file is damaged
            content = None
        if content is None:
            raise
        message = f"{failure.diagnostics[0].message}; using the copy that was fetched before"
        diagnostics.warning(message, notes=[pin(content)])
        return content
    hexdigest = hashlib.sha256(content).hexdigest()
    if sha256 and hexdigest != sha256:
        raise SpecError(changed(url, hexdigest, sha256))
    # Parse before caching, since the cache holds valid specs only. Failures to write the cache are ignored.
    load_spec(content, name=url, context=mlir.Context(), diagnostics=DiagnosticSink(lambda _: None))
    with suppress(TuninglinkError):
        write_file(make_directory(specs) / hexdigest, content)
        make_directory(urls)
        write_file(last, f"{hexdigest}\n".encode())
    if not sha256:
        message = f"'{url}' has no hash, and its content may change"
        diagnostics.warning(message, notes=[pin(content)])
    return content


def _cached(specs: Path, sha256: str) -> bytes | None:
    """Return the spec with a hash, or None if it is not cached or the file is damaged."""
    try:
        content = (specs / sha256).read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def changed(source: str, actual: str, expected: str) -> Diagnostic:
    """Return the error for a spec whose hash differs from the expected one."""
    remedy = note(f"its hash is {actual}, not {expected}")
    return error(f"'{source}' has changed since its hash was taken", notes=[remedy])


def _read_url(url: str) -> bytes:
    """Return the current content of a URL."""
    # The limits of time and size apply to every file system, since few have them for a whole transfer.
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        remedy = note("install it: pip install 'tuninglink[remote]'")
        raise SpecError(
            error(f"'{url}' is a URL, and fsspec is not installed", notes=[remedy])
        ) from None

    if fault := _malformed(url):
        raise SpecError(error(f"cannot fetch '{url}': {fault}"))

    def transfer() -> None:
        try:
            # A stream is decompressed as it is read. Otherwise fsspec may read all that a server sends.
            options = {"block_size": 0} if url.startswith(_WITH_HOST) else {}
            content = bytearray()
            with fsspec.open(url, "rb", **options) as file:
                while chunk := file.read(_CHUNK):
                    content += chunk
                    if len(content) > LARGEST:
                        raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
            answers.put(bytes(content))
        except Exception as failure:  # noqa: BLE001 - each file system raises its own exceptions
            answers.put(failure)

    text = os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        message = f"{LIMIT_VARIABLE} must be a number of seconds greater than 0, not '{text}'"
        raise SpecError(error(message))
    answers: SimpleQueue[bytes | Exception] = SimpleQueue()
    # A thread can be abandoned when a server does not respond, and a daemon thread does not delay the exit.
    threading.Thread(target=transfer, name=f"fetch {url}", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        remedy = note(f"{LIMIT_VARIABLE} sets the time limit, in seconds")
        message = f"cannot fetch '{url}': it took longer than {seconds:g} s"
        raise SpecError(error(message, notes=[remedy])) from None
    if isinstance(answer, bytes):
        return answer
    raise SpecError(error(f"cannot fetch '{url}': {_reason(answer, url)}")) from None


def _malformed(url: str) -> str:
    """Return the fault of a malformed URL, or an empty string for a valid URL."""
    try:
        parts = urlsplit(url)
        if parts.scheme in _WITH_HOST and not parts.hostname:
            return "the URL has no host"
        if parts.scheme in _WITH_HOST and parts.port == 0:
            return "the URL has port 0"
    except ValueError as failure:
        return f"the URL is malformed: {failure}"
    return ""


def _reason(failure: BaseException, url: str) -> str:
    """Return why a transfer failed; file systems may chain the reason to a `FileNotFoundError` that names the URL."""
    chain = [failure]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    messages = [" ".join(str(exception).split()) for exception in chain]
    reasons = [reason for exception in chain if (reason := _http_reason(exception, chain[-1]))]
    others = [message for message in messages if message != url]
    return next(filter(None, (*reasons, *others)), type(failure).__name__)


_REASONS: Final = {
    "TooManyRedirects": "too many redirects",
    "ClientPayloadError": "the server closed the connection before the end",
    "NonHttpUrlRedirectClientError": "the server redirects to '{}', which is not an address of a server",
}
"""The reasons of failed transfers by the name of the exception."""


def _http_reason(exception: BaseException, cause: BaseException) -> str | None:
    """Return the reason in an exception of `aiohttp`, which need not be installed; None for any other exception."""
    from http import HTTPStatus  # noqa: PLC0415 - only failed transfers have a status

    status = getattr(exception, "status", None)
    if status in set(HTTPStatus):
        return f"the server answered {status} {HTTPStatus(status).phrase}"
    kind = type(exception).__name__
    if kind in _REASONS:
        return _REASONS[kind].format(exception)
    if not hasattr(exception, "host"):
        return None
    is_refusal = isinstance(cause, ConnectionRefusedError)
    reason = "connection refused" if is_refusal else getattr(cause, "strerror", None)
    place = f"{exception.host}:{getattr(exception, 'port', '')}"
    return f"cannot connect to {place}: {reason or ' '.join(str(cause).split())}"
