#include "textflag.h"

// func TSC() uint64
// The virtual counter (Arm ARM, D13.8.30, CNTVCT_EL0), which Linux lets programs read.
// ISB: it is not read before what comes first in the program.
TEXT ·TSC(SB), NOSPLIT, $0-8
	ISB $15
	MRS CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET
