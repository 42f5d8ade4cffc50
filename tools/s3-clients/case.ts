/** What every client's cases are given, and how a case is told. */
import { spawn } from "node:child_process"

export interface Access {
  /** Path style, below `/s3`. */
  readonly endpoint: string
  /** The same without a path, for clients that take none. */
  readonly root: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** The API key, for tus. */
  readonly apiKey: string
}

export interface Outcome {
  readonly name: string
  /** Undefined if it passed. */
  readonly failure?: string
}

export interface Client {
  readonly name: string
  /** Why its cases are left out; undefined if they can run. */
  readonly missing: string | undefined
  /** Cases in their order: later ones use what earlier ones made. */
  run(access: Access): Promise<readonly Outcome[]>
}

/** Runs a program to its end; rejects with what it printed if it fails. Resolves to its standard output. */
export const execute = (
  program: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = "",
): Promise<string> => {
  const { PATH = "" } = process.env
  const child = spawn(program, words, {
    env: { PATH, HOME: "/nonexistent", ...environment },
    timeout: 120_000,
  })
  const printed = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", text => {
      printed[name] += text
    })
  child.stdin.on("error", () => undefined).end(input)
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("close", code => {
      if (code === 0) resolve(printed.stdout)
      else reject(new Error(`${words.join(" ")} ended with ${code}: ${printed.stderr}${printed.stdout}`))
    })
  })
}

export type Cases = Readonly<Record<string, () => Promise<void>>>

export const runCases = async (cases: Cases): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = []
  for (const [name, run] of Object.entries(cases)) {
    const failure = await run().then(
      () => undefined,
      (error: unknown) => String(error instanceof Error ? error.message : error),
    )
    outcomes.push({ name, ...(failure !== undefined && { failure }) })
  }
  return outcomes
}

/** What a URL gives without any credentials but its own. */
export const fetchText = async (url: string, init: RequestInit = {}): Promise<string> => {
  const response = await fetch(url, init)
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text}`)
  return text
}
