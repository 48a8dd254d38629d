# A Holdfast server. Build it in the root of the repository: docker build -t holdfast .
# With a PostgreSQL ledger: docker compose up (compose.yaml).
FROM python:3.12-slim

WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt '.[server,postgres,oidc]' && rm -rf /build
RUN useradd --system --create-home --home-dir /var/lib/holdfast holdfast

WORKDIR /var/lib/holdfast
USER holdfast
VOLUME /var/lib/holdfast
EXPOSE 8321
# Inside the container every address: what reaches it from outside is decided by `docker run -p`.
ENV HOLDFAST_SERVER_HOST=0.0.0.0 \
    HOLDFAST_SERVER_PORT=8321 \
    HOLDFAST_SERVER_FOLDER=/var/lib/holdfast \
    HOLDFAST_SERVER_SIGNING_KEY=/var/lib/holdfast/signing.key
HEALTHCHECK --interval=30s --timeout=5s CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['HOLDFAST_SERVER_PORT'] + '/readyz', timeout=4)"]
# The first start prints a steward's token once. SIGTERM ends it in order: what is under way is answered first.
STOPSIGNAL SIGTERM
CMD ["holdfast", "serve"]
