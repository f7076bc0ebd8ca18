package probe

// Interval is interval:UNIT:N: like Profile, but on one CPU.
var Interval = kind(Kind{
	Words: []string{"interval", "i"}, Form: "interval:UNIT:N with the unit hz, s, ms or us",
	Where: "a timer on one CPU", Names: "the interrupted code's registers",
	Kernel: true, Attach: "interval", parse: (*parser).timer, Find: Finder.Timer,
})
