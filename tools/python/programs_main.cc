// The three programs in one file: the wheel holds what they have in common once. The name that it is called by chooses.
#include <cstdio>
#include <cstring>

// The mains of the programs, whose sources are compiled under these names (CMakeLists.txt).
int AmpRewriteMain(int argc, char** argv);
int AmpRunMain(int argc, char** argv);
int AmpTrainMain(int argc, char** argv);

int main(int argc, char** argv) {
  const char* const path = argc > 0 ? argv[0] : "";
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  if (std::strcmp(name, "amp-rewrite") == 0) return AmpRewriteMain(argc, argv);
  if (std::strcmp(name, "amp-run") == 0) return AmpRunMain(argc, argv);
  if (std::strcmp(name, "amp-train") == 0) return AmpTrainMain(argc, argv);
  std::fprintf(stderr, "expected the name amp-rewrite, amp-run or amp-train, found '%s'\n", name);
  return 2;
}
