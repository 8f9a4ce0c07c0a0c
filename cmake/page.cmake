# The page of the HTTP port: one file of HTML with its style and its script inside, made from the sources in
# server/http/page/ and put into the program as a text. CMake alone does it, so that every build of the library can.
#
#   sluice_page(target)     adds it to a library

function(sluice_page target)
  set(folder ${PROJECT_SOURCE_DIR}/server/http/page)
  file(GLOB parts CONFIGURE_DEPENDS ${folder}/*.html ${folder}/*.css ${folder}/*.js)
  set(made ${PROJECT_BINARY_DIR}/page_text.cc)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DMADE=${made} -P ${PROJECT_SOURCE_DIR}/cmake/make_page.cmake
    DEPENDS ${parts} ${PROJECT_SOURCE_DIR}/cmake/make_page.cmake VERBATIM
    COMMENT "Making the page of the HTTP port")
  target_sources(${target} PRIVATE ${made})
endfunction()
