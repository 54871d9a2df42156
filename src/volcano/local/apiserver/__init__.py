"""A small Kubernetes API server: durable, watchable, speaking the real wire protocol.

`app.ApiServer` is the server as one function; `python -m volcano.local.apiserver` serves it over TLS.
"""
