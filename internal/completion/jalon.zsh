#compdef jalon
# Completion of jalon's command lines in zsh: install this file as _jalon in a directory of $fpath.
_jalon() {
	local -a found
	local left="${(j: :)words[1,CURRENT-1]} ${words[CURRENT]}"
	local right=" ${(j: :)words[CURRENT+1,-1]}"
	found=("${(@f)$(jalon complete zsh "$left" "$right" 2>/dev/null)}")
	if [[ ${#found} -eq 0 || -z ${found[1]} ]]; then
		_files
		return
	fi
	local -a begun whole
	begun=(${(M)found:#*[:=.(>]})
	whole=(${found:#*[:=.(>]})
	(( ${#begun} )) && compadd -S '' -a begun
	(( ${#whole} )) && compadd -a whole
}
if [[ ${funcstack[1]} == _jalon ]]; then
	_jalon "$@"
else
	compdef _jalon jalon
fi
