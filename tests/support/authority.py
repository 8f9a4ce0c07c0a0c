"""An authority for tests of TLS: certificates and keys, made by openssl in a folder. What a certificate is
to be is said by name; unusual ones (expired, for another purpose) by arguments of `issue`."""
import datetime
import pathlib
import subprocess

CONFIG = """
[ca]
default_ca = own
[own]
database = {folder}/{name}.index
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
organizationName = optional
[leaf]
basicConstraints = CA:FALSE
subjectAltName = DNS:localhost,IP:127.0.0.1
{purpose}
"""


def openssl(*words, given=None):
    done = subprocess.run(["openssl", *map(str, words)], input=given, capture_output=True, check=False)
    assert done.returncode == 0, f"openssl {' '.join(map(str, words))}:\n{done.stderr.decode()}"
    return done.stdout


class Authority:
    """ca.crt and ca.key in `folder`; `issue` adds NAME.crt and NAME.key."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name = pathlib.Path(folder), name
        self.certificate, self.key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-days", 30, "-keyout", self.key, "-out", self.certificate)

    def issue(self, name, common_name=None, begins_days=-1, ends_days=10, purpose=None, rsa=False,
              phrase=None):
        """The paths of the certificate and its key. purpose: serverAuth, clientAuth; None: any."""
        certificate, key, request = (self.folder / f"{name}.{end}" for end in ("crt", "key", "csr"))
        kind = ["rsa:2048"] if rsa else ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        lock = ["-passout", f"pass:{phrase}"] if phrase else ["-nodes"]
        openssl("req", "-newkey", *kind, *lock, "-subj", f"/CN={common_name or name}",
                "-keyout", key, "-out", request)
        (self.folder / f"{self.name}.index").write_text("")
        usage = f"extendedKeyUsage = {purpose}" if purpose else ""
        config = self.folder / f"{name}.cnf"
        config.write_text(CONFIG.format(folder=self.folder, name=self.name, purpose=usage))
        now = datetime.datetime.now(datetime.timezone.utc)
        moments = [(now + datetime.timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")
                   for days in (begins_days, ends_days)]
        openssl("ca", "-batch", "-notext", "-config", config, "-cert", self.certificate,
                "-keyfile", self.key, "-extensions", "leaf", "-startdate", moments[0],
                "-enddate", moments[1], "-in", request, "-out", certificate)
        return certificate, key

    def issue_with_nul(self, name, common_name):
        """A common name in which '?' is to be a NUL byte: changed in a certificate, which is signed anew."""
        certificate, key = self.issue(name, common_name)
        plain = openssl("x509", "-in", certificate, "-outform", "DER")
        changed = plain.replace(common_name.encode(), common_name.replace("?", "\0").encode())
        assert changed != plain
        certificate.write_bytes(self.sign_again(changed))
        return certificate, key

    def sign_again(self, raw):
        """The same certificate (DER) with a signature that is right for its content, as PEM. It is
        SEQUENCE { content, algorithm, BIT STRING signature }."""
        _, at = der_length(raw, 0)
        length, begins = der_length(raw, at)
        content = raw[at:begins + length]
        length, begins = der_length(raw, at + len(content))
        algorithm = raw[at + len(content):begins + length]
        signature = openssl("dgst", "-sha256", "-sign", self.key, given=content)
        body = content + algorithm + der(0x03, b"\0" + signature)
        return openssl("x509", "-inform", "DER", given=der(0x30, body))


def der_length(raw, at):
    """Of the element at `at`: the length of its content, and where that begins."""
    if raw[at + 1] < 0x80:
        return raw[at + 1], at + 2
    count = raw[at + 1] & 0x7f
    return int.from_bytes(raw[at + 2:at + 2 + count], "big"), at + 2 + count


def der(tag, content):
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    return bytes([tag, 0x82]) + len(content).to_bytes(2, "big") + content
