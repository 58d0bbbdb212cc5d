# syntax=docker/dockerfile:1.9
# One image for all roles: evolve api, evolve runner, evolve worker, evolve db upgrade.

FROM ghcr.io/astral-sh/uv:0.9.5-python3.12-bookworm-slim AS builder
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_CACHE_DIR=/cache/uv
WORKDIR /src

# What the project stands on changes seldom: a layer of its own, every file of it checked by its hash.
RUN --mount=type=cache,target=/cache/uv \
    --mount=type=bind,source=requirements,target=/src/requirements \
    uv venv /opt/evolve && uv venv /opt/build \
    && uv pip install --python /opt/evolve --require-hashes -r requirements/base.txt \
    && uv pip install --python /opt/build --require-hashes -r requirements/build.txt

COPY pyproject.toml README.md LICENSE ./
COPY migrations migrations
COPY evolve evolve
COPY service service
COPY training training
COPY models models
RUN --mount=type=cache,target=/cache/uv \
    uv build --wheel --no-build-isolation --python /opt/build/bin/python --out-dir /wheels \
    && uv pip install --python /opt/evolve --no-deps /wheels/*.whl

FROM python:3.12.12-slim-bookworm
# /run/evolve takes the first key; a named volume has its mode from here, whoever the container runs as.
RUN groupadd --system --gid 999 evolve \
    && useradd --system --uid 999 --gid 999 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin evolve \
    && install --directory --mode 1777 /run/evolve
COPY --from=builder /opt/evolve /opt/evolve
COPY examples /usr/share/evolve/examples
ENV PATH=/opt/evolve/bin:$PATH HOME=/tmp LANG=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
USER 999:999
EXPOSE 8000 9100
# Of the API; the other roles have their own in docker-compose.yml and deploy/kubernetes.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["evolve"]
CMD ["--help"]
