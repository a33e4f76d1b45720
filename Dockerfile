# syntax=docker/dockerfile:1
# One static binary on an image with nothing else in it: no shell, no libc, no package manager.
#   docker build -t registry.example.com/allotment:0.1.0 .

# As in rust-toolchain.toml. That file stays outside of the build: it would have rustup fetch rustfmt and clippy too.
ARG RUST_VERSION=1.95.0

FROM rust:${RUST_VERSION}-bookworm AS builder
# musl-gcc compiles the C inside of ring and SQLite against musl.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends musl-tools \
    && rm -rf /var/lib/apt/lists/* \
    && rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY crates crates
# The demo and the benchmark have objects of these folders built in. `make lint` compiles with exactly the files that are copied here.
COPY examples examples
COPY landscape/manifests/shoots landscape/manifests/shoots
# The caches outlive the build, not the layer, so the binary is moved out of them. A binary that is not static would only
# be noticed when the container starts: look now.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    target="$(uname -m)-unknown-linux-musl" \
    && cargo build --profile dist --locked --target "$target" -p allotment-cli \
    && cp "target/$target/dist/allotment" /allotment \
    && ldd /allotment 2>&1 | grep -q 'statically linked'

FROM gcr.io/distroless/static:nonroot
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="allotment" \
      org.opencontainers.image.description="Hands out cloud accounts and the Gardener clusters that grow in them" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=builder /allotment /allotment
# By number: runAsNonRoot cannot see that a name is not root.
USER 65532:65532
# /metrics, health and pages; what it listens on is configuration.
EXPOSE 8080
ENTRYPOINT ["/allotment"]
