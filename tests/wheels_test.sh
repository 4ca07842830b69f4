#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the wheel in build/wheels as docs/install.md says, on a bare Debian, and uses it: first with nothing but Python and
# pip, then with NumPy and Graphviz where Debian has them for this Python. tools/wheels runs it inside the Debian.
# usage: tests/wheels_test.sh PYTHON
set -euo pipefail
CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=${1:?usage: tests/wheels_test.sh PYTHON}

say() { echo "== $*"; }
fail() { echo "wheels_test: $*" >&2; exit 1; }
install() { DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"; }

say "the Debian is bare"
for tool in c++ cc clang cmake dot; do if command -v "$tool"; then fail "a bare Debian has no $tool"; fi; done
if ldconfig -p | grep -E 'lib(hwy|fmt|gvc|cairo|webpmux)[.]so'; then fail "a bare Debian has none of these libraries"; fi

say "the command of docs/install.md"
command=$(grep -o '^pip install .*--find-links build/wheels [^#]*' docs/install.md)
if [[ $python != /usr/bin/python3 ]]; then
  "$python" -m venv /root/environment
  python=/root/environment/bin/python
fi
export PATH=${python%/*}:$PATH PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore
bash -euc "$command"

say "with Python and pip alone"
"$python" tests/wheels_test.py bare

if [[ $python == /usr/bin/python3 ]]; then
  say "with NumPy, and with the libraries that the message about drawing names"
  apt-get -q update
  mapfile -t libraries < <("$python" tests/wheels_test.py libraries)
  install python3-numpy "${libraries[@]}"
  "$python" tests/wheels_test.py full
fi
