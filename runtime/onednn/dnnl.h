// oneDNN's header as every build of the library has it: the pinned one would otherwise call entry points that other
// builds do not export.
#ifndef AMP_RUNTIME_ONEDNN_DNNL_H_
#define AMP_RUNTIME_ONEDNN_DNNL_H_

#include <oneapi/dnnl/dnnl_config.h>
#undef DNNL_EXPERIMENTAL_SPARSE
#include <oneapi/dnnl/dnnl.hpp>

#endif  // AMP_RUNTIME_ONEDNN_DNNL_H_
