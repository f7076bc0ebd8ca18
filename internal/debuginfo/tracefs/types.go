package tracefs

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Since Linux 6.2 the kernel is compiled with -funsigned-char; in earlier kernels' formats plain char is
// signed.
var kernelChar = &ctype.Type{Kind: ctype.Char, Name: "char", Size: 1}

// baseTypes are C's integers by their words in alphabetical order.
var baseTypes = map[string]*ctype.Type{
	"char": kernelChar, "char signed": ctype.SCharT, "char unsigned": ctype.UCharT,
	"short": ctype.ShortT, "int short": ctype.ShortT, "short signed": ctype.ShortT,
	"short unsigned": ctype.UShortT, "int short unsigned": ctype.UShortT,
	"int": ctype.IntT, "signed": ctype.IntT, "int signed": ctype.IntT,
	"unsigned": ctype.UIntT, "int unsigned": ctype.UIntT,
	"long": ctype.LongT, "int long": ctype.LongT, "long signed": ctype.LongT,
	"long unsigned": ctype.ULongT, "int long unsigned": ctype.ULongT,
	"long long": ctype.LLongT, "int long long": ctype.LLongT, "long long signed": ctype.LLongT,
	"long long unsigned": ctype.ULLongT, "int long long unsigned": ctype.ULLongT,
	"void": ctype.VoidT, "_Bool": ctype.BoolT,
}

// wellKnown are typedefs that are the same in every x86-64 kernel and therefore need no type information.
var wellKnown = func() map[string]*ctype.Type {
	m := map[string]*ctype.Type{}
	for under, names := range map[*ctype.Type]string{
		ctype.BoolT:   "bool",
		ctype.UCharT:  "u8 __u8 uint8_t u_char",
		ctype.SCharT:  "s8 __s8 int8_t",
		ctype.UShortT: "u16 __u16 uint16_t ushort umode_t __be16 __le16 __sum16",
		ctype.ShortT:  "s16 __s16 int16_t",
		ctype.UIntT:   "u32 __u32 uint32_t uint gfp_t dev_t uid_t gid_t fmode_t blk_opf_t __be32 __le32 slab_flags_t vm_fault_t __poll_t",
		ctype.IntT:    "s32 __s32 int32_t pid_t clockid_t key_t __kernel_rwf_t rwf_t",
		ctype.ULLongT: "u64 __u64 uint64_t sector_t blkcnt_t __be64 __le64 dma_addr_t phys_addr_t resource_size_t",
		ctype.LLongT:  "s64 __s64 int64_t loff_t ktime_t time64_t",
		ctype.ULongT:  "size_t ino_t ulong uintptr_t pgoff_t vm_flags_t",
		ctype.LongT:   "ssize_t off_t intptr_t ptrdiff_t",
	} {
		for _, n := range strings.Fields(names) {
			m[n] = &ctype.Type{Kind: ctype.Typedef, Name: n, Size: under.Size, Elem: under}
		}
	}
	// A mask with as many words as needed for the machine's processors.
	m["cpumask_t"] = &ctype.Type{Kind: ctype.Typedef, Name: "cpumask_t", Size: 8, Elem: ctype.ULongT}
	return m
}()

// NamedType returns a type that needs no type information: C's integers ("unsigned long", words in any order)
// and the kernel's usual typedefs ("u64", "gfp_t"); nil for others.
func NamedType(name string) *ctype.Type {
	if t := wellKnown[name]; t != nil {
		return t
	}
	words := strings.Fields(name)
	slices.Sort(words)
	return baseTypes[strings.Join(words, " ")]
}

// qualifiers do not affect a value read from a record.
var qualifiers = map[string]bool{
	"const": true, "volatile": true, "restrict": true, "__user": true, "__rcu": true,
	"__percpu": true, "__iomem": true, "__seg_gs": true, "__seg_fs": true,
}

var tagKinds = map[string]ctype.Kind{"struct": ctype.Struct, "union": ctype.Union, "enum": ctype.Enum}

// typeOf returns the type named by the words of a declaration. An unknown name gets a type by size and sign;
// with size 0 it remains unknown.
func typeOf(words []string, size int64, signed bool, types func(string) *ctype.Type) *ctype.Type {
	stars := 0
	var base []string
	for _, w := range words {
		switch {
		case w == "*":
			stars++
		case !qualifiers[w]:
			base = append(base, w)
		}
	}
	if stars > 0 {
		size = 0
	}
	t := named(base, size, signed, types)
	for range stars {
		t = ctype.PointerTo(t)
	}
	return t
}

// named finds a type without stars.
func named(base []string, size int64, signed bool, types func(string) *ctype.Type) *ctype.Type {
	name := strings.Join(base, " ")
	if name == "char" && signed {
		return ctype.CharT
	}
	if t := NamedType(name); t != nil {
		return t
	}
	if types != nil {
		if t := types(name); t != nil {
			return t
		}
	}
	if len(base) == 2 {
		if kind, ok := tagKinds[base[0]]; ok {
			t := &ctype.Type{Kind: kind, Name: base[1], Size: size, Signed: signed, Incomplete: true}
			if kind == ctype.Enum && size == 0 {
				t.Size = 4
			}
			return t
		}
	}
	if size > 0 {
		return bySize(name, size, signed)
	}
	return &ctype.Type{Kind: ctype.Typedef, Name: name, Elem: ctype.VoidT}
}
