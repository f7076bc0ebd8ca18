package rsp_test

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// What a stub does with a packet.
func ExampleParse() {
	for _, payload := range []string{"m4005d0,4", "vSomethingNew", "m4005d0"} {
		p, err := rsp.Parse([]byte(payload))
		var reply rsp.Packet
		switch p := p.(type) {
		case rsp.ReadMemory:
			reply = rsp.MemoryData{Data: make(rsp.Bytes, p.Length)}
		case nil:
			fmt.Println(err)
			reply = rsp.Error{Code: 1}
		default:
			reply = rsp.Unsupported{}
		}
		fmt.Printf("%s\n", rsp.AppendPacket(nil, rsp.Encode(reply), true))
	}
	// Output:
	// $0*"00#dc
	// $#00
	// malformed packet "m4005d0", byte 7: want ","
	// $E01#a6
}

func ExampleParseReply() {
	p, err := rsp.ParseReply(rsp.QueryHalt{}, []byte("T05swbreak:;10:d005400000000000;thread:p1f.1f;"))
	stop := p.(rsp.Stopped)
	fmt.Println(stop.Signal, stop.Reasons[0].Kind == rsp.SoftwareBreak, stop.Registers[0].Number, stop.Thread, err)
	// Output: 5 true 16 p1f.1f <nil>
}
