#!/bin/sh
# Installs what the benchmarks measure against. Without root or apt-get it says what is missing.
set -eu

missing=""
need() { # PROGRAM PACKAGE...
    program=$1
    shift
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null 2>&1 || missing="$missing $*"
}

need haproxy haproxy
need nginx nginx libnginx-mod-stream
need wrk wrk
need hey hey
need h2load nghttp2-client
need cc gcc libc6-dev
# nginx alone cannot relay TCP: the module is a package of its own.
case " $missing " in
*" libnginx-mod-stream "*) ;;
*) ls /usr/lib/nginx/modules/ngx_stream_module.so >/dev/null 2>&1 || missing="$missing libnginx-mod-stream" ;;
esac

# Peers from PyPI bring much along: an environment of its own for each, away from ours.
alone() { # NAME PROGRAM REQUIREMENT
    folder="$(dirname "$0")/out/$1"
    [ -x "$folder/bin/$2" ] && return
    { "${PYTHON:-python3}" -m venv "$folder" &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$3"; } ||
        echo "bench: $1 could not be installed (benchmarks go on without)" >&2
}
alone locust locust "locust>=2.30"
alone mitmproxy mitmdump "mitmproxy>=10"

if [ -z "$missing" ]; then
    echo "bench: all programs are there"
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "bench: missing packages:$missing" >&2
    echo "bench: install them as root: apt-get install$missing (benchmarks skip what is missing)" >&2
    exit 0
fi
# Debian starts daemons on installation; the benchmark starts its own.
RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive
export RUNLEVEL DEBIAN_FRONTEND
apt-get update -qq
# shellcheck disable=SC2086 # the list is meant to be split
apt-get install -y -qq --no-install-recommends $missing
