/** What tests of the network of workloads stand on: a machine of their own with an Internet, in network namespaces. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { programIn } from "../drivers/process/host.ts"

export const internet = {
  /** Where all its servers answer, by TCP and UDP. */
  port: 7000,
  /** Public, and nobody's here. */
  servers: ["93.184.216.34", "93.184.216.35", "93.184.217.36", "45.90.28.1"],
  /** Such as belong to a private network or a cloud's own services, with servers too. */
  inside: [
    ...["169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "10.9.9.9", "10.64.0.9"],
    ...["172.16.5.5", "192.168.7.7", "100.64.9.9", "198.18.0.5", "192.0.2.5", "203.0.113.5"],
  ],
  /** The machine's next hop, and the machine itself, whose address is public as well. */
  router: "81.2.69.2",
  machine: "81.2.69.1",
} as const

const ip = (...args: readonly string[]) => execFileSync("ip", args, { stdio: "pipe" })

/** Why networks of workloads cannot be tested here; false when they can. */
export const withoutNetworks = async (): Promise<string | false> => {
  if (process.getuid?.() !== 0) return "only root can make networks"
  const needed = { nft: "nftables", ip: "iproute2", unshare: "util-linux" }
  for (const [program, name] of Object.entries(needed))
    if ((await programIn(program)) === undefined) return `the package ${name} is missing`
  return false
}

/** In a network namespace that is this process's alone. It ends with the process, and does not keep it. */
export const openLab = async (): Promise<void> => {
  const program = fileURLToPath(new URL("internet.ts", import.meta.url))
  const child: ChildProcess = spawn("unshare", ["--net", process.execPath, program], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  const { stdin, stdout, pid } = child
  if (!stdin || !stdout || pid === undefined) throw new Error("the Internet did not start")
  await once(stdout, "data")
  ip("link", "set", "lo", "up")
  ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", String(pid))
  ip("address", "add", `${internet.machine}/24`, "dev", "near")
  ip("link", "set", "near", "up")
  // As machines are before somebody makes them a router.
  await writeFile("/proc/sys/net/ipv4/ip_forward", "0")
  stdin.write("begin\n")
  await once(stdout, "data")
  ip("route", "add", "default", "via", internet.router)
  child.unref()
  for (const stream of [stdin, stdout]) (stream as Socket).unref()
}
