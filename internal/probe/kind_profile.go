package probe

// Profile is profile:UNIT:N: on every CPU, Freq times a second or once in Period.
var Profile = kind(Kind{
	Words: []string{"profile", "p"}, Form: "profile:HZ or profile:UNIT:N with the unit hz, s, ms or us",
	Where: "a timer on every CPU", Names: "the interrupted code's registers, `$bt`, `$ubt`",
	Kernel: true, Attach: "profile", parse: (*parser).timer, Find: Finder.Timer,
})
