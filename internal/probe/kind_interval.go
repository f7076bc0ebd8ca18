package probe

// Interval is interval:UNIT:N: as Profile, on one CPU.
var Interval = kind(Kind{
	Words: []string{"interval", "i"}, Form: "interval:UNIT:N with the unit hz, s, ms or us",
	Where: "a timer on one CPU", Names: "registers of what was interrupted",
	Kernel: true, Attach: "interval", parse: (*parser).timer, Find: Finder.Timer,
})
