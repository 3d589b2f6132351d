# syntax=docker/dockerfile:1

# The page under /console: what package-lock.json names, to the byte, bundled into files that need no node.
FROM node:24-slim AS console
WORKDIR /src/console
COPY console .
COPY clients/js/src ../clients/js/src
RUN npm ci --ignore-scripts --no-audit --no-fund && npm run build

# The environment is built where there is a package manager, and runs where nothing needs one.
FROM python:3.13-slim AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/build && python -m venv /opt/psoup
# What is installed is what was locked, to the byte (`make lock`); nothing is built but psoup itself.
COPY .ci/build-requirements.txt .ci/image-requirements.txt ./
RUN /opt/build/bin/pip install --require-hashes --only-binary :all: --requirement build-requirements.txt \
    && /opt/psoup/bin/pip install --require-hashes --only-binary :all: --requirement image-requirements.txt
COPY pyproject.toml LICENSE README.md ./
COPY engine engine
COPY storage storage
COPY pipeline pipeline
COPY app app
COPY psoup psoup
COPY pyspark_psoup pyspark_psoup
COPY --from=console /src/app/console/built app/console/built
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --no-index --wheel-dir dist . \
    && /opt/psoup/bin/pip install --no-deps --no-index dist/*.whl

FROM python:3.13-slim
# The root file system may be read-only: all that is written lies in /data, and short-lived files in
# /tmp (give it a tmpfs). No Python bytecode is written beside the code.
ENV PATH=/opt/psoup/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
RUN groupadd --gid 10001 psoup \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin psoup \
    && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/psoup /opt/psoup
USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8000
# serve and api answer it, and an engine that is told where (`psoup engine --port 8000`). Kernels are compiled
# at the first start, and kept in /data.
HEALTHCHECK --interval=10s --timeout=3s --start-period=90s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
# One process that does everything; docker-compose.yml starts an engine, a standby and API workers instead.
# Listening beyond the container takes keys (PSOUP_KEYS_FILE) and TLS (PSOUP_TLS_CERT_FILE, PSOUP_TLS_KEY_FILE),
# or the word that a proxy in front ends TLS (PSOUP_BEHIND_PROXY=on) or keeps strangers out
# (PSOUP_OPEN_BIND=on): without them psoup says so and ends. By TLS the health check needs another URL.
CMD ["psoup", "serve", "--host", "0.0.0.0", "--port", "8000", "--data", "/data"]
