// Passes that need the compiler's target backends and flags work beside those written in Python.

// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --iree-hal-local-target-device-backends=vmvx \
// RUN:     --example-mark --iree-hal-assign-target-devices='targetDevices=local' \
// RUN:     --iree-hal-materialize-target-devices --iree-hal-resolve-device-aliases | filecheck %s
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt --iree-hal-local-target-device-backends vmvx %s \
// RUN:     --example-mark --iree-hal-assign-target-devices='targetDevices=local' \
// RUN:     --iree-hal-materialize-target-devices --iree-hal-resolve-device-aliases | filecheck %s

// CHECK: #hal.executable.target<"vmvx"
// CHECK: module attributes {example.mark = "here"
module {
  func.func @f() {
    return
  }
}
