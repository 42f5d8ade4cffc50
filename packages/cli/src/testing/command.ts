/** Runs the real command line in a process of its own, with a home of its own. */
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { fileURLToPath } from "node:url"

export const bin = fileURLToPath(new URL("../../bin/svc.js", import.meta.url))

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface Run {
  readonly env?: Readonly<Record<string, string>>
  /** On standard input, which is a pipe and no terminal. */
  readonly input?: string
}

/** An empty folder that is gone when the test ends. */
export const openFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-cli-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A person's shell: the server at `url`, a key, and a home folder without stored credentials. */
export const openShell = async (t: TestContext, url: string, key = "svc_sk_test") => {
  const home = await openFolder(t)
  const { PATH = "", NODE_COMPILE_CACHE = join(home, "compiled") } = process.env
  const base = { PATH, NODE_COMPILE_CACHE, HOME: home, XDG_CONFIG_HOME: home, SVC_API_URL: url }
  const run = (args: readonly string[], { env = {}, input = "" }: Run = {}) =>
    runProgram(process.execPath, [bin, ...args], { ...base, SVC_TOKEN: key, ...env }, input)
  return { home, run, env: base }
}

export const runProgram = (
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input: string,
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: "pipe" })
    let out = ""
    let err = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      out += chunk
    })
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      err += chunk
    })
    child.on("error", reject)
    child.on("close", code => resolve({ code, out, err }))
    child.stdin.on("error", () => {}).end(input)
  })
