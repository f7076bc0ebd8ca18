package ctf

import (
	"encoding/json"
	"strings"
)

// class2 is a field class in the metadata of CTF 2.
type class2 struct {
	Type             string                      `json:"type"`
	Length           *int                        `json:"length,omitempty"`
	ByteOrder        string                      `json:"byte-order,omitempty"`
	Alignment        int                         `json:"alignment,omitempty"`
	Base             int                         `json:"preferred-display-base,omitempty"`
	Mappings         map[string][][2]json.Number `json:"mappings,omitempty"`
	MinimumAlignment int                         `json:"minimum-alignment,omitempty"`
	Members          []member2                   `json:"member-classes,omitempty"`
	LengthAt         *location2                  `json:"length-field-location,omitempty"`
	Element          any                         `json:"element-field-class,omitempty"`
	SelectorAt       *location2                  `json:"selector-field-location,omitempty"`
	Options          []option2                   `json:"options,omitempty"`
	Roles            []string                    `json:"roles,omitempty"`
}

type member2 struct {
	Name  string `json:"name"`
	Class any    `json:"field-class"`
}

type option2 struct {
	Name   string           `json:"name"`
	Class  any              `json:"field-class"`
	Ranges [][2]json.Number `json:"selector-field-ranges"`
}

// location2 is the place of a field, from the structure on in which the one is that needs it.
type location2 struct {
	Path []string `json:"path"`
}

// name2 is a name without the underscore that TSDL needs.
func name2(name string) string { return strings.TrimPrefix(name, "_") }

func beside(name string) *location2 { return &location2{[]string{name2(name)}} }

func roles2(role string) []string {
	if role == "" {
		return nil
	}
	return []string{role}
}

func (c integerClass) ctf2(role string) any {
	x := &class2{Type: "fixed-length-unsigned-integer", Length: &c.bits, ByteOrder: "little-endian", Roles: roles2(role)}
	if c.signed {
		x.Type = "fixed-length-signed-integer"
	}
	if c.align > 1 {
		x.Alignment = c.align
	}
	if c.hex {
		x.Base = 16
	}
	return x
}

func (c floatClass) ctf2(string) any {
	bits := 8 * c.size
	return &class2{Type: "fixed-length-floating-point-number", Length: &bits, ByteOrder: "little-endian", Alignment: 8}
}

func (c *enumClass) ctf2(role string) any {
	of := c.of
	if a, ok := of.(*aliasClass); ok {
		of = a.of
	}
	x := of.ctf2(role).(*class2)
	x.Mappings = map[string][][2]json.Number{}
	for _, l := range c.labels {
		x.Mappings[l.name] = l.ranges2()
	}
	return x
}

func (l label) ranges2() [][2]json.Number {
	return [][2]json.Number{{json.Number(l.first), json.Number(l.last)}}
}

func (stringClass) ctf2(string) any { return &class2{Type: "null-terminated-string"} }

func (charClass) ctf2(string) any { return integerClass{bits: 8, align: 8}.ctf2("") }

func (uuidClass) ctf2(role string) any {
	n := 16
	return &class2{Type: "static-length-blob", Length: &n, Roles: roles2(role)}
}

// ctf2 is the name; but a class with a role has none, which would give it to all fields of the name.
func (c *aliasClass) ctf2(role string) any {
	if role != "" {
		return c.of.ctf2(role)
	}
	return c.name
}

func (c arrayClass) ctf2(string) any {
	if _, text := c.of.(charClass); text {
		return &class2{Type: "static-length-string", Length: &c.count}
	}
	return &class2{Type: "static-length-array", Length: &c.count, Element: c.of.ctf2("")}
}

func (c listClass) ctf2(string) any {
	if _, text := c.of.(charClass); text {
		return &class2{Type: "dynamic-length-string", LengthAt: beside(c.count)}
	}
	return &class2{Type: "dynamic-length-array", LengthAt: beside(c.count), Element: c.of.ctf2("")}
}

func (c structClass) ctf2(string) any {
	x := &class2{Type: "structure", MinimumAlignment: c.align}
	for _, m := range c.members {
		x.Members = append(x.Members, member2{name2(m.name), m.of.ctf2(m.role)})
	}
	return x
}

func (c *variantClass) ctf2(string) any {
	x := &class2{Type: "variant", SelectorAt: beside(c.by)}
	for _, o := range c.options {
		x.Options = append(x.Options, option2{name2(o.name), o.of.ctf2(""), c.tag.labelled(o.name).ranges2()})
	}
	return x
}
