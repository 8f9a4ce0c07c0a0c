// C++'s standard streams, of which the server uses none: abseil's headers have every unit see to it
// that they are made, and with them the locale, which would be a tenth of a start. What makes them
// in the standard library is replaced by this, and is then not linked.
#include <ios>

std::ios_base::Init::Init() {}
std::ios_base::Init::~Init() {}
