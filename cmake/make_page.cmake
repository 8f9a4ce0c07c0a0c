# cmake -DFOLDER=server/http/page -DMADE=page_text.cc -P make_page.cmake: see page.cmake.
#
# In index.html a line {{style}} stands for page.css, {{script}} for the scripts in the order of their names' list
# below, which are one program. List and semicolon mean something to CMake: texts are handled whole, and in quotes.

set(scripts elements format shown hints ask plots pages tiles graph waits locks limits panel keys slow disk actions main)

file(READ ${FOLDER}/index.html page)
file(READ ${FOLDER}/page.css style)
set(script "")
foreach(name IN LISTS scripts)
  file(READ ${FOLDER}/${name}.js part)
  string(APPEND script "${part}\n")
endforeach()
# Lines that are comments are for those who read the sources: a browser need not load them.
string(REGEX REPLACE "\n *//[^\n]*" "" script "\n${script}")
string(REPLACE "{{style}}" "${style}" page "${page}")
string(REPLACE "{{script}}" "${script}" page "${page}")

# A literal has a bound in some compilers; pieces that stand beside each other are one.
set(text "")
string(LENGTH "${page}" left)
set(at 0)
while(at LESS left)
  string(SUBSTRING "${page}" ${at} 8000 piece)
  string(APPEND text "R\"page_text(${piece})page_text\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${MADE} "// Made by cmake/make_page.cmake from server/http/page/.
#include \"server/http/front_page.h\"

namespace sluice {

const std::string_view kPageText =
${text};

}  // namespace sluice
")
