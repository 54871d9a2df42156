# The daemons' images, one target each:
#   docker build --target vc-scheduler --tag volcano-py/vc-scheduler:0.1.0 .
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/volcano && /opt/volcano/bin/pip install --no-cache-dir ".[cel]"

FROM python:3.13-slim AS volcano
COPY --from=build /opt/volcano /opt/volcano
ENV PATH=/opt/volcano/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# Nothing is written but below /tmp, so that the root file system can be read-only.
USER 1000:1000
EXPOSE 11251

FROM volcano AS vc-controller-manager
EXPOSE 8081
ENTRYPOINT ["vc-controller-manager"]

FROM volcano AS vc-webhook-manager
EXPOSE 8443
ENTRYPOINT ["vc-webhook-manager"]

FROM volcano AS vc-agent
# Root owns the cgroups of a node; tc and ip shape its network. The chart leaves root no capability it does not need.
# hadolint ignore=DL3002
USER 0:0
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends iproute2 && rm -rf /var/lib/apt/lists/*
EXPOSE 3300
ENTRYPOINT ["vc-agent"]

FROM volcano AS vc-scheduler
EXPOSE 8080
ENTRYPOINT ["vc-scheduler"]
