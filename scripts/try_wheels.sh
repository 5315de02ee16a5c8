#!/usr/bin/env bash
# Install the wheels of a folder as a stranger would, with nothing of this checkout: the client alone first, then the server; start
# the server and let the client speak to it. Prints how long each step took.
set -euo pipefail
dist=$(cd "$1" && pwd)
lock=$(cd "$(dirname "$0")/../requirements" && pwd)/run.txt
room=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; wait 2>/dev/null; rm -rf "$room"' EXIT
cd "$room" # away from the checkout, so that nothing of it can be imported
step() { echo "$((SECONDS - began)) s: $*"; began=$SECONDS; }
began=$SECONDS
# The versions that are tested, without their hashes: pip takes none for files of one's own beside others.
sed -n 's/ \\$//p' "$lock" >pins.txt
export MNEMON_DATA_DIR="$room/data"

"${PYTHON:-python3}" -m venv client
client/bin/pip --disable-pip-version-check -q install "$dist"/mnemon_client-*.whl -c pins.txt
client/bin/python -c 'import mnemon_client, importlib.util as u; assert u.find_spec("mnemon") is None; mnemon_client.SyncMnemon'
step "mnemon-client alone: $(client/bin/pip --disable-pip-version-check list --format=freeze | grep -cv -e '^pip=' -e '^setuptools=') packages, $(du -sm client/lib | cut -f1) MB"

"${PYTHON:-python3}" -m venv server
server/bin/pip --disable-pip-version-check -q install "$dist"/mnemon_server-*.whl "$dist"/mnemon_client-*.whl -c pins.txt
step "mnemon-server: $(server/bin/pip --disable-pip-version-check list --format=freeze | grep -cv -e '^pip=' -e '^setuptools=') packages, $(du -sm server/lib | cut -f1) MB"

port=$("${PYTHON:-python3}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
server/bin/mnemon serve --port "$port" >"$room/log" 2>&1 &
server=$!
for _ in $(seq 240); do
  kill -0 "$server" 2>/dev/null || { cat "$room/log"; exit 1; }
  "${PYTHON:-python3}" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/readyz', timeout=2)" 2>/dev/null && break
  sleep 0.5
done
step "mnemon serve is ready"
key=$(server/bin/mnemon keys create --name wheels --json | "${PYTHON:-python3}" -c 'import json, sys; print(json.load(sys.stdin)["key"])')
client/bin/python - "$port" "$key" <<'PYTHON'
import sys
from mnemon_client import SyncMnemon

port, key = sys.argv[1:]
with SyncMnemon(f"http://127.0.0.1:{port}", key, user_id="ann") as mnemon:
    mnemon.remember("Is allergic to peanuts", attribute="allergy")
    found = mnemon.recall("what is she allergic to")
assert "peanuts" in str(found), found
PYTHON
step "the client remembered and recalled"
