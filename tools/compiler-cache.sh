# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Source this file in the project's root. ccache then uses paths relative to the clone, so that clones share what they have
# compiled. In depend mode it gets the included files from the compiler instead of preprocessing first, which is faster
# while the cache is empty.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
