/** Machines of people, as network namespaces of this one: each has a cable to this machine, and WireGuard by `wg-quick`. */
import { execFile, execFileSync } from "node:child_process"
import { randomInt } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Ends } from "../../../testing/ends.ts"

const run = promisify(execFile)
const ip = (...args: readonly string[]) => execFileSync("ip", args, { stdio: "pipe" })

export interface Machine {
  /** Brings the file up with `wg-quick`, beside those that are up already. */
  join(config: string): Promise<void>
  /** Whether it gets an answer from the address. */
  reaches(address: string): Promise<boolean>
  run(program: string, ...args: readonly string[]): Promise<string>
}

/** The address of this machine at the end of the first cable; the other machines reach it too. */
export const createMachines = (t: Ends) => {
  const net = randomInt(1, 255)
  let count = 0
  const endpoint = `198.18.${net}.1`

  const machine = async (): Promise<Machine> => {
    const at = count++
    const name = `svct-${process.pid}-${at}`
    const cable = `svct${process.pid % 100_000}x${at}`
    const near = `198.18.${net}.${at * 4 + 1}`
    const folder = await mkdtemp(join(tmpdir(), "svc-vpc-machine-"))
    const devices: string[] = []
    ip("netns", "add", name)
    t.after(async () => {
      for (const device of devices)
        await run("ip", ["-n", name, "link", "del", device]).catch(() => undefined)
      await run("ip", ["link", "del", cable]).catch(() => undefined)
      await run("ip", ["netns", "del", name])
      await rm(folder, { recursive: true })
    })
    ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
    ip("address", "add", `${near}/30`, "dev", cable)
    ip("link", "set", cable, "up")
    ip("-n", name, "address", "add", `198.18.${net}.${at * 4 + 2}/30`, "dev", "eth0")
    ip("-n", name, "link", "set", "eth0", "up")
    ip("-n", name, "link", "set", "lo", "up")
    ip("-n", name, "route", "add", "default", "via", near)
    const within = async (program: string, ...args: readonly string[]) =>
      (await run("ip", ["netns", "exec", name, program, ...args])).stdout
    return {
      async join(config) {
        const device = `svct${process.pid % 100_000}m${at}${devices.length}`
        const file = join(folder, `${device}.conf`)
        await writeFile(file, config, { mode: 0o600 })
        devices.push(device)
        await within("wg-quick", "up", file)
      },
      reaches: address =>
        within("busybox", "ping", "-c", "1", "-W", "1", address).then(
          () => true,
          () => false,
        ),
      run: within,
    }
  }
  return { endpoint, machine }
}
