/**
 * `node tools/neon-suite.ts`: fetches the test suite of Neon's serverless driver, at a fixed commit and outside of this tree,
 * and runs it against a platform of its own. Cases about Neon's own
 * hosts are left out by name. SVC_NEON_DIR says where it is kept; SVC_NEON_SOURCE names a clone to take it from.
 */
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { platform } from "../packages/server/src/testing/platform.ts"

const SOURCE = process.env.SVC_NEON_SOURCE ?? "https://github.com/neondatabase/serverless.git"
const COMMIT = "ecce07e"
const folder = process.env.SVC_NEON_DIR ?? join(tmpdir(), "svc-neon-suite")
const suite = join(folder, "suite")

/** Exact versions of what the suite's tests import. */
const PACKAGES = [
  // The version that the suite at that commit is of.
  "@neondatabase/serverless@1.0.2",
  "vitest@3.2.4",
  "pg@8.8.0",
  "ws@8.18.3",
  "node-fetch@3.3.2",
  "subtls@0.5.0",
]

/** What speaks of Neon's own hosts and services, and why it says nothing of ours. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "database URL with wrong project to `neon()`": "the host names Neon's project; here the user does",
  "database URL with wrong host to `neon()`": "replaces .neon.tech in the host",
  "client.query() with custom WebSocket proxy and subtls":
    "needs Neon's own proxy, and a certificate of the authority that the test has built in",
  "connection with Neon Authorize": "needs an account of Clerk, and tokens that Neon's broker checks",
}

const run = (program: string, words: readonly string[], cwd: string): void => {
  const { status } = spawnSync(program, words, { cwd, stdio: "inherit" })
  if (status !== 0) throw new Error(`${program} ${words.join(" ")} ended with ${status}`)
}

const fetchSuite = (): void => {
  mkdirSync(folder, { recursive: true })
  if (existsSync(join(suite, "node_modules"))) return
  rmSync(suite, { recursive: true, force: true })
  const clone = join(folder, "clone")
  if (!existsSync(clone)) run("git", ["clone", "--quiet", "--no-checkout", SOURCE, clone], folder)
  mkdirSync(suite)
  const archive = join(folder, "tests.tar")
  run("git", ["archive", "--output", archive, COMMIT, "tests/cli", "tests/setup.ts"], clone)
  run("tar", ["-xf", archive, "-C", suite], folder)
  writeFileSync(join(suite, "package.json"), '{"name":"neon-suite","private":true,"type":"module"}\n')
  run("npm", ["install", "--silent", "--save-exact", "--ignore-scripts", ...PACKAGES], suite)
}

/** Where the driver finds a platform that has no host name of Neon's form; the rest is the driver's own. */
const setup = (host: string): string => `
import { neonConfig } from "@neondatabase/serverless"
neonConfig.fetchEndpoint = "http://${host}/sql"
neonConfig.wsProxy = () => "${host}/v2"
neonConfig.useSecureWebSocket = false
import "./tests/setup.ts"
`

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

const runSuite = (url: string, uri: string): Promise<number> => {
  writeFileSync(join(suite, "svc-setup.ts"), setup(new URL(url).host))
  writeFileSync(
    join(suite, "vitest.config.ts"),
    'export default { test: { fileParallelism: false, setupFiles: ["svc-setup.ts"], testTimeout: 60000 } }\n',
  )
  const skipped = Object.keys(LEFT_OUT).map(escapeRegExp).join("|")
  const words = [
    "vitest",
    "run",
    "--dir=tests/cli",
    "--environment=node",
    "--reporter=verbose",
    "--reporter=json",
  ]
  const child = spawn(
    "npx",
    [...words, "--outputFile=result.json", `--testNamePattern=^(?!.*(?:${skipped}))`],
    {
      cwd: suite,
      stdio: "inherit",
      env: { ...process.env, VITE_NEON_DB_URL: uri, VITE_NEON_DB_POOLER_URL: uri, VITE_WSPROXY: "none" },
    },
  )
  return new Promise(resolve => child.once("exit", code => resolve(code ?? 1)))
}

fetchSuite()
const ends: (() => unknown)[] = []
const p = await platform({ after: end => void ends.unshift(end) })
const svc = await p.client("acme", "database:manage", "database:query")
const { connection_uri: uri = "" } = await svc.databases.create({ name: "neon" })
const code = await runSuite(p.url, uri)
for (const end of ends) await end()
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(join(suite, "result.json"), "utf8"))
process.stdout.write(`\npassed ${numPassedTests}, failed ${numFailedTests}; left out:\n`)
for (const [name, reason] of Object.entries(LEFT_OUT)) process.stdout.write(`- ${name}: ${reason}\n`)
process.exitCode = code
