"""serve.py NAME MODULE PORT [ARGS...]: one WSGI application by waitress, on loopback.

uwsgi reset connections that were kept alive; waitress is plain Python and does not.
"""

import importlib
import sys

name, module, port, *arguments = sys.argv[1:]
sys.argv = [name, *arguments]
application = importlib.import_module(module).application

import waitress  # noqa: E402

waitress.serve(
    application,
    listen=f"127.0.0.1:{port}",
    threads=8,
    max_request_body_size=1 << 33,
    clear_untrusted_proxy_headers=False,
    ident=None,
)
