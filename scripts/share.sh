#!/usr/bin/env bash
# Writes the manual page and the completion of shells, which jalon makes itself: share.sh JALON DIRECTORY.
set -euo pipefail
jalon=$1 share=$2
mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$jalon" manual | gzip -9n >"$share/man/man1/jalon.1.gz"
"$jalon" completion bash >"$share/bash-completion/completions/jalon"
"$jalon" completion zsh >"$share/zsh/site-functions/_jalon"
"$jalon" completion fish >"$share/fish/vendor_completions.d/jalon.fish"
