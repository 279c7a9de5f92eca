// The places of scales as arguments of the call, for codes.glsl.
#define CODE_INNER arg_code_inner()
#define CODE_EXTENT arg_code_extent()
#define CODE_BLOCK arg_code_block()
#define CODE_OUTER arg_code_outer()
#define CODE_AXIS arg_code_axis()
#define CODE_ALONG arg_code_along()
const uint CODE_SHARED = 0u;
