// libsluice: the public C++ API, and the only header that is installed.
//
//   int main(int argc, char** argv) { return sluice::RunDaemon(argc, argv); }
#pragma once

namespace sluice {

// The daemon: reads the command line (`sluice --help` shows it) and the configuration file, serves
// until SHUTDOWN or a signal, and returns the process's exit code. Sentences about what is wrong go
// to standard error.
int RunDaemon(int argc, char** argv);

}  // namespace sluice
