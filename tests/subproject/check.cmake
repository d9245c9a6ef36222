# cmake -DBUILD=<build tree> -DSOURCE=<source tree> -DWORK=<folder> -DLAUNCHER=<compiler launcher> -P check.cmake
# Configures and builds a small project that adds this one, and runs its program. <folder> stands beside the build tree
# and our flags are those of the release build, so that a compiler cache knows nearly all of it.
include(${CMAKE_CURRENT_LIST_DIR}/../run_and_check.cmake)

file(REMOVE_RECURSE ${WORK})
set(project -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK} -G Ninja -DAMP_SOURCE=${SOURCE}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})

# The parent's flags, and no build type.
run(${CMAKE_COMMAND} ${project} "-DCMAKE_CXX_FLAGS=-Wold-style-cast -Wshadow")
file(READ ${WORK}/compile_commands.json commands)
if(commands MATCHES "-Werror" OR NOT commands MATCHES "-Wold-style-cast")
  message(FATAL_ERROR "the parent's flags are not kept, or warnings are errors")
endif()

run(${CMAKE_COMMAND} ${project} -DCMAKE_CXX_FLAGS= -DCMAKE_BUILD_TYPE=Release -DEXPECTED_BUILD_TYPE=Release
  -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DAMP_WERROR=ON)
run(${CMAKE_COMMAND} --build ${WORK} --target example)
check_example(${WORK}/example)
