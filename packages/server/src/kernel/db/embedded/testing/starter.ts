/**
 * A process of its own for the tests: starts the embedded database of the directory given as argument, says so in
 * one line of JSON, and stops it when its standard input ends. A StartupError becomes a line with `refused`.
 */
import { StartupError } from "../../../startup-error.ts"
import { startEmbeddedPostgres } from "../start.ts"

const say = (fact: object) => process.stdout.write(`${JSON.stringify(fact)}\n`)

try {
  const [dataDir = "", systemDir, durable] = process.argv.slice(2)
  const started = performance.now()
  const server = await startEmbeddedPostgres({
    dataDir,
    systemDir: systemDir || undefined,
    durable: durable === "durable",
    log: line => process.stderr.write(`${line}\n`),
  })
  const { connectionString, socketDir, pid } = server
  say({ connectionString, socketDir, pid, startedMs: Math.round(performance.now() - started) })
  process.stdin.on("end", () => server.stop()).resume()
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  say({ refused: error.message, hint: error.hint })
}
