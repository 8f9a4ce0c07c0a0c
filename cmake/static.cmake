# SLUICE_STATIC: a program that needs nothing of its machine but the kernel. All libraries are Debian's archives, but for
# two that Debian has as shared ones alone: liblzf is compiled from the sources in its package, mimalloc from those that
# tools/lib/mimalloc.sh fetches. glibc's own is inside as well, and so is OpenSSL.

enable_language(C)
set(SLUICE_MIMALLOC_DIR "" CACHE PATH "Sources of mimalloc (tools/lib/mimalloc.sh)")
if(NOT EXISTS ${SLUICE_MIMALLOC_DIR}/src/static.c)
  message(FATAL_ERROR "SLUICE_STATIC wants the sources of mimalloc in SLUICE_MIMALLOC_DIR: tools/package --portable has them")
endif()

add_library(sluice_lzf STATIC /usr/src/liblzf/lzf_c.c /usr/src/liblzf/lzf_d.c)
target_include_directories(sluice_lzf PRIVATE /usr/src/liblzf ${LZF_INCLUDE_DIRS})
target_compile_options(sluice_lzf PRIVATE -w -fno-lto)
set(LZF_LINK_LIBRARIES sluice_lzf)

# An object, for an archive's would come too late: malloc is defined before glibc's is looked for.
add_library(sluice_mimalloc OBJECT ${SLUICE_MIMALLOC_DIR}/src/static.c)
target_include_directories(sluice_mimalloc PRIVATE ${SLUICE_MIMALLOC_DIR}/include)
target_compile_definitions(sluice_mimalloc PRIVATE MI_MALLOC_OVERRIDE)
target_compile_options(sluice_mimalloc PRIVATE -w -fno-lto -ftls-model=local-exec)

# The functions of OpenSSL are linked, not looked for. Its macros say where they stand: in the tree, wherever that is.
function(sluice_static_tls library)
  target_compile_definitions(${library} PRIVATE SLUICE_STATIC)
  target_compile_options(${library} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_link_libraries(${library} PUBLIC OpenSSL::SSL OpenSSL::Crypto)
endfunction()

function(sluice_static_program program)
  target_compile_definitions(${program} PRIVATE SLUICE_STATIC)
  target_link_libraries(${program} PRIVATE sluice_mimalloc)
  target_link_options(${program} PRIVATE -static-pie)
endfunction()
