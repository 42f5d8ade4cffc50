import { execFile } from "node:child_process"
import { access } from "node:fs/promises"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { FUNCTION_CONCURRENCY_MAX } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import type { Mount, RuntimeCapabilities, RuntimePort } from "../../ports/runtime/port.ts"

const HARNESS = "/opt/svc/harness"
const NODE = "/opt/svc/node"

export type RuntimeName = "nodejs" | "python3" | "wasm" | "container"

/** What runs functions of a language here. */
export interface LanguageRuntime {
  readonly name: RuntimeName
  /** `nodejs24.11.0`, `python3.11.2`, `wasip1`. */
  readonly version: string
  /** Where inline code lies. */
  readonly mainFile: string
  readonly mounts: readonly Mount[]
  /** Whether its code is no text, but bytes that travel in base64. */
  readonly isBinary: boolean
  /** Invocations that one instance can run at once. */
  readonly concurrencyMax: number
  /** The program and arguments of a harness that may use so much memory. */
  readonly command: (memoryMb: number) => readonly string[]
}

export interface Runtimes {
  /** Throws `invalid_parameter` for an unknown name and `not_implemented` for what this host lacks. */
  find(name: string): Promise<LanguageRuntime>
  /** Undefined where the host does not have it. */
  of(name: RuntimeName): Promise<LanguageRuntime | undefined>
  /** Throws `not_implemented` where nothing can run it any more. */
  start(name: RuntimeName): Promise<LanguageRuntime>
}

const harnessMount: Mount = {
  source: fileURLToPath(new URL("harness", import.meta.url)),
  target: HARNESS,
}

/**
 * Of a workload's memory, what JavaScript's own values may take; the rest is the engine's and that of buffers. V8 collects
 * late where it may take much, so a small instance under load would go beyond its memory with what is garbage already.
 */
const heapMb = (memoryMb: number): number => Math.floor(Math.max(memoryMb * 0.25, memoryMb * 0.75 - 48))
/** Each half of what new values are in: V8's own 16 MB are too much of a small instance. */
const semiSpaceMb = (memoryMb: number): number => Math.min(16, Math.max(1, Math.floor(memoryMb / 64)))

const nodeMounts = [harnessMount, { source: dirname(process.execPath), target: NODE }]

const nodejs: LanguageRuntime = {
  name: "nodejs",
  version: `nodejs${process.versions.node}`,
  ...{ mainFile: "index.js", isBinary: false, concurrencyMax: FUNCTION_CONCURRENCY_MAX },
  mounts: nodeMounts,
  command: memoryMb => [
    `${NODE}/node`,
    `--max-old-space-size=${heapMb(memoryMb)}`,
    `--max-semi-space-size=${semiSpaceMb(memoryMb)}`,
    // Inline code says by its syntax which kind of module it is.
    "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
    "--disable-warning=ExperimentalWarning",
    `${HARNESS}/node.mjs`,
  ],
}

/** Commands of WASI preview 1, on Node's engine. A module runs to its end before the process hears of anything else. */
const wasm: LanguageRuntime = {
  name: "wasm",
  version: "wasip1",
  ...{ mainFile: "index.wasm", isBinary: true, concurrencyMax: 1 },
  mounts: nodeMounts,
  command: () => [
    `${NODE}/node`,
    "--expose-gc",
    "--disable-warning=ExperimentalWarning",
    `${HARNESS}/wasm.mjs`,
  ],
}

/** A program of an image, which is no code of ours to start: `container.ts` does. */
const container: LanguageRuntime = {
  name: "container",
  version: "container",
  ...{ mainFile: "image", isBinary: false, concurrencyMax: FUNCTION_CONCURRENCY_MAX },
  ...{ mounts: [], command: () => [] },
}

/** Workloads see the host's /usr, and no other place where an interpreter may lie. */
const PYTHONS = ["/usr/bin/python3", "/usr/local/bin/python3"]

const run = promisify(execFile)

const findPython = async (): Promise<LanguageRuntime | undefined> => {
  for (const program of PYTHONS) {
    try {
      await access(program)
      const { stdout } = await run(program, ["-c", "import platform; print(platform.python_version())"])
      return {
        name: "python3",
        version: `python${stdout.trim()}`,
        ...{ mainFile: "index.py", isBinary: false, concurrencyMax: FUNCTION_CONCURRENCY_MAX },
        mounts: [harnessMount],
        command: () => [program, "-B", "-X", "utf8", `${HARNESS}/python.py`],
      }
    } catch {
      // The next one may work.
    }
  }
  return undefined
}

/** `nodejs20` and `python3.12` name a language whose version is the host's to choose. */
const NODE_NAME = /^node(?:js)?(?:\d{1,2}(?:\.x)?)?$/
const PYTHON_NAME = /^python(?:3(?:\.\d{1,2})?)?$/

/** Why no function can run here, as the operator reads it; undefined where some can. */
export const whyNone = ({ driver, mounts, reasons }: RuntimeCapabilities): string | undefined => {
  if (driver === "none") return reasons[0] ?? "nothing here runs workloads"
  return mounts
    ? undefined
    : `the driver ${driver} cannot show a function its code; SVC_RUNTIME chooses another`
}

export const createRuntimes = ({ capabilities }: Pick<RuntimePort, "capabilities">): Runtimes => {
  const checkHost = (name: string) => {
    const reason = whyNone(capabilities)
    if (reason !== undefined) throw fault("not_implemented", { reason })
    if (name === "container" && !capabilities.roots.includes("image"))
      throw fault("not_implemented", { reason: `the driver ${capabilities.driver} starts no images here` })
  }
  let python: Promise<LanguageRuntime | undefined> | undefined
  const of: Runtimes["of"] = async name => {
    if (name === "nodejs") return nodejs
    if (name === "wasm") return wasm
    if (name === "container") return container
    python ??= findPython()
    return python
  }
  return {
    of,
    async start(name) {
      checkHost(name)
      const found = await of(name)
      if (!found) throw fault("not_implemented", { reason: `this host has no ${name} any more` })
      return found
    },
    async find(name) {
      checkHost(name)
      if (NODE_NAME.test(name)) return nodejs
      if (name === "wasm") return wasm
      if (name === "container") return container
      if (!PYTHON_NAME.test(name))
        throw fault("invalid_parameter", { reason: "runtime: nodejs, python3, wasm and container are known" })
      const found = await of("python3")
      if (!found) throw fault("not_implemented", { reason: "this host has no python3 in /usr/bin" })
      return found
    },
  }
}

export const languageOf = (name: string): RuntimeName => {
  if (name === "wasm" || name === "container") return name
  return name.startsWith("node") ? "nodejs" : "python3"
}
