"""Specs behind URLs and in other packages."""

from __future__ import annotations

import hashlib
import sys
import zlib
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from elementwise_specs import PROGRAM, spec
from programs import TARGETS

import tuninglink
from tuninglink.errors import Diagnostic, SpecError, TuninglinkError
from tuninglink.mlir import DiagnosticSink
from tuninglink.specs import CACHE_VARIABLE, LIMIT_VARIABLE, library_names, read_specs

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEC = spec("vmvx", "mine").encode()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a directory, and a redirection to itself; a request for `/silent` gets no answer while `silence` holds."""

    silence = Event()

    def do_GET(self) -> None:
        if self.path == "/silent":
            self.silence.wait()
        elif self.path == "/loop":
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
        elif self.path == "/local":
            self.send_response(302)
            self.send_header("Location", "file:///etc/hosts")
            self.end_headers()
        elif self.path.startswith(("/bomb", "/endless")):
            self.send_response(200)
            # What fsspec asks first need not be true.
            if self.command == "HEAD":
                self.send_header("Content-Length", "10")
                self.send_header("Accept-Ranges", "bytes")
                self.end_headers()
                return
            if self.path == "/bomb":
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            chunk = bytes(1 << 20)
            packer = zlib.compressobj(wbits=31)
            with suppress(ConnectionError):
                for _ in range(80):
                    self.wfile.write(packer.compress(chunk) if self.path == "/bomb" else chunk)
                self.wfile.write(packer.flush())
        elif self.path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", str(2 * len(SPEC)))
            self.end_headers()
            self.wfile.write(SPEC)
        else:
            super().do_GET()

    def do_HEAD(self) -> None:
        if self.path.startswith(("/bomb", "/endless")):
            self.do_GET()
        else:
            super().do_HEAD()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of a server of `tmp_path / "served"`, with an empty cache."""
    QuietHandler.silence.clear()
    served = tmp_path / "served"
    served.mkdir()
    (served / "mine.mlir").write_bytes(SPEC)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    handler = partial(QuietHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        QuietHandler.silence.set()
        found.shutdown()


def read(*arguments: str) -> tuple[list[bytes], list[Diagnostic]]:
    said: list[Diagnostic] = []
    found = read_specs(arguments, DiagnosticSink(said.append))
    return [each.content for each in found], said


def test_what_a_server_has_is_fetched_and_pinned(server: str, tmp_path: Path) -> None:
    url = f"{server}/mine.mlir"
    content, (warning,) = read(url)
    assert content == [SPEC]
    pinned = warning.notes[0].message.removeprefix("to pin it: ")
    assert pinned == f"{url}#sha256={hashlib.sha256(SPEC).hexdigest()}"
    compiled = tuninglink.compile(PROGRAM.encode(), specs=[pinned], flags=TARGETS["vmvx"])
    assert [each.spec_name for each in compiled.applied] == ["mine"]

    (tmp_path / "served" / "mine.mlir").write_bytes(SPEC + b"\n")
    assert read(pinned) == ([SPEC], [])  # from the cache
    assert read(url)[0] == [SPEC + b"\n"]
    for each in (tmp_path / "cache" / "specs").iterdir():
        each.write_bytes(b"damaged")
    with pytest.raises(SpecError, match="has changed since its hash was taken"):
        read(pinned)


@pytest.mark.parametrize(
    "pin", ["sha512=", "SHA512=00", "md5=00", "sha-256=00", "sha256=00#sha256="]
)
def test_a_pin_that_is_not_verified_is_refused(server: str, pin: str) -> None:
    pin = pin if not pin.endswith("#sha256=") else pin + hashlib.sha256(SPEC).hexdigest()
    with pytest.raises(SpecError, match="has another hash than one behind '#sha256='"):
        read(f"{server}/mine.mlir#{pin}")
    assert read(f"{server}/mine.mlir#SHA256={hashlib.sha256(SPEC).hexdigest()}")[0] == [SPEC]


@pytest.mark.parametrize("note", [b"\xff", b"a\0b", b"../../x", b""])
def test_a_damaged_note_of_the_cache_is_ignored(server: str, tmp_path: Path, note: bytes) -> None:
    url = f"{server}/other.mlir"
    notes = tmp_path / "cache" / "urls"
    notes.mkdir(parents=True)
    (notes / hashlib.sha256(url.encode()).hexdigest()).write_bytes(note)
    with pytest.raises(SpecError, match="the server answered 404 Not Found"):
        read(url)


def test_a_user_without_a_home_directory_has_no_cache(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TUNINGLINK_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert read(f"{server}/mine.mlir")[0] == [SPEC]


def test_a_failed_fetch_names_its_reason(server: str) -> None:
    with pytest.raises(
        SpecError, match=r"'http://.*/other.mlir': the server answered 404 Not Found"
    ):
        read(f"{server}/other.mlir")
    with pytest.raises(SpecError, match="too many redirects"):
        read(f"{server}/loop")
    with pytest.raises(SpecError, match="redirects to 'file:///etc/hosts', which is not an addr"):
        read(f"{server}/local")
    with pytest.raises(SpecError, match="closed the connection before the end"):
        read(f"{server}/short")
    with pytest.raises(SpecError, match=r"cannot connect to 127.0.0.1:1: connection refused"):
        read("http://127.0.0.1:1/x.mlir")
    with pytest.raises(SpecError, match="cannot fetch 'nothing://else': Protocol not known"):
        read("nothing://else")


def test_a_silent_server_runs_into_the_time_limit(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "0.1")
    with pytest.raises(SpecError, match=r"it took longer than 0.1 s") as failure:
        read(f"{server}/silent")
    assert LIMIT_VARIABLE in failure.value.diagnostics[0].notes[0].message
    monkeypatch.setenv(LIMIT_VARIABLE, "never")
    with pytest.raises(SpecError, match="must be a number of seconds greater than 0, not 'never'"):
        read(f"{server}/silent")


@pytest.mark.parametrize("argument", ["", "vmvx=", "vmvx, gfx942="])
def test_a_spec_has_a_name(argument: str) -> None:
    with pytest.raises(SpecError, match="name"):
        read(argument)


def test_a_package_is_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "acme_specs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("first", "second"):
        (package / f"{name}.mlir").write_bytes(SPEC)
    described = tmp_path / "acme_specs-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-specs\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[tuninglink.specs]\nacme = acme_specs\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "acme" in library_names()
    assert read("library:acme") == ([SPEC, SPEC], [])
    (found,) = read_specs(["vmvx=library:acme/second"], DiagnosticSink(print))
    assert (found.name, found.targets) == ("library:acme/second", ("vmvx",))
    with pytest.raises(SpecError, match="there is no library 'acme/third'"):
        read("library:acme/third")
    sys.modules.pop("acme_specs", None)
    (package / "__init__.py").write_text("raise RuntimeError('not today')")
    with pytest.raises(SpecError, match=r"'acme' \(acme_specs\) cannot be loaded: not today"):
        read("library:acme")
    for malformed in (b"[tuninglink.specs]\nacme\n", b"[another.group]\nacme = \xff\n"):
        (described / "entry_points.txt").write_bytes(malformed)
        with pytest.raises(TuninglinkError, match=r"package 'acme-specs' is malformed") as failure:
            library_names()
        (remedy,) = failure.value.diagnostics[0].notes
        assert f"install the package in '{tmp_path}' again" in remedy.message


@pytest.mark.parametrize("path", ["bomb", "endless"])
def test_size_of_a_fetched_spec_is_limited(server: str, path: str) -> None:
    with pytest.raises(SpecError, match="it is larger than 64 MiB"):
        read_specs([f"{server}/{path}"], DiagnosticSink(lambda _: None))
