# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Source this file to run programs for Windows: "$wine" PROGRAM.EXE. WINEPREFIX names the folder of wine's settings; by
# default it is in $build.
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
export WINEPREFIX=${WINEPREFIX:-${build:?}/wine} WINEDEBUG=-all

# The server of wine stays for a minute after each program, because its start takes longer than most programs.
server=$(command -v wineserver || echo "${wine%/*}/wineserver")
mkdir -p "$WINEPREFIX"
"$server" -p60 || true  # it fails if it is still there
"$wine" cmd /c exit >/dev/null 2>&1 || { echo "wine does not start; run tools/setup mingw" >&2; exit 1; }
