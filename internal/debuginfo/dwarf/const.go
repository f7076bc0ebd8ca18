package dwarf

// Numbers of the DWARF 5 standard, chapter 7, and of the GNU extensions.

// Tags.
const (
	tagArrayType         = 0x01
	tagClassType         = 0x02
	tagEnumerationType   = 0x04
	tagFormalParameter   = 0x05
	tagImportedDecl      = 0x08
	tagLabel             = 0x0a
	tagCommonBlock       = 0x1a
	tagLexicalBlock      = 0x0b
	tagMember            = 0x0d
	tagPointerType       = 0x0f
	tagReferenceType     = 0x10
	tagCompileUnit       = 0x11
	tagStringType        = 0x12
	tagStructType        = 0x13
	tagSubroutineType    = 0x15
	tagTypedef           = 0x16
	tagUnionType         = 0x17
	tagUnspecifiedParams = 0x18
	tagVariant           = 0x19
	tagInheritance       = 0x1c
	tagInlinedSubroutine = 0x1d
	tagModule            = 0x1e
	tagPtrToMemberType   = 0x1f
	tagSubrangeType      = 0x21
	tagBaseType          = 0x24
	tagConstType         = 0x26
	tagConstant          = 0x27
	tagEnumerator        = 0x28
	tagSubprogram        = 0x2e
	tagVariantPart       = 0x33
	tagVariable          = 0x34
	tagVolatileType      = 0x35
	tagTryBlock          = 0x32
	tagCatchBlock        = 0x25
	tagRestrictType      = 0x37
	tagInterfaceType     = 0x38
	tagNamespace         = 0x39
	tagImportedModule    = 0x3a
	tagUnspecifiedType   = 0x3b
	tagPartialUnit       = 0x3c
	tagImportedUnit      = 0x3d
	tagTypeUnit          = 0x41
	tagRvalueRefType     = 0x42
	tagTemplateAlias     = 0x43
	tagTemplateType      = 0x2f
	tagTemplateValue     = 0x30
	tagAtomicType        = 0x47
	tagImmutableType     = 0x4b
	tagSkeletonUnit      = 0x4a
	tagCallSite          = 0x48
	tagCallSiteParameter = 0x49

	tagGNUCallSite          = 0x4109
	tagGNUCallSiteParameter = 0x410a
)

// Attributes.
const (
	atSibling           = 0x01
	atLocation          = 0x02
	atName              = 0x03
	atByteSize          = 0x0b
	atBitOffset         = 0x0c
	atBitSize           = 0x0d
	atStmtList          = 0x10
	atLowPC             = 0x11
	atHighPC            = 0x12
	atLanguage          = 0x13
	atCompDir           = 0x1b
	atConstValue        = 0x1c
	atContainingType    = 0x1d
	atInline            = 0x20
	atProducer          = 0x25
	atStringLength      = 0x19
	atBitStride         = 0x2e
	atRank              = 0x71
	atStringLengthBytes = 0x70
	atLowerBound        = 0x22
	atPrototyped        = 0x27
	atArtificial        = 0x34
	atCallingConvention = 0x36
	atUpperBound        = 0x2f
	atAbstractOrigin    = 0x31
	atCount             = 0x37
	atDataMemberLoc     = 0x38
	atDiscr             = 0x15
	atDiscrValue        = 0x16
	atDiscrList         = 0x3d
	atDeclFile          = 0x3a
	atDeclLine          = 0x3b
	atDeclaration       = 0x3c
	atEncoding          = 0x3e
	atExternal          = 0x3f
	atFrameBase         = 0x40
	atStaticLink        = 0x48
	atSpecification     = 0x47
	atType              = 0x49
	atAllocated         = 0x4e
	atAssociated        = 0x4f
	atDataLocation      = 0x50
	atByteStride        = 0x51
	atRanges            = 0x55
	atEntryPC           = 0x52
	atCallFile          = 0x58
	atCallLine          = 0x59
	atSignature         = 0x69
	atDataBitOffset     = 0x6b
	atEndianity         = 0x65
	atEnumClass         = 0x6d
	atLinkageName       = 0x6e
	atStrOffsetsBase    = 0x72
	atAddrBase          = 0x73
	atRnglistsBase      = 0x74
	atDwoName           = 0x76
	atAlignment         = 0x88
	atExportSymbols     = 0x89
	atDefaultValue      = 0x1e
	atLoclistsBase      = 0x8c
	atImport            = 0x18
	atVirtuality        = 0x4c
	atVariableParam     = 0x4b
	atGoEmbedded        = 0x2903
	atGoClosureOffset   = 0x2907
	atMIPSLinkage       = 0x2007
	atGNUVector         = 0x2107
	atGNUDwoName        = 0x2130
	atGNUDwoID          = 0x2131
	atGNURangesBase     = 0x2132
	atGNUAddrBase       = 0x2133

	atCallAllCalls       = 0x7a
	atCallAllSourceCalls = 0x7b
	atCallAllTailCalls   = 0x7c
	atCallReturnPC       = 0x7d
	atCallValue          = 0x7e
	atCallOrigin         = 0x7f
	atCallParameter      = 0x80
	atCallPC             = 0x81
	atCallTailCall       = 0x82
	atCallTarget         = 0x83
	atCallDataValue      = 0x86

	atGNUCallSiteValue      = 0x2111
	atGNUCallSiteDataValue  = 0x2112
	atGNUCallSiteTarget     = 0x2113
	atGNUTailCall           = 0x2115
	atGNUAllTailCallSites   = 0x2116
	atGNUAllCallSites       = 0x2117
	atGNUAllSourceCallSites = 0x2118
)

// Unit types of DWARF 5.
const (
	utCompile      = 1
	utType         = 2
	utPartial      = 3
	utSkeleton     = 4
	utSplitCompile = 5
	utSplitType    = 6
)

// Languages that affect a decision.
const (
	langC89       = 0x01
	langGo        = 0x16
	langC         = 0x02
	langC99       = 0x0c
	langC11       = 0x1d
	langCPlusPlus = 0x04
	langObjCxx    = 0x11
	langCxx03     = 0x19
	langCxx11     = 0x1a
	langCxx14     = 0x21
	langCxx17     = 0x2a
	langCxx20     = 0x2b
	langCxx23     = 0x3a
	langC17       = 0x2c
	langC23       = 0x3e
	langAssembler = 0x8001
)

// Base type encodings.
const (
	ateAddress      = 0x01
	ateBoolean      = 0x02
	ateComplexFloat = 0x03
	ateFloat        = 0x04
	ateSigned       = 0x05
	ateSignedChar   = 0x06
	ateUnsigned     = 0x07
	ateUnsignedChar = 0x08
	ateUTF          = 0x10
	ateUCS          = 0x11
	ateASCII        = 0x12
)
