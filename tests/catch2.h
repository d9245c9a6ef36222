// Catch2 3 or 2.13, whichever the system has.
#ifndef AMP_TESTS_CATCH2_H_
#define AMP_TESTS_CATCH2_H_

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#endif  // AMP_TESTS_CATCH2_H_
