#!/bin/sh
# A Chromium is on the PATH afterwards, or it is said what to install.
set -eu
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing chromium (a minute) …" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || {
    apt-get update -qq >/dev/null
    apt-get install -y -qq --no-install-recommends chromium >/dev/null
  }
  exit 0
fi
echo "No Chromium is on the PATH. Install one and try again: on Debian or Ubuntu 'sudo apt-get install chromium'," \
  "on Fedora 'sudo dnf install chromium', on a Mac 'brew install --cask chromium'." >&2
exit 1
