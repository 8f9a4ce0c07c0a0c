// C++'s standard streams, of which the server uses none: abseil's headers have every unit see to it
// that they are made, and with them the locale, which would be a tenth of a start. This replaces
// the code of the standard library that makes them, which is then not linked.
#include <ios>

std::ios_base::Init::Init() {}
std::ios_base::Init::~Init() {}
