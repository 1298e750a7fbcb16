// The smallest plug-in of the compiler. HEADERS is the hash of the headers of its plug-in interface, which the compiler
// prints when it refuses a plug-in with another one.
#include <stdbool.h>
#include <stdint.h>

static bool register_nothing(void *registrar) { return registrar != 0; }

static const struct {
  uint64_t headers;
  const char *id;
  const char *description;
  bool (*register_plugin)(void *);
} info = {HEADERS, "nothing", "registers nothing", register_nothing};

const void *iree_get_compiler_plugin_info(void) { return &info; }
