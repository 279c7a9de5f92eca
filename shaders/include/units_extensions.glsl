// What kernels of matrix units ask of the compiler, and their fragments; before everything else.
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#ifdef BF16
#extension GL_EXT_bfloat16 : require
#define ELEMENT bfloat16_t
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define ELEMENT float16_t
#endif

// 16 x 16 numbers that the threads of a subgroup have together.
#define FRAGMENT(TYPE, USE) coopmat<TYPE, gl_ScopeSubgroup, 16, 16, USE>
