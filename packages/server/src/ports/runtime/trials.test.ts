import assert from "node:assert/strict"
import { test } from "node:test"
import { createAbsentRuntime } from "./absent.ts"
import { driversByName, driversForOwnCode, openRuntime, packagesOf, runtimeDrivers } from "./index.ts"
import { renderTrials } from "./trials.ts"

const { capabilities } = createAbsentRuntime("nothing is there")

test("an operator reads of each driver whether it works, what is weak about it, and what it takes", () => {
  const told = renderTrials(
    [
      { driver: "gvisor", found: "runsc is missing", packages: ["runsc", "e2fsprogs"] },
      { driver: "process", found: { ...capabilities, driver: "process", reasons: ["there are no disks"] } },
    ],
    { demand: "auto", chosen: { ...capabilities, driver: "process" } },
  )
  assert.match(
    told,
    /gvisor +does not work: runsc is missing\n.*npm run host -- gvisor \(packages: runsc, e2fsprogs\)\n/,
  )
  assert.match(told, /process +works; isolation process\n +there are no disks\n/)
  assert.match(told, /SVC_RUNTIME=auto, process runs them/)
  const none = renderTrials([], { demand: "gvisor", chosen: capabilities })
  assert.match(none, /With SVC_RUNTIME=gvisor nothing runs them: nothing is there/)
})

test("production leaves nothing to run code of strangers on this machine's kernel by itself", async () => {
  const dataDir = "/nonexistent"
  for (const demand of driversForOwnCode) {
    await using runtime = await openRuntime({ dataDir, log() {}, demand, refusesWeak: true })
    assert.equal(runtime.capabilities.driver, "none")
    assert.match(
      (await runtime.health()).reason ?? "",
      new RegExp(`${demand}: SVC_MODE=production refuses it`),
    )
  }
  assert.deepEqual(driversForOwnCode, ["bubblewrap", "process"])
  assert.deepEqual(driversByName, ["qemu", "kubernetes", "docker"])
})

test("each driver names the packages that it takes, and the order is from strong to weak", () => {
  // A cluster's nodes are not this machine.
  for (const name of runtimeDrivers) assert.equal(packagesOf(name).length > 0, name !== "kubernetes", name)
  const order = ["qemu", "gvisor", "kubernetes", "docker", "bubblewrap", "process"]
  assert.deepEqual(
    runtimeDrivers,
    order.filter(name => runtimeDrivers.some(known => known === name)),
  )
})
