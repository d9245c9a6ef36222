// How much of the memory that was freed the C library keeps.
#ifndef AMP_TOOLS_PROGRAM_KEEP_FREED_MEMORY_H_
#define AMP_TOOLS_PROGRAM_KEEP_FREED_MEMORY_H_

namespace amp {

// Blocks of up to 32 MiB then come from memory that stays with the program, of which up to 128 MiB may lie idle. By
// itself glibc gives large blocks back at once: each run of a model would get the pages of its outputs, and of what its
// kernels look up, anew from the system, which fills them with zeros. Where the environment says what is kept
// (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES), that holds. Does nothing without glibc.
void KeepFreedMemory();

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_KEEP_FREED_MEMORY_H_
