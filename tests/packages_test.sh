#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages in FOLDER on a bare Debian 12 with apt, and uses them. The command line trains, serves the
# lesson and has its manual pages; the README's program is built with libgradwalk-dev. Needs root, for debootstrap.
# usage: tests/packages_test.sh FOLDER
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
packages=$(realpath -- "${1:?usage: tests/packages_test.sh FOLDER}")
work=$(mktemp -d)
bare=$work/bare
trap 'umount "$bare/proc" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT

say() { echo "== $*"; }
inside() { chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }

say "a bare Debian 12"
debootstrap --variant=minbase bookworm "$bare" http://deb.debian.org/debian >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }
mount -t proc proc "$bare/proc"
cp "$packages"/*.deb "$bare/root"

say "the command line"
inside sh -c 'apt-get -q install -y --no-install-recommends /root/libgradwalk0*.deb /root/gradwalk_*.deb' >"$work/log" 2>&1 ||
  { tail "$work/log"; exit 1; }
inside gradwalk train moons | grep -E '^(train|100 steps)'
inside gradwalk draw 'a=2; b=a*a' --output /root/graph.svg
grep -q '<svg' "$bare/root/graph.svg"
cat >"$bare/root/page.pl" <<'END'
use IO::Socket::INET;
for (1 .. 100) {
  if (my $server = IO::Socket::INET->new("127.0.0.1:8123")) {
    print $server "GET / HTTP/1.1\r\nHost: localhost:8123\r\nConnection: close\r\n\r\n";
    print while <$server>;
    exit;
  }
  select undef, undef, undef, 0.2;
}
END
inside sh -c 'gradwalk lesson --port 8123 >/root/lesson.log 2>&1 & perl /root/page.pl >/root/page.txt; kill $!'
grep -q '<title>' "$bare/root/page.txt" || { cat "$bare/root/lesson.log" "$bare/root/page.txt"; exit 1; }
for file in man1/gradwalk.1 man1/gradwalk-train.1; do
  [[ -f $bare/usr/share/man/$file || -f $bare/usr/share/man/$file.gz ]]
done

say "the README's program"
inside sh -c 'apt-get -q install -y --no-install-recommends g++ pkg-config /root/libgradwalk-dev_*.deb' >"$work/log" 2>&1 ||
  { tail "$work/log"; exit 1; }
for part in program commands output; do "$root/tools/readme-program" $part "$root/README.md" >"$work/$part"; done
[[ $(<"$work/commands") =~ ([A-Za-z0-9_.-]+\.cpp) ]]
cp "$work/program" "$bare/root/${BASH_REMATCH[1]}"
{ echo "cd /root"; cat "$work/commands"; } >"$bare/root/commands.sh"
inside sh -e /root/commands.sh >"$work/printed"
diff -u "$work/output" "$work/printed"

say "purging the packages"
inside sh -c 'apt-get -q purge -y "libgradwalk*" gradwalk' >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }
[[ -z $(find "$bare/usr" -name '*gradwalk*') ]]
