package rsp

// OSDataXML is the object osdata: a table of things that the system has, which GDB
// shows with `info os`.
func OSDataXML(kind string, rows [][]OSColumn) []byte {
	d := newDocument("osdata", "osdata.dtd")
	d.begin("osdata", attr("type", kind))
	for _, row := range rows {
		d.begin("item")
		for _, c := range row {
			d.text("column", c.Value, attr("name", c.Name))
		}
		d.end()
	}
	d.end()
	return d.Bytes()
}

// OSColumn is a cell of a row of osdata.
type OSColumn struct{ Name, Value string }
