package printf

import (
	"fmt"
	"strings"
)

// The bits of the kernel's flags of allocations, in the order of enum ___GFP_*_BIT (include/linux/gfp_types.h).
const (
	gfpDMA = 1 << iota
	gfpHighmem
	gfpDMA32
	gfpMovable
	gfpReclaimable
	gfpHigh
	gfpIO
	gfpFS
	gfpZero
	gfpUnused
	gfpDirectReclaim
	gfpKswapdReclaim
	gfpWrite
	gfpNowarn
	gfpRetryMayfail
	gfpNofail
	gfpNoretry
	gfpMemalloc
	gfpComp
	gfpNomemalloc
	gfpHardwall
	gfpThisnode
	gfpAccount
	gfpZerotags
	gfpSkipZero
	gfpSkipKasan

	gfpReclaim         = gfpDirectReclaim | gfpKswapdReclaim
	gfpKernel          = gfpReclaim | gfpIO | gfpFS
	gfpUser            = gfpKernel | gfpHardwall
	gfpHighuser        = gfpUser | gfpHighmem
	gfpHighuserMovable = gfpHighuser | gfpMovable | gfpSkipKasan
	gfpTranshugeLight  = (gfpHighuserMovable | gfpComp | gfpNomemalloc | gfpNowarn) &^ gfpReclaim
)

// gfpNames are the names in the order in which the kernel's %pGg looks for them.
var gfpNames = []struct {
	bits uint64
	name string
}{
	{gfpTranshugeLight | gfpDirectReclaim, "GFP_TRANSHUGE"},
	{gfpTranshugeLight, "GFP_TRANSHUGE_LIGHT"},
	{gfpHighuserMovable, "GFP_HIGHUSER_MOVABLE"},
	{gfpHighuser, "GFP_HIGHUSER"},
	{gfpUser, "GFP_USER"},
	{gfpKernel | gfpAccount, "GFP_KERNEL_ACCOUNT"},
	{gfpKernel, "GFP_KERNEL"},
	{gfpReclaim | gfpIO, "GFP_NOFS"},
	{gfpHigh | gfpKswapdReclaim, "GFP_ATOMIC"},
	{gfpReclaim, "GFP_NOIO"},
	{gfpKswapdReclaim, "GFP_NOWAIT"},
	{gfpDMA, "GFP_DMA"},
	{gfpHighmem, "__GFP_HIGHMEM"},
	{gfpDMA32, "GFP_DMA32"},
	{gfpHigh, "__GFP_HIGH"},
	{gfpIO, "__GFP_IO"},
	{gfpFS, "__GFP_FS"},
	{gfpZero, "__GFP_ZERO"},
	{gfpDirectReclaim, "__GFP_DIRECT_RECLAIM"},
	{gfpWrite, "__GFP_WRITE"},
	{gfpNowarn, "__GFP_NOWARN"},
	{gfpRetryMayfail, "__GFP_RETRY_MAYFAIL"},
	{gfpNofail, "__GFP_NOFAIL"},
	{gfpNoretry, "__GFP_NORETRY"},
	{gfpMemalloc, "__GFP_MEMALLOC"},
	{gfpComp, "__GFP_COMP"},
	{gfpNomemalloc, "__GFP_NOMEMALLOC"},
	{gfpHardwall, "__GFP_HARDWALL"},
	{gfpThisnode, "__GFP_THISNODE"},
	{gfpAccount, "__GFP_ACCOUNT"},
	{gfpMovable, "__GFP_MOVABLE"},
	{gfpReclaimable, "__GFP_RECLAIMABLE"},
	{gfpZerotags, "__GFP_ZEROTAGS"},
	{gfpSkipZero, "__GFP_SKIP_ZERO"},
	{gfpSkipKasan, "__GFP_SKIP_KASAN"},
}

// gfpFlags names the flags of an allocation.
func gfpFlags(flags uint64) string {
	if flags == 0 {
		return "0"
	}
	var parts []string
	for _, f := range gfpNames {
		if flags&f.bits == f.bits {
			parts = append(parts, f.name)
			flags &^= f.bits
		}
	}
	if flags != 0 {
		parts = append(parts, fmt.Sprintf("0x%x", flags))
	}
	return strings.Join(parts, "|")
}
