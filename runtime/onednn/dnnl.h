// Includes oneDNN's header without its experimental parts. The header of the pinned build would call entry points that
// other builds of the library do not export.
#ifndef AMP_RUNTIME_ONEDNN_DNNL_H_
#define AMP_RUNTIME_ONEDNN_DNNL_H_

#include <oneapi/dnnl/dnnl_config.h>
#undef DNNL_EXPERIMENTAL_SPARSE
#include <oneapi/dnnl/dnnl.hpp>

#endif  // AMP_RUNTIME_ONEDNN_DNNL_H_
