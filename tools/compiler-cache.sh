# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# To be sourced in the project's root. The compiler cache sees paths relative to the clone, so that one clone uses what
# another has compiled. In depend mode it asks the compiler which files it read instead of preprocessing first, which is
# faster while the cache is empty.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
