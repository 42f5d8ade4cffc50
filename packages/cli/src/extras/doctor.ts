/** `svc doctor`: what this machine and the platform can do, and the command that brings what is missing. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { type Svc, SvcError } from "@svc/sdk"
import type { OwnFlags } from "../arguments.ts"
import { type Connection, connect, NO_KEY } from "../connect.ts"
import { printable, printJson, printTable } from "../output.ts"
import { exitCodes, type Terminal, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"
import {
  type Check,
  checkDisk,
  checkKernel,
  checkMemory,
  checkNode,
  checkPort,
  findProgram,
} from "./machine.ts"

interface Program {
  readonly debianPackage: string
  readonly gives: string
  readonly areas: readonly string[]
}

const qemu = process.arch === "arm64" ? "qemu-system-aarch64" : "qemu-system-x86_64"
const workloads = ["sandboxes", "functions", "run", "compute", "build"]

/** Programs that an area uses where it finds them. No area but those of workloads needs any to be of use. */
const programs: Readonly<Record<string, Program>> = {
  perl: {
    debianPackage: "perl-base",
    gives: "workloads in plain namespaces",
    areas: [...workloads, "computers"],
  },
  bwrap: {
    debianPackage: "bubblewrap",
    gives: "workloads in namespaces, under a filter of system calls from their first program on",
    areas: [...workloads, "computers"],
  },
  "mkfs.ext4": {
    debianPackage: "e2fsprogs",
    gives: "size limits of workload disks",
    areas: ["sandboxes", "computers"],
  },
  nft: {
    debianPackage: "nftables",
    gives: "workloads that reach the Internet, and nothing else",
    areas: [...workloads, "computers"],
  },
  runsc: {
    debianPackage: "runsc",
    gives: "workloads behind the gVisor kernel",
    areas: [...workloads, "computers"],
  },
  [qemu]: {
    debianPackage: process.arch === "arm64" ? "qemu-system-arm" : "qemu-system-x86",
    gives: "workloads in virtual machines",
    areas: ["computers"],
  },
  docker: { debianPackage: "docker.io", gives: "workloads from images", areas: ["run", "compute", "build"] },
  git: { debianPackage: "git", gives: "sources from git hosts", areas: ["build", "integrations"] },
  psql: { debianPackage: "postgresql-client", gives: "svc db psql with a password", areas: ["databases"] },
  "redis-server": { debianPackage: "redis-server", gives: "an engine beyond one machine", areas: ["kv"] },
  wg: { debianPackage: "wireguard-tools", gives: "private networks between machines", areas: ["vpc"] },
}

interface FoundProgram {
  readonly program: string
  readonly path: string | undefined
}

export const doctorFlags: OwnFlags = {
  drivers: { type: "boolean", about: "Try each driver that runs sandboxes, computers and functions" },
}

export const doctorUsage = `svc doctor             looks only
svc doctor --drivers   also starts a workload with each driver, or the one that SVC_RUNTIME names; takes some seconds,
                       on the server's machine`

/** Where the server's files are beside these, as they are where it runs. */
const SERVER_DOCTOR = fileURLToPath(new URL("../../../server/bin/doctor.js", import.meta.url))

type Services = Awaited<ReturnType<Svc["identity"]["services"]>>["services"]

export const doctor: Extra = async (globals, _words, terminal, flags) => {
  const connection = await connect(globals, terminal, 0)
  const answers = await isUp(connection)
  const machine = [
    checkNode(),
    checkMemory(),
    await checkDisk(process.cwd()),
    await checkPort(connection.url, answers),
    ...(await checkKernel()),
  ]
  const found = await Promise.all(
    Object.keys(programs).map(async program => ({
      program,
      path: await findProgram(program, terminal.env.PATH),
    })),
  )
  const platform = answers ? await askServices(connection) : { note: "no server responds" }

  if (globals.json) {
    const drivers = flags.drivers ? { drivers: JSON.parse(await tryDrivers(terminal, ["--json"])) } : {}
    printJson({ machine, areas: areaReports(found), platform, ...drivers }, terminal.out)
  } else {
    show(machine, found, platform, terminal)
    if (flags.drivers) terminal.out.line(`\n${await tryDrivers(terminal, [])}`)
  }
  return machine.some(({ state }) => state === "wrong") ? exitCodes.refused : undefined
}

const tryDrivers = async ({ env }: Terminal, parameters: readonly string[]): Promise<string> => {
  if (!existsSync(SERVER_DOCTOR))
    throw new UsageError("the server is not on this machine; run svc doctor --drivers where it is", "doctor")
  const run = promisify(execFile)
  try {
    return (await run(process.execPath, [SERVER_DOCTOR, ...parameters], { env })).stdout.trimEnd()
  } catch (error) {
    throw new UsageError((error as { stderr?: string }).stderr?.trim() ?? String(error), "doctor")
  }
}

/** Whether what answers is a platform, in whatever health: every reply of one has a request id. */
const isUp = async ({ svc }: Connection): Promise<boolean> => {
  const reply = await svc.raw({ method: "GET", path: "/health", timeoutMs: 3000 }).catch(() => undefined)
  await reply?.body?.cancel()
  return reply?.headers.has("x-request-id") ?? false
}

interface Platform {
  readonly services?: Services
  /** Why there are none. */
  readonly note?: string
}

const askServices = async ({ svc, hasKey }: Connection): Promise<Platform> => {
  if (!hasKey) return { note: NO_KEY }
  try {
    return await svc.identity.services()
  } catch (error) {
    if (error instanceof SvcError) return { note: `${error.message} (${error.code})` }
    throw error
  }
}

/** For each area: the programs that it can use and which of them are here. */
const areaReports = (found: readonly FoundProgram[]) => {
  const areas = [...new Set(Object.values(programs).flatMap(program => program.areas))]
  return areas.map(area => {
    const used = found.filter(({ program }) => programs[program]?.areas.includes(area))
    const lacking = used.filter(({ path }) => path === undefined).map(({ program }) => program)
    return {
      area,
      found: used.filter(({ path }) => path !== undefined).map(({ program }) => program),
      lacking: lacking.map(program => ({ program, gives: programs[program]?.gives ?? "" })),
      install: lacking.length > 0 ? installCommand(lacking) : null,
    }
  })
}

const installCommand = (lacking: readonly string[]): string => {
  const packages = lacking.flatMap(program => programs[program]?.debianPackage ?? [])
  return `${process.getuid?.() === 0 ? "" : "sudo "}apt-get install ${packages.join(" ")}`
}

const show = (
  machine: readonly Check[],
  found: readonly FoundProgram[],
  { services, note }: Platform,
  { out, err }: Terminal,
): void => {
  out.line("This machine")
  for (const { name, state, detail } of machine)
    out.line(`  ${state.padEnd(7)}  ${name.padEnd(15)}  ${detail}`)

  out.line("\nWhat each area can use here")
  for (const { area, found: present, lacking, install } of areaReports(found)) {
    out.line(`  ${area.padEnd(12)}  has ${present.join(", ") || "none of its programs"}`)
    for (const { program, gives } of lacking) out.line(`  ${"".padEnd(12)}  lacks ${program}: ${gives}`)
    if (install) out.line(`  ${"".padEnd(12)}  ${install}`)
  }
  const absent = found.filter(({ path }) => path === undefined).map(({ program }) => program)
  if (absent.length > 0) out.line(`\nAll of it on Debian or Ubuntu:\n  ${installCommand(absent)}`)

  out.line("\nServer")
  if (services) {
    printTable(services.map(rowOf), out, err)
    for (const line of runtimeLines(services)) out.line(line)
  } else out.line(`  ${printable(note ?? "")}`)
}

/** What runs its workloads; the area of sandboxes tells. */
const runtimeLines = (services: Services): readonly string[] => {
  const { driver, isolation, reasons } = services.find(({ name }) => name === "sandboxes")?.capabilities ?? {}
  if (typeof driver !== "string") return []
  const flaws = Array.isArray(reasons) ? reasons : []
  return [
    `  workloads: ${driver === "none" ? "nothing runs them" : `${driver}, isolation ${isolation}`}; svc doctor --drivers tries all`,
    ...flaws.map(reason => `    ${reason}`),
  ].map(printable)
}

const rowOf = ({ name, status, reason, setting }: Services[number]) => ({ name, status, reason, setting })
