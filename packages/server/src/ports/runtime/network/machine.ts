/** What the machine says of its own network. */
import { execFile } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { promisify } from "node:util"

const USUAL_PACKET_BYTES = 1_500
const PACKET_BYTES_MIN = 576

/** Devices that lead to everywhere (proc(5), /proc/net/route). */
export const outerDevices = async (): Promise<readonly string[]> => {
  const table = await readFile("/proc/net/route", "utf8").catch(() => "")
  const rows = table.split("\n").map(row => row.split("\t"))
  return [...new Set(rows.flatMap(([name, target]) => (name && target === "00000000" ? [name] : [])))]
}

/** As large as fits through all of them. */
export const packetBytes = async (devices: readonly string[]): Promise<number> => {
  const sizes = await Promise.all(
    devices.map(async name => Number(await readFile(`/sys/class/net/${name}/mtu`, "utf8").catch(() => ""))),
  )
  return Math.min(USUAL_PACKET_BYTES, ...sizes.filter(size => size >= PACKET_BYTES_MIN))
}

const forwardingOf = (name: string) => `/proc/sys/net/ipv4/conf/${name}/forwarding`

/** Those of the devices that do not forward what comes in by them. */
export const notForwarding = async (devices: readonly string[]): Promise<readonly string[]> => {
  const states = await Promise.all(devices.map(name => readFile(forwardingOf(name), "utf8").catch(() => "1")))
  return devices.filter((_, index) => states[index]?.trim() === "0")
}

export const setForwarding = async (devices: readonly string[], isOn: boolean): Promise<void> => {
  for (const name of devices) await writeFile(forwardingOf(name), isOn ? "1" : "0")
}

/** Devices of gateways: whether another platform needs what this one switched on. */
export const devicesNamed = async (prefix: string): Promise<readonly string[]> => {
  const table = await readFile("/proc/net/dev", "utf8").catch(() => "")
  return table
    .split("\n")
    .map(row => row.split(":")[0]?.trim() ?? "")
    .filter(name => name.startsWith(prefix))
}

interface Listed {
  readonly nftables?: readonly {
    readonly chain?: {
      readonly table: string
      readonly name: string
      readonly hook?: string
      readonly policy?: string
    }
  }[]
}

/** Tables of others that forward nothing they were not told of: no table can overrule them. */
export const closedTables = async (nft: string): Promise<readonly string[]> => {
  const { stdout } = await promisify(execFile)(nft, ["-j", "list", "chains"])
  const { nftables = [] } = JSON.parse(stdout) as Listed
  return nftables.flatMap(({ chain }) =>
    chain?.hook === "forward" && chain.policy === "drop" ? [`${chain.table} ${chain.name}`] : [],
  )
}
