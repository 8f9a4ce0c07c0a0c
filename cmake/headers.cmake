# The public headers under the names that they have when they are installed: <sluice/...>.
set(SLUICE_HEADERS database.h limits.h reply.h serving/server.h serving/testing.h shared_database.h
  sluice_c.h time_source.h)
set(SLUICE_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
foreach(header ${SLUICE_HEADERS})
  set(source ${PROJECT_SOURCE_DIR}/server/embed/${header})
  get_filename_component(name ${header} NAME)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REGEX REPLACE "#include \"server/embed/(serving/)?" "#include \"sluice/" text "${text}")
  file(GENERATE OUTPUT ${SLUICE_INCLUDE_DIR}/sluice/${name} CONTENT "${text}")
endforeach()
