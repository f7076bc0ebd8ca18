# Completion of jalon's command lines in bash: source this file, or install it as
# /usr/share/bash-completion/completions/jalon.
_jalon() {
	mapfile -t COMPREPLY < <(jalon complete bash "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" 2>/dev/null)
	# No blank behind what is only the beginning of a place.
	if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=.\(\>] ]]; then
		compopt -o nospace
	fi
}
complete -o default -F _jalon jalon
