# The version of the package that this module belongs to. Before 1.0, a minor version may change
# what a major one may afterwards.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../__init__.py" _tcc_line REGEX "^__version__ = ")
string(REGEX REPLACE ".*\"([0-9.]+)[^\"]*\"" "\\1" PACKAGE_VERSION "${_tcc_line}")
string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" _tcc_series "${PACKAGE_VERSION}.")
string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" _tcc_wanted "${PACKAGE_FIND_VERSION}.0.")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT _tcc_wanted STREQUAL _tcc_series)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
