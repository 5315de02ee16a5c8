#!/bin/sh
# A PgBouncer is on the PATH afterwards, or it is said what to install.
set -eu
PATH="$PATH:/usr/sbin"
if command -v pgbouncer >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing pgbouncer (a few seconds) …" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends pgbouncer >/dev/null 2>&1 || {
    apt-get update -qq >/dev/null
    apt-get install -y -qq --no-install-recommends pgbouncer >/dev/null
  }
  exit 0
fi
echo "No PgBouncer is on the PATH. Install one and try again: on Debian or Ubuntu 'sudo apt-get install pgbouncer'," \
  "on Fedora 'sudo dnf install pgbouncer', on a Mac 'brew install pgbouncer'." >&2
exit 1
