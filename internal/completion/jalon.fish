# Completion of jalon's command lines in fish: install this file as jalon.fish in
# /usr/share/fish/vendor_completions.d or ~/.config/fish/completions.
function __jalon_complete
	set -l left (commandline -cp)
	set -l all (commandline -p)
	set -l right (string sub -s (math (string length -- "$left") + 1) -- "$all")
	set -l found (jalon complete fish "$left" "$right" 2>/dev/null)
	if test (count $found) -eq 0
		__fish_complete_path (commandline -ct)
	else
		printf '%s\n' $found
	end
end
complete -c jalon -f -a '(__jalon_complete)'
