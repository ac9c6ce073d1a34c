#!/bin/sh
# Install the programs that some tests call (compilers, interpreters, a browser, a ray tracer, a finite-element program) where this is possible.
# Best effort: a tool that cannot be installed is named with the reason, and the tests that need it are skipped.
# JOURDAIN_TEST_TOOLS=skip leaves the system alone.
set -u

# command:Debian package. Julia is not among them: Debian has no package of it, and the test that runs it is skipped where it is missing.
TOOLS="gcc:gcc gfortran:gfortran rustc:rustc octave:octave pdflatex:texlive-latex-base povray:povray ccx:calculix-ccx chromium:chromium"

missing=
for tool in $TOOLS; do
    command -v "${tool%%:*}" >/dev/null 2>&1 || missing="$missing $tool"
done
[ -z "$missing" ] && exit 0

explain() {
    for tool in $missing; do
        echo "test tool ${tool%%:*} is missing: $1; its tests are skipped"
    done
    exit 0
}

[ "${JOURDAIN_TEST_TOOLS:-install}" = skip ] && explain "JOURDAIN_TEST_TOOLS=skip"
command -v apt-get >/dev/null 2>&1 || explain "no apt-get on this system, install it by hand"

if [ "$(id -u)" -eq 0 ]; then
    as_root="env"
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n env"
else
    explain "installing needs root or passwordless sudo"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() {
    timeout "$1" $as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$2" \
        --no-install-recommends -y ${3:+"$3"} >"$log" 2>&1 </dev/null
}

last_error() {
    grep -E '^(E:|W:)' "$log" | tail -n 1
}

apt 180 update || echo "apt-get update failed: $(last_error); trying with the package lists at hand"

for tool in $missing; do
    command=${tool%%:*}
    package=${tool#*:}
    echo "installing test tool $package ..."
    if ! apt 300 install "$package"; then
        echo "test tool $command is missing: apt-get install $package failed: $(last_error); its tests are skipped"
    fi
done
exit 0
