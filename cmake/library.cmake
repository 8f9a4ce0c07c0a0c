# libsluice: what a host program links. Everything that the database consists of, with Lua, abseil and the rest
# that Debian has as archives, becomes one object in which only the API is visible; of it are made
#
#   libsluice.so   sluice_* alone (server/embed/sluice_c.h), with a soname
#   libsluice.a    sluice_* and the C++ API, for programs in C++; with the server and its Boost
#
# So a host may have a Lua, an abseil, an OpenSSL, a Boost of its own, of any version. Targets: sluice::sluice (static,
# C++ and C), sluice::c (shared, C).

include(GNUInstallDirs)

# --- one object of each
sluice_library(sluice_linked server/linked absl::flat_hash_map)
set(server_parts ${sluice_libraries})
list(REMOVE_ITEM server_parts sluice_program)
list(REVERSE server_parts)
set(database_parts ${server_parts})
list(REMOVE_ITEM database_parts sluice_serving sluice_net sluice_spaces sluice_http)
foreach(name raw_hash_set hash city low_level_hash throw_delegate raw_logging_internal bad_optional_access
    bad_variant_access int128 time time_zone civil_time strings strings_internal base spinlock_wait)
  get_target_property(archive absl::${name} IMPORTED_LOCATION_NONE)
  list(APPEND archives ${archive})
endforeach()
get_target_property(crypto OpenSSL::Crypto IMPORTED_LOCATION)
list(APPEND archives ${LUA_BITOP_LIBRARY} ${LUA_LIBRARY} ${XXHASH_LIBRARY} ${crypto})

# sluice_merge(object whole parts...): `whole` are the parts that hold the API.
function(sluice_merge object whole)
  set(merged ${PROJECT_BINARY_DIR}/${object})
  set(whole_files "")
  set(part_files "")
  foreach(part ${whole})
    list(APPEND whole_files $<TARGET_FILE:${part}>)
  endforeach()
  # Those that are whole already must not come again for a template that abseil lacks.
  set(parts ${ARGN})
  list(REMOVE_ITEM parts ${whole})
  foreach(part ${parts})
    list(APPEND part_files $<TARGET_FILE:${part}>)
  endforeach()
  add_custom_command(OUTPUT ${merged}
    COMMAND ${CMAKE_LINKER} -r -d --force-group-allocation -o ${merged}
      --wrap=stdin --wrap=stdout --wrap=stderr
      --wrap=_ZNSt8ios_base4InitC1Ev --wrap=_ZNSt8ios_base4InitD1Ev
      --whole-archive ${whole_files} --no-whole-archive --start-group ${part_files} ${archives} --end-group
    # g++'s unique symbols cannot be hidden as they are. (nm may show those of the compiler's own form instead.)
    COMMAND sh -c "${CMAKE_READELF} -sW ${merged} | sed -n 's/.* UNIQUE .* //p' > ${merged}.unique"
    COMMAND ${CMAKE_OBJCOPY} --weaken-symbols=${merged}.unique ${merged}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=sluice_*
      --keep-global-symbol=_ZN*6sluice2v1* --keep-global-symbol=_ZT?N6sluice2v1*
      --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_* ${merged}
    DEPENDS ${ARGN} VERBATIM
    COMMENT "Linking ${object} as one object")
  set_source_files_properties(${merged} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()
sluice_merge(libsluice.o "sluice_database;sluice_linked" ${database_parts})
sluice_merge(libsluice_server.o "sluice_serving;sluice_database;sluice_linked" ${server_parts})
add_custom_target(sluice_merged DEPENDS ${PROJECT_BINARY_DIR}/libsluice.o ${PROJECT_BINARY_DIR}/libsluice_server.o)

# --- the two libraries
set(system_libraries ${LZF_LINK_LIBRARIES} m ${CMAKE_DL_LIBS})
add_library(sluice_shared SHARED ${PROJECT_BINARY_DIR}/libsluice.o)
add_dependencies(sluice_shared sluice_merged)
set_target_properties(sluice_shared PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME sluice EXPORT_NAME c
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_options(sluice_shared PRIVATE -static-libstdc++ -static-libgcc -Wl,-Bsymbolic
  -Wl,--as-needed -Wl,-z,defs -Wl,-z,pack-relative-relocs -Wl,-O1
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/symbols.map)
set_property(TARGET sluice_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/symbols.map)
target_link_libraries(sluice_shared PRIVATE ${system_libraries})

add_library(sluice_static STATIC ${PROJECT_BINARY_DIR}/libsluice_server.o)
add_dependencies(sluice_static sluice_merged)
set_target_properties(sluice_static PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME sluice EXPORT_NAME sluice)
target_link_libraries(sluice_static INTERFACE lzf m ${CMAKE_DL_LIBS})

foreach(library sluice_shared sluice_static)
  target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${SLUICE_INCLUDE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_compile_features(sluice_static INTERFACE cxx_std_20)
add_library(sluice::sluice ALIAS sluice_static)
add_library(sluice::c ALIAS sluice_shared)

# --- what is installed
# A tree in which the server alone was built (tools/run) gets the libraries now, as `make install` would do it.
if(PROJECT_IS_TOP_LEVEL)
  install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target sluice sluice_shared
    sluice_static OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)")
endif()
install(TARGETS sluice_shared sluice_static EXPORT sluice-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${SLUICE_INCLUDE_DIR}/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sluice-targets NAMESPACE sluice:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sluice-config-version.cmake
  COMPATIBILITY SameMinorVersion)
file(WRITE ${PROJECT_BINARY_DIR}/sluice-config.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/sluice-targets.cmake)\n")
install(FILES ${PROJECT_BINARY_DIR}/sluice-config.cmake
  ${PROJECT_BINARY_DIR}/sluice-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
file(RELATIVE_PATH SLUICE_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(package sluice sluice-cxx)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
