// Catch2 2.13's main in a target of its own: it takes 12 s to compile, once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
