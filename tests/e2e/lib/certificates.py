# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, made by openssl: an authority and the certificates that it signs."""

import os
import subprocess
import time


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True,
                   stdin=subprocess.DEVNULL)


def sign_itself(folder, name, names, *key):
    """A certificate for `names` that is its own authority, and its key, of the kind that these
    options of openssl say, as paths."""
    openssl(folder, "req", "-x509", "-newkey", *key, "-nodes", "-keyout", f"{name}.key", "-out",
            f"{name}.pem", "-days", "30", "-subj", f"/CN={name}", "-addext",
            f"subjectAltName={names}")
    return [os.path.join(folder, f"{name}.{kind}") for kind in ("pem", "key")]


AUTHORITY_CONF = """
[ca]
default_ca = d
[d]
database = index
rand_serial = yes
new_certs_dir = .
policy = p
copy_extensions = copy
default_md = sha256
unique_subject = no
[p]
commonName = supplied
"""


class Authority:
    """An authority in `folder`; `ca` is the file that others trust it by."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name = folder, name
        self.ca = os.path.join(folder, f"{name}.pem")
        openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "60", "-subj",
                f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE")

    def sign(self, name, names, days=30):
        """A certificate for `names` ("DNS:localhost,IP:127.0.0.1") and its key, as paths. Fewer
        days than 0: it has expired."""
        openssl(self.folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}",
                "-addext", f"subjectAltName={names}")
        openssl(self.folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem",
                "-CAkey", f"{self.name}.key", "-CAcreateserial", "-copy_extensions", "copy",
                "-days", str(days), "-out", f"{name}.pem")
        return [os.path.join(self.folder, f"{name}.{kind}") for kind in ("pem", "key")]

    def sign_for_seconds(self, name, names, begin, end):
        """As sign, for a time that begins and ends so many seconds from now."""
        pair = self.sign(name, names)
        with open(os.path.join(self.folder, "ca.conf"), "w", encoding="ascii") as file:
            file.write(AUTHORITY_CONF)
        with open(os.path.join(self.folder, "index"), "w", encoding="ascii"):
            pass
        when = [time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + at))
                for at in (begin, end)]
        openssl(self.folder, "ca", "-batch", "-config", "ca.conf", "-in", f"{name}.csr", "-cert",
                f"{self.name}.pem", "-keyfile", f"{self.name}.key", "-startdate", when[0],
                "-enddate", when[1], "-notext", "-out", f"{name}.pem")
        return pair
