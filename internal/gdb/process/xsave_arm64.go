package process

// hostXSAVE: there is no such area; processes are not traced (process.Attach says so).
func hostXSAVE() xsaveLayout { return xsaveLayout{} }
