/** `svc functions deploy` and `logs`: the operations of the API with files and names in place of their fields. */
import { readdir, readFile, stat } from "node:fs/promises"
import { extname, join, relative, sep } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { parseEnv } from "node:util"
import { type Svc, SvcError } from "@svc/sdk"
import type { Flags, Globals, OwnFlags } from "../arguments.ts"
import { connect, NO_KEY } from "../connect.ts"
import { printable, printJson, printReply } from "../output.ts"
import { type Terminal, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"

export const deployFlags: OwnFlags = {
  runtime: { type: "string", about: "nodejs, python3 or wasm; detected from the files when left out" },
  handler: { type: "string", about: "index.handler when left out" },
  "memory-mb": { type: "string", about: "Memory of an instance" },
  "timeout-seconds": { type: "string", about: "The longest an invocation may take" },
  "env-file": { type: "string", about: "A file of NAME=value lines" },
  public: { type: "boolean", about: "Its URL needs no key" },
}

export const deployUsage = `svc functions deploy <name> <path> [--runtime <name>] [--handler <file.function>] [--env-file <file>] [--public]

The path is a file of code, a .zip, or a folder with all its files, of any kind. A function of that name is deployed anew.
Dependencies are part of the folder (npm install; pip install -r requirements.txt -t .), or bundled into the code.`

export const logsFlags: OwnFlags = {
  follow: { type: "boolean", short: "f", about: "Follow new lines" },
  limit: { type: "string", about: "Lines to begin with; 100 when left out" },
}

export const logsUsage = `svc functions logs <name> [-f] [--limit <lines>]    with --json one JSON document a line`

type DeployInput = Parameters<Svc["functions"]["create"]>[0]
type Code = Pick<DeployInput, "code" | "code_zip" | "files">

const FOLLOW_EVERY_MS = 1_000
const FILES_MAX = 5_000
/** The system that made an archive, in its format: file modes are those of Unix. */
const UNIX = 3
const LINES_MAX = 1_000

const connected = async (globals: Globals, terminal: Terminal): Promise<Svc> => {
  const { svc, hasKey } = await connect(globals, terminal)
  if (!hasKey) throw new UsageError(NO_KEY)
  return svc
}

interface ReadCode {
  readonly code: Code
  /** Paths in a folder. */
  readonly names: readonly string[]
}

/** As a zip, which carries bytes of any kind and who may execute a file. */
const readFolder = async (folder: string): Promise<ReadCode> => {
  const files: Record<string, [Uint8Array, { os: number; attrs: number }]> = {}
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(folder, path).split(sep).join("/")
    if (!entry.isFile() || name.split("/").includes(".git")) continue
    const { mode } = await stat(path)
    files[name] = [await readFile(path), { os: UNIX, attrs: mode << 16 }]
    if (Object.keys(files).length > FILES_MAX)
      throw new UsageError(`${folder} has more than ${FILES_MAX} files`)
  }
  const names = Object.keys(files)
  if (names.length === 0) throw new UsageError(`${folder} has no files`)
  const { zipSync } = await import("fflate")
  return { code: { code_zip: Buffer.from(zipSync(files)).toString("base64") }, names }
}

const readCode = async (path: string): Promise<ReadCode> => {
  const found = await stat(path).catch(() => undefined)
  if (!found) throw new UsageError(`there is no ${path}`, "functions deploy")
  if (found.isDirectory()) return readFolder(path)
  const bytes = await readFile(path)
  return { code: codeOfFile(extname(path), bytes), names: [] }
}

const codeOfFile = (ending: string, bytes: Buffer): Code => {
  if (ending === ".wasm") return { code: bytes.toString("base64") }
  if (ending === ".zip") return { code_zip: bytes.toString("base64") }
  if (ending === ".js" || ending === ".py") return { code: bytes.toString() }
  return { files: { [`index${ending}`]: bytes.toString() } }
}

const runtimeOf = (path: string, { names }: ReadCode): string => {
  if (extname(path) === ".wasm") return "wasm"
  return extname(path) === ".py" || names.includes("index.py") ? "python3" : "nodejs"
}

const textOf = (value: string | true | undefined): string | undefined =>
  typeof value === "string" ? value : undefined

const numberOf = (flags: Flags, name: string): number | undefined => {
  const text = textOf(flags[name])
  if (text === undefined) return undefined
  if (!/^\d+$/.test(text)) throw new UsageError(`not a number: ${text}`, "functions deploy")
  return Number(text)
}

const settingsOf = async (flags: Flags): Promise<Omit<DeployInput, "name">> => {
  const envFile = textOf(flags["env-file"])
  const given = {
    runtime: textOf(flags.runtime),
    handler: textOf(flags.handler),
    memory_mb: numberOf(flags, "memory-mb"),
    timeout_seconds: numberOf(flags, "timeout-seconds"),
    public: flags.public === true ? true : undefined,
    env: envFile === undefined ? undefined : parseEnv(await readFile(envFile, "utf8")),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

export const deploy: Extra = async (globals, [name, path, ...surplus], terminal, flags) => {
  if (name === undefined || path === undefined)
    throw new UsageError("name the function and its code", "functions deploy")
  if (surplus.length > 0) throw new UsageError(`unexpected word: ${surplus[0]}`, "functions deploy")
  const read = await readCode(path)
  const settings = await settingsOf(flags)
  const svc = await connected(globals, terminal)
  const input = { ...settings, ...read.code }
  const reply = await svc.functions.update({ id: name, ...input }).catch(error => {
    if (!(error instanceof SvcError) || error.code !== "function_not_found") throw error
    return svc.functions.create({ runtime: runtimeOf(path, read), ...input, name })
  })
  if (globals.json) printJson(reply, terminal.out)
  else printReply(reply, terminal.out, terminal.err)
  return undefined
}

export const logs: Extra = async (globals, [name, ...surplus], terminal, flags) => {
  if (name === undefined) throw new UsageError("name the function", "functions logs")
  if (surplus.length > 0) throw new UsageError(`unexpected word: ${surplus[0]}`, "functions logs")
  const svc = await connected(globals, terminal)
  const limit = numberOf(flags, "limit")
  let page = await svc.functions.logs({ id: name, ...(limit !== undefined && { limit }) })
  for (;;) {
    for (const line of page.data) {
      const text = `${line.timestamp}  ${line.stream}  ${line.message}`
      terminal.out.line(globals.json ? JSON.stringify(line) : printable(text))
    }
    if (flags.follow !== true) return undefined
    if (page.data.length < LINES_MAX) await delay(FOLLOW_EVERY_MS)
    page = await svc.functions.logs({ id: name, limit: LINES_MAX, after: page.cursor ?? "0" })
  }
}
