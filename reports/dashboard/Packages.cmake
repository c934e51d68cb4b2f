# What the page takes from the npm registry: its charts and its typeface, two packages that depend on nothing, which spare
# a build npm and the hundreds of packages behind it.
# Sets chart_library, chart_js, chart_css, notices and font: all empty, and charts_absent the reason, where no registry can
# be reached. The page then has its tables and no plots.
option(MLA_CHARTS "Draw the dashboard's charts; their library is fetched when the build is configured" ON)
set(MLA_PACKAGE_REGISTRY https://registry.npmjs.org CACHE STRING "Registry that serves npm packages")

set(packages ${CMAKE_CURRENT_BINARY_DIR}/packages)
set(charts_absent "")
foreach(part chart_library chart_js chart_css notices font)
  set(${part} "")
endforeach()

# Fetches a version of a package, once a build folder, and unpacks it as ${packages}/<name>/package. The digest is what
# pins it: the registry lists it, in base64, as the version's dist.integrity. On failure `result` gets the reason.
function(fetch_package name version sha512 result)
  set(${result} "" PARENT_SCOPE)
  set(folder ${packages}/${name})
  if(EXISTS ${folder}/${version})
    return()
  endif()
  string(REGEX REPLACE ".*/" "" file ${name})
  set(archive ${packages}/${file}-${version}.tgz)
  file(REMOVE_RECURSE ${folder})
  file(DOWNLOAD ${MLA_PACKAGE_REGISTRY}/${name}/-/${file}-${version}.tgz ${archive}
    TIMEOUT 60 INACTIVITY_TIMEOUT 20 STATUS status)
  list(POP_FRONT status code)
  if(NOT code EQUAL 0)
    set(${result} "${name} could not be fetched when this was built: ${status}" PARENT_SCOPE)
    return()
  endif()
  file(SHA512 ${archive} found)
  if(NOT found STREQUAL sha512)
    set(${result} "${name} ${version} had another digest when this was built" PARENT_SCOPE)
    return()
  endif()
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${folder})
  file(WRITE ${folder}/${version} "")
endfunction()

set(uplot_version 1.6.32)
if(NOT MLA_CHARTS)
  set(charts_absent "built with MLA_CHARTS=OFF")
else()
  fetch_package(uplot ${uplot_version}
    2883159c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935c89a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023
    charts_absent)
  if(NOT charts_absent)
    fetch_package(@fontsource-variable/inter 5.3.0
      3aea4be3cbdae093687dbf7bc3a358785f52ed6fe41cd28cd04afc0de9b99ea8b88de38bad5243a04f2d644a673099ad92f35b0751083cfc0771d905e9bd6850
      charts_absent)
  endif()
endif()

if(charts_absent)
  message(STATUS "Dashboard without charts: ${charts_absent}")
  string(REGEX REPLACE "[^A-Za-z0-9 =:.,/_-]" "" charts_absent "${charts_absent}")
else()
  set(chart_library "uPlot ${uplot_version}")
  set(uplot ${packages}/uplot/package)
  set(inter ${packages}/@fontsource-variable/inter/package)
  file(READ ${uplot}/dist/uPlot.iife.min.js chart_js)
  file(READ ${uplot}/dist/uPlot.min.css chart_css)
  file(READ ${uplot}/LICENSE uplot_licence)
  file(READ ${inter}/LICENSE inter_licence)
  set(notices "uPlot\n${uplot_licence}\nInter\n${inter_licence}")
  file(READ ${inter}/files/inter-latin-wght-normal.woff2 font HEX)
  string(REGEX REPLACE "(..)" "0x\\1," font "${font}")
endif()
