# MPI for training on several processes: the system's, where it has one.
set(MPI_CXX_SKIP_MPICXX ON)  # the C interface alone
find_package(MPI QUIET COMPONENTS CXX)
option(AMP_WITH_MPI "amp-train runs under mpirun" ${MPI_CXX_FOUND})
if(AMP_WITH_MPI AND NOT MPI_CXX_FOUND)
  message(FATAL_ERROR "AMP_WITH_MPI is on and no MPI is found: install libopenmpi-dev, or set AMP_WITH_MPI to OFF")
endif()
if(AMP_WITH_MPI)
  message(STATUS "MPI ${MPI_CXX_VERSION}: ${MPI_CXX_COMPILER}")
else()
  message(STATUS "MPI: none, so that amp-train does not run under mpirun")
endif()
