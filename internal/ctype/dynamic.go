package ctype

// Dynamic recognises a member of a kernel tracepoint's record that refers to a dynamic array: 4 bytes with
// length<<16 | offset, both in bytes. The offset counts from the record's first byte or, if rel, from the end
// of the 4 bytes. Such a type is a Typedef "__data_loc" or "__rel_loc" of size 4 for an Array without count. t
// must not be stripped.
func Dynamic(t *Type) (elem *Type, rel, ok bool) {
	if t == nil || t.Kind != Typedef || t.Size != 4 || t.Elem == nil {
		return nil, false, false
	}
	if a := t.Elem; a.Kind == Array && a.Count == -1 && a.Elem != nil && (t.Name == "__data_loc" || t.Name == "__rel_loc") {
		return a.Elem, t.Name == "__rel_loc", true
	}
	return nil, false, false
}
