#!/usr/bin/env bash
# Writes the lock files anew: every dependency pinned with its hashes, no package index named.
# Needs `uv` on the PATH; an install never does. Run it after changing dependencies in pyproject.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
lock() { # lock NAME GROUP...
  local name=$1; shift
  local groups=(); for g in "$@"; do groups+=(--group "$g"); done
  local constraint=(); [ "$name" = run ] || constraint=(-c requirements/run.txt)
  uv pip compile pyproject.toml "${groups[@]}" "${constraint[@]}" --universal --generate-hashes \
    --no-emit-index-url --no-emit-package mnemon-client --python-version 3.11 --no-header --no-annotate -q -o "requirements/$name.txt"
}
lock run build
lock test build test
lock browser build test browser
lock conformance build test conformance
lock bench build test bench
lock mutants build test mutants
lock dist build dist
uv pip compile requirements/hindsight.in --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
  --no-header --no-annotate -q -o requirements/hindsight.txt
uv pip compile requirements/engines.in --no-deps --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
  --no-header --no-annotate -q -o requirements/engines.txt
uv pip compile requirements/models.in --no-deps --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
  --no-header --no-annotate -q -o requirements/models.txt
