// An index that is out of range ends a build that checks indices, rather than reading what lies there.
#include "ir/base/ids.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/catch2.h"

namespace amp {
namespace {

using Place = Id<struct PlaceTag>;

// Whether a process that does this is ended by SIGABRT.
template <typename Action>
bool Aborts(const Action& action) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL);
    action();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST_CASE("indices inside are taken as they are") {
  const IdVector<Place, int> numbers = {1, 2, 3};
  const IdVector<Place, bool> flags(3, true);
  const IdRows<Place, int> rows(2, {{Place(1), 7}, {Place(0), 5}});
  CHECK(numbers[Place(2)] == 3);
  CHECK(flags[Place(0)]);
  CHECK(rows.Row(Place(1)).front() == 7);
}

#ifdef AMP_CHECKED_INDEX
TEST_CASE("kNone and the id behind the last one end the program") {
  const IdVector<Place, int> numbers = {1, 2, 3};
  const IdVector<Place, bool> flags(3, true);
  const IdRows<Place, int> rows(2, {{Place(1), 7}});
  volatile int seen = 0;  // so that no read is left out
  for (const Place wrong : {Place(), Place(3)}) {
    CHECK(Aborts([&] { seen = numbers[wrong]; }));
    CHECK(Aborts([&] { seen = flags[wrong] ? 1 : 0; }));
    CHECK(Aborts([&] { seen = static_cast<int>(rows.Row(wrong).size()); }));
  }
  CHECK_FALSE(Aborts([&] { seen = numbers[Place(0)]; }));
}
#endif

}  // namespace
}  // namespace amp
