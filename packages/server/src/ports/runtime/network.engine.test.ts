import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { rmSync } from "node:fs"
import { mkdir, mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { after, before, describe, test } from "node:test"
import { fileURLToPath } from "node:url"
import { type DnsServer, startDns } from "../../testing/dns.ts"
import { PortError } from "../port-error.ts"
import { gatewayTests } from "./conformance/gateway.ts"
import { gatewayDevices, type NetworkSubject, networkTests } from "./conformance/network.ts"
import { openBubblewrapRuntime } from "./drivers/bubblewrap/driver.ts"
import { openDockerRuntime } from "./drivers/docker/driver.ts"
import { openGvisorRuntime } from "./drivers/gvisor/driver.ts"
import { openProcessRuntime } from "./drivers/process/driver.ts"
import { openQemuRuntime } from "./drivers/qemu/driver.ts"
import type { NetworkDemand } from "./network/demand.ts"
import type { RuntimePort } from "./port.ts"
import { openWithDockerd } from "./testing/dockerd.ts"
import { openLab, withoutNetworks } from "./testing/lab.ts"

const log = () => undefined

/** Set for the process that the tests run in: one in a network namespace of its own. */
const LAB_VARIABLE = "SVC_TEST_NETWORK_LAB"

type Open = (options: { dataDir: string; log: () => void; network: NetworkDemand }) => Promise<RuntimePort>

const drivers: Record<string, Open> = {
  process: openProcessRuntime,
  bubblewrap: openBubblewrapRuntime,
  gvisor: options => openGvisorRuntime({ ...options, isDemanded: true, runsc: process.env.SVC_RUNSC }),
  docker: options => openWithDockerd(dockerHost => openDockerRuntime({ ...options, dockerHost })),
  qemu: options => openQemuRuntime({ ...options, isDemanded: true, qemuKernel: process.env.SVC_QEMU_KERNEL }),
}

/** Why a driver cannot be tested; false when it can. What it makes once is there the next time. */
const without = async (open: Open, dataDir: string): Promise<string | false> => {
  try {
    await using runtime = await open({ dataDir, log, network: { mode: "auto", nameServers: [] } })
    return runtime.capabilities.network === "none" && (runtime.capabilities.reasons.at(-1) ?? "no network")
  } catch (error) {
    if (error instanceof PortError) return error.message
    throw error
  }
}

const conformance = (driver: string, open: Open, dataDir: string): void => {
  describe(`${driver} keeps workloads to the network that they were given`, () => {
    const cleanups: (() => unknown)[] = []
    let opened: { runtime: RuntimePort; dns: DnsServer } | undefined
    const given = () => {
      if (!opened) throw new Error("the driver is not open")
      return opened
    }
    const subject: NetworkSubject = {
      get runtime() {
        return given().runtime
      },
      get dns() {
        return given().dns
      },
    }
    before(async () => {
      const dns = await startDns({ after: cleanup => void cleanups.push(cleanup) })
      const network = { mode: "filtered", nameServers: [dns.address] } as const
      opened = { runtime: await open({ dataDir, log, network }), dns }
      assert.equal(opened.runtime.capabilities.network, "filtered")
    })
    networkTests(subject)
    after(async () => {
      await opened?.runtime[Symbol.asyncDispose]()
      for (const cleanup of cleanups.reverse()) await cleanup()
      assert.deepEqual(await gatewayDevices(), [])
      assert.equal(String(execFileSync("nft", ["list", "ruleset"])), "")
    })
  })
}

const inLab = process.env[LAB_VARIABLE] !== undefined
const skip = await withoutNetworks()

if (inLab) {
  await openLab()
  const folder = await mkdtemp(join(tmpdir(), "svc-network-"))
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
  const tried: (readonly [name: string, open: Open, dataDir: string, reason: string | false])[] = []
  for (const [name, open] of Object.entries(drivers)) {
    const dataDir = join(folder, name)
    await mkdir(dataDir)
    tried.push([name, open, dataDir, await without(open, dataDir)])
  }
  for (const [name, open, dataDir, reason] of tried)
    if (reason) test(`${name} keeps workloads to the network that they were given`, { skip: reason })
    else conformance(name, open, dataDir)
  gatewayTests()
} else
  test("workloads reach what they may and nothing else", { skip }, async t => {
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
    const args = ["--net", process.execPath, "--test", fileURLToPath(import.meta.url)]
    const program = spawn("unshare", args, {
      env: { ...inherited, [LAB_VARIABLE]: "1" },
      stdio: ["ignore", "pipe", "inherit"],
    })
    t.after(() => program.kill("SIGKILL"))
    const [said, [code]] = await Promise.all([text(program.stdout), once(program, "close")])
    assert.equal(code, 0, said)
    assert.match(said, /pass [1-9]\d/)
  })
