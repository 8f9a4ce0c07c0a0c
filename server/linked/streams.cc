// The standard streams for Lua in libsluice.so. Debian's archive of Lua is made for programs, whose
// own copy of `stdout` it would read; a library has none, so the linker gives Lua these (--wrap).
//
// They are what they are named for before any code of the library can run.
//
// C++'s streams are not used; but abseil's headers have every unit see to it that they are made,
// which would take a program longer than all else that it does to load the library. So that comes
// to nothing here.
#include <cstdio>

extern "C" {
extern FILE* __real_stdin;
extern FILE* __real_stdout;
extern FILE* __real_stderr;
FILE* __wrap_stdin;
FILE* __wrap_stdout;
FILE* __wrap_stderr;
void __wrap__ZNSt8ios_base4InitC1Ev() {}
void __wrap__ZNSt8ios_base4InitD1Ev() {}
}

namespace {

__attribute__((constructor(101))) void Take() {
  __wrap_stdin = __real_stdin;
  __wrap_stdout = __real_stdout;
  __wrap_stderr = __real_stderr;
}

}  // namespace
