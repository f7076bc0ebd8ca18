package format

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// floatFormat describes a binary floating format: IEEE 754 half to quad, and the
// x87's 80 bits, whose leading one is explicit.
type floatFormat struct {
	exp, man int  // bits of exponent and stored significand
	explicit bool // the significand's leading bit is stored
	digits   int  // that GDB prints: 2 + significant bits * log10(2)
}

var (
	half   = floatFormat{exp: 5, man: 10, digits: 5}
	single = floatFormat{exp: 8, man: 23, digits: 9}
	double = floatFormat{exp: 11, man: 52, digits: 17}
	x87    = floatFormat{exp: 15, man: 64, explicit: true, digits: 21}
	quad   = floatFormat{exp: 15, man: 112, digits: 36}
	bfloat = floatFormat{exp: 8, man: 7, digits: 4}
)

// formatOf finds a type's format.
func formatOf(s *ctype.Type) (floatFormat, bool) {
	switch s.Size {
	case 2:
		if strings.Contains(s.Name, "bf") {
			return bfloat, true
		}
		return half, true
	case 4:
		return single, true
	case 8:
		return double, true
	case 10, 12:
		return x87, true
	case 16:
		if s.Quad() {
			return quad, true
		}
		return x87, true
	}
	return floatFormat{}, false
}

type floatClass uint8

const (
	finite floatClass = iota
	infinite
	notANumber
)

// floatValue is a decoded number: man * 2^exp, or for NaN the stored significand.
type floatValue struct {
	neg   bool
	class floatClass
	man   *big.Int
	exp   int
	form  floatFormat
	// invalid: the x87's explicit leading bit contradicts the exponent; since the 80387 such bytes are not a
	// number.
	invalid bool
}

// decodeFloat takes any bytes of the type's size. Types of odd sizes give NaN.
func decodeFloat(s *ctype.Type, data []byte) floatValue {
	form, ok := formatOf(s)
	total := 1 + form.exp + form.man
	if !ok || len(data)*8 < total {
		return floatValue{class: notANumber, man: new(big.Int)}
	}
	raw := bigInt(data[:total/8], false)
	v := floatValue{form: form, neg: raw.Bit(total-1) != 0}
	mask := new(big.Int).Lsh(big.NewInt(1), uint(form.man))
	v.man = new(big.Int).And(raw, new(big.Int).Sub(mask, big.NewInt(1)))
	exp := int(new(big.Int).Rsh(raw, uint(form.man)).Int64()) & (1<<form.exp - 1)
	bias := 1<<(form.exp-1) - 1
	point := form.man
	if form.explicit {
		point--
		v.invalid = (exp == 0) == (v.man.Bit(form.man-1) != 0)
	}
	switch exp {
	case 1<<form.exp - 1:
		v.class = notANumber
		fraction := new(big.Int).Set(v.man)
		if form.explicit {
			fraction.SetBit(fraction, form.man-1, 0)
		}
		if fraction.Sign() == 0 {
			v.class = infinite
		}
	case 0:
		v.exp = 1 - bias - point
	default:
		v.exp = exp - bias - point
		if !form.explicit {
			v.man.Or(v.man, mask)
		}
	}
	return v
}

// big returns a finite value exactly.
func (v floatValue) big() *big.Float {
	f := new(big.Float).SetPrec(128).SetInt(v.man)
	f.SetMantExp(f, v.exp)
	if v.neg {
		f.Neg(f)
	}
	return f
}

// appendFloat prints like C's %g, with enough digits to distinguish all values.
func appendFloat(b []byte, s *ctype.Type, data []byte) []byte {
	switch len(data) {
	case 4:
		if f := math.Float32frombits(uint32(word(data))); f-f == 0 {
			return strconv.AppendFloat(b, float64(f), 'g', single.digits, 64)
		}
	case 8:
		if f := math.Float64frombits(word(data)); f-f == 0 {
			return strconv.AppendFloat(b, f, 'g', double.digits, 64)
		}
	}
	v := decodeFloat(s, data)
	if v.invalid {
		return append(b, "<invalid float value>"...)
	}
	if v.class == finite {
		return v.big().Append(b, 'g', v.form.digits)
	}
	if v.neg {
		b = append(b, '-')
	}
	if v.class == infinite {
		return append(b, "inf"...)
	}
	b = append(b, "nan(0x"...)
	b = v.man.Append(b, 16)
	return append(b, ')')
}
