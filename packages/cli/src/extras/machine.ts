/** What this machine has, found out without changing anything and without starting any of it. */
import { constants } from "node:fs"
import { access, readFile, statfs } from "node:fs/promises"
import { createServer } from "node:net"
import { freemem, totalmem } from "node:os"
import { delimiter, join } from "node:path"

export interface Check {
  readonly name: string
  readonly state: "ok" | "lacking" | "wrong"
  readonly detail: string
}

const GIB = 1024 ** 3
const DISK_FREE_BYTES_MIN = 2 * GIB
const MEMORY_BYTES_MIN = GIB

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`

/** The path of a program, searched as a shell would but without one. */
export const findProgram = async (program: string, path: string | undefined): Promise<string | undefined> => {
  // Programs of the administrator are often outside the PATH of a person.
  const folders = [...(path ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin", "/sbin"]
  for (const folder of folders.filter(name => name !== "")) {
    const file = join(folder, process.platform === "win32" ? `${program}.exe` : program)
    if (await canAccess(file, constants.X_OK)) return file
  }
  return undefined
}

const canAccess = (file: string, mode: number): Promise<boolean> =>
  access(file, mode).then(
    () => true,
    () => false,
  )

export const checkNode = (): Check => {
  const { node } = process.versions
  const fits = Number(node.split(".")[0]) >= 24
  return {
    name: "node",
    state: fits ? "ok" : "lacking",
    detail: fits ? node : `${node} runs this command; the server needs 24, which npm ci brings`,
  }
}

export const checkDisk = async (folder: string): Promise<Check> => {
  const { bavail, bsize } = await statfs(folder)
  const freeBytes = bavail * bsize
  return {
    name: "disk",
    state: freeBytes < DISK_FREE_BYTES_MIN ? "wrong" : "ok",
    detail: `${gib(freeBytes)} free in ${folder}${freeBytes < DISK_FREE_BYTES_MIN ? `, needs ${gib(DISK_FREE_BYTES_MIN)}` : ""}`,
  }
}

export const checkMemory = (): Check => ({
  name: "memory",
  state: totalmem() < MEMORY_BYTES_MIN ? "wrong" : "ok",
  detail: `${gib(totalmem())}, ${gib(freemem())} free`,
})

/** Whether the platform runs at the address, or could be started there. */
export const checkPort = async (url: string, answers: boolean): Promise<Check> => {
  const { hostname, port, protocol } = new URL(url)
  const name = `port ${port || (protocol === "https:" ? 443 : 80)}`
  if (answers) return { name, state: "ok", detail: `a platform answers at ${url}` }
  if (!["127.0.0.1", "localhost", "[::1]"].includes(hostname))
    return { name, state: "wrong", detail: `nothing answers at ${url}` }
  return (await canListen(Number(port)))
    ? { name, state: "ok", detail: "free; npm start starts a server" }
    : { name, state: "wrong", detail: "taken by another program; set SVC_PORT to start elsewhere" }
}

const canListen = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

/** What the Linux kernel lends to workloads; other systems have neither. */
export const checkKernel = async (): Promise<readonly Check[]> => {
  if (process.platform !== "linux") return []
  const namespaces = Number(await readFile("/proc/sys/user/max_user_namespaces", "utf8").catch(() => "0"))
  const kvm = await canAccess("/dev/kvm", constants.R_OK | constants.W_OK)
  return [
    {
      name: "user namespaces",
      state: namespaces > 0 ? "ok" : "lacking",
      detail: namespaces > 0 ? "on" : "off: workloads are isolated only if the server is started as root",
    },
    {
      name: "kvm",
      state: kvm ? "ok" : "lacking",
      detail: kvm ? "/dev/kvm can be used" : "/dev/kvm cannot be used: virtual machines are emulated, slowly",
    },
  ]
}
