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
COPY catalogue catalogue
RUN --mount=type=cache,target=/cache/uv \
    uv build --wheel --no-build-isolation --python /opt/build/bin/python --out-dir /wheels \
    && uv pip install --python /opt/evolve --no-deps /wheels/*.whl
# NumPy's own tests are a tenth of the layer. The modes of a clone depend on its maker (umask 077): let every user read the image.
COPY examples /opt/examples
RUN find /opt/evolve /opt/examples -path '*/site-packages/numpy/*' -type d -name tests -prune -exec rm -rf {} + \
    && find /opt/evolve /opt/examples ! -type l ! -perm -004 -exec chmod a+rX {} +

FROM python:3.12.12-slim-bookworm
# /run/evolve takes the first key; a named volume has its mode from here, whoever the container runs as.
RUN groupadd --system --gid 999 evolve \
    && useradd --system --uid 999 --gid 999 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin evolve \
    && install --directory --mode 1777 /run/evolve
COPY --from=builder /opt/evolve /opt/evolve
COPY --from=builder /opt/examples /usr/share/evolve/examples
ENV PATH=/opt/evolve/bin:$PATH HOME=/tmp LANG=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
USER 999:999
EXPOSE 8000 9100
# Of the API; the other roles have their own in docker-compose.yml and deploy/kubernetes.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["evolve"]
CMD ["--help"]
# Last, so that another commit changes no layer.
ARG VERSION=0.1.0
# The commit that the image is built from: docker build --build-arg REVISION=$(git rev-parse HEAD)
ARG REVISION=
LABEL org.opencontainers.image.title="Evolve" \
    org.opencontainers.image.description="Evolutionary search over programs: API, runner, worker and migrations" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$REVISION" \
    org.opencontainers.image.base.name="docker.io/library/python:3.12.12-slim-bookworm"
