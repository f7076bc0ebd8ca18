package interp

import (
	"fmt"
	"strings"
	"time"
)

// layouts are the conversions of strftime(3) that are a form of Go's.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'D': "01/02/06",
	'e': "_2", 'F': "2006-01-02", 'H': "15", 'I': "03", 'm': "01", 'M': "04", 'p': "PM", 'P': "pm", 'r': "03:04:05 PM", 'R': "15:04",
	'S': "05", 'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST", 'k': "15",
}

// strftime formats a time as C does; %f is the microsecond. Unknown conversions are left as they are.
func strftime(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch c := format[i]; {
		case layouts[c] != "":
			b.WriteString(t.Format(layouts[c]))
		default:
			b.WriteString(special(c, t))
		}
	}
	return b.String()
}

func special(c byte, t time.Time) string {
	_, week := t.ISOWeek()
	year, _ := t.ISOWeek()
	day := (int(t.Weekday()) + 6) % 7
	switch c {
	case '%':
		return "%"
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 's':
		return fmt.Sprint(t.Unix())
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'u':
		return fmt.Sprint(day + 1)
	case 'w':
		return fmt.Sprint(int(t.Weekday()))
	case 'V':
		return fmt.Sprintf("%02d", week)
	case 'G':
		return fmt.Sprint(year)
	case 'g':
		return fmt.Sprintf("%02d", year%100)
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7)
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-day)/7)
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1)
	}
	return "%" + string(c)
}
