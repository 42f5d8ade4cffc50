#!/usr/bin/env node
/** Starts the command line with a Node that runs TypeScript: this one, or else the one the workspace pins. */
import { spawn } from "node:child_process"
import { existsSync, realpathSync } from "node:fs"
import module from "node:module"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(import.meta.url)

const runsTypeScript = () => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  return major >= 24 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18)
}

/** The binary of the platform's package, searched from this folder upwards. */
const findPinnedNode = () => {
  const { platform, arch } = process
  const system = platform === "win32" ? "win" : platform
  const binary = platform === "win32" ? "node.exe" : "node"
  const places = [
    join(`node-${system}-${arch}`, "bin", binary),
    join(`node-bin-${system}-${arch}`, "bin", binary),
    ...(platform === "win32" ? [] : [join(".bin", "node")]),
  ]
  for (let folder = dirname(script); ; folder = dirname(folder)) {
    const found = places.map(place => join(folder, "node_modules", place)).find(path => existsSync(path))
    // Being that binary already and still too old would start itself for ever.
    if (found) return realpathSync(found) === realpathSync(process.execPath) ? undefined : found
    if (folder === dirname(folder)) return undefined
  }
}

const runWith = node => {
  const child = spawn(node, [script, ...process.argv.slice(2)], { stdio: "inherit" })
  // The terminal interrupts both; the child decides what that means.
  process.on("SIGINT", () => {})
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.on("error", error => fail(error.message))
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143)
  })
}

const fail = reason => {
  process.stderr.write(`svc: ${reason}\n`)
  process.exitCode = 2
}

/** Compiling the command line takes longer than running it, so what was compiled is kept, for this user alone. */
const keepCompiled = () => {
  const { XDG_CACHE_HOME: given, HOME = homedir() } = process.env
  module.enableCompileCache?.(join(given?.startsWith("/") ? given : join(HOME, ".cache"), "svc", "compiled"))
}

if (runsTypeScript()) {
  keepCompiled()
  const { main } = await import("../src/main.ts")
  await main()
} else {
  const node = findPinnedNode()
  if (node) runWith(node)
  else fail(`needs Node 22.18 or newer and runs on ${process.versions.node}; run npm ci to get one`)
}
