#!/bin/sh
# need.sh COMMAND...: makes sure that the commands are there.
#
# What is missing is installed: by apt-get on Debian and Ubuntu (through sudo
# unless root), by brew on macOS. Anywhere else the missing are named and the
# exit code is 1. The command "cc" stands for the C compiler that Go would use.
set -eu

have() {
	if [ "$1" = cc ]; then
		# a compiler without the C library's headers is of no use
		echo '#include <stdlib.h>' | $(go env CC) -x c -fsyntax-only - 2>/dev/null
	else
		command -v "$1" >/dev/null
	fi
}

missing() {
	for command; do
		have "$command" || echo "$command"
	done
}

debian_packages() {
	for command; do
		case $command in
		cc) echo gcc libc6-dev ;;
		redis-cli) echo redis-tools ;;
		*) echo "$command" ;;
		esac
	done
}

brew_packages() {
	for command; do
		case $command in
		cc) ;; # Apple's: xcode-select --install, which asks at the screen
		redis-*) echo redis ;;
		*) echo "$command" ;;
		esac
	done | sort -u
}

apt() {
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	# stdout is the progress of apt and dpkg; their errors come on stderr
	$sudo env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=120 "$@" </dev/null >/dev/null
}

apt_install() {
	# The lists may be absent (a fresh container) or too old to install from.
	if apt-cache show "$@" >/dev/null 2>&1 && apt install --no-install-recommends "$@"; then
		return
	fi
	apt update
	apt install --no-install-recommends "$@"
}

absent=$(missing "$@")
[ -n "$absent" ] || exit 0

# Word splitting is wanted below: these are lists of plain names.
# shellcheck disable=SC2046,SC2086
if command -v apt-get >/dev/null; then
	set -- $(debian_packages $absent)
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		echo "need.sh: neither root nor sudo; as root, run: apt-get install $*" >&2
		exit 1
	fi
	echo "installing with apt-get: $*"
	apt_install "$@"
elif command -v brew >/dev/null; then
	set -- $(brew_packages $absent)
	if [ $# -gt 0 ]; then
		echo "installing with brew: $*"
		brew install --quiet "$@"
	fi
fi

# shellcheck disable=SC2086
absent=$(missing $absent)
[ -n "$absent" ] || exit 0

for command in $absent; do
	case $command in
	cc) echo "need.sh: please install a C compiler, or test without the race detector: make test RACE=" ;;
	*) echo "need.sh: please install $command" ;;
	esac
done >&2
exit 1
