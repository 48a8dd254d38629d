"""A real nginx for tests, with the file of the documentation: its own folder, loopback ports, its own certificate."""

from __future__ import annotations

import datetime
import grp
import ipaddress
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.services.ports import free_port

FILE = Path(__file__).parents[2] / "docs" / "examples" / "nginx.conf"
_MAIN = """{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/holdfast.conf;
}}
"""
"""What Debian's own nginx.conf does around the file, but for where things are."""


@dataclass(frozen=True)
class Nginx:
    """A running nginx."""

    https: int
    http: int
    folder: Path
    ca: Path

    @property
    def url(self) -> str:
        """Where it is, by the name in its certificate."""
        return f"https://localhost:{self.https}"

    def logged(self) -> str:
        """Its access log."""
        return (self.folder / "access.log").read_text()


def binary() -> str:
    """Where nginx is; it is often not on the path of people who are not root."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
    if found is None:
        raise RuntimeError("nginx is not installed: tools/system-parts installs it")
    return found


@contextmanager
def nginx(folder: Path, upstream: int, changes: Mapping[str, str] | None = None) -> Iterator[Nginx]:
    """Run nginx before a port. The file is changed as its own words say, and by `changes`, each of which must fit."""
    https, http = free_port(), free_port()
    ca = certify(folder)
    text = FILE.read_text()
    given = {
        "holdfast.example.org": "localhost",
        "/etc/ssl/holdfast/": f"{folder}/",
        "/var/log/nginx/holdfast.log": f"{folder}/access.log",
        "127.0.0.1:8321": f"127.0.0.1:{upstream}",
        "listen 443 ": f"listen 127.0.0.1:{https} ",
        "listen 80;": f"listen 127.0.0.1:{http};",
    }
    for before, after in (given | dict(changes or {})).items():
        assert before in text, before
        text = text.replace(before, after)
    (folder / "holdfast.conf").write_text(text)
    # Workers of a root's nginx would be nobody, and nobody may look into this folder.
    mine = f"user {pwd.getpwuid(os.getuid()).pw_name} {grp.getgrgid(os.getgid()).gr_name};" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, user=mine))
    command = [binary(), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    try:
        end = time.monotonic() + 30
        while not (folder / "nginx.pid").exists() or not (folder / "nginx.pid").read_text().strip():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"nginx did not start: {(folder / 'error.log').read_text()[-2000:]}")
            time.sleep(0.02)
        yield Nginx(https, http, folder, ca)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(15)
        assert process.stderr is not None
        process.stderr.close()


def certify(folder: Path) -> Path:
    """An authority of our own and a certificate for localhost; the authority's certificate is what clients trust."""
    now = datetime.datetime.now(datetime.UTC)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Holdfast tests")])

    def begun(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        made = x509.CertificateBuilder(ca_name, subject, public, x509.random_serial_number())
        made = made.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(
            now + datetime.timedelta(days=1)
        )
        signer = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        if public is not ca_key.public_key():
            other = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer)
            made = made.add_extension(other, critical=False)
        return made

    usage = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    authority = (
        begun(ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **usage), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    leaf = (
        begun(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "fullchain.pem").write_bytes(leaf.public_bytes(pem) + authority.public_bytes(pem))
    (folder / "privkey.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    (folder / "privkey.pem").chmod(0o600)
    (folder / "ca.pem").write_bytes(authority.public_bytes(pem))
    return folder / "ca.pem"


__all__ = ["FILE", "Nginx", "binary", "certify", "nginx"]
