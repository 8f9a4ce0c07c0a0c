// The entry of the program.
#include "server/program/daemon.h"

#ifdef SLUICE_STATIC
#include <nss.h>
#endif

int main(int argc, char** argv) {
#ifdef SLUICE_STATIC
  // The machine's modules for host names belong to another glibc: only those inside are asked.
  __nss_configure_lookup("hosts", "files dns");
#endif
  return sluice::RunDaemon(argc, argv);
}
