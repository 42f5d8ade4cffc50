/**
 * `node tools/s3-clients.ts [client …]`: installs clients of object storage in fixed versions and outside of this tree, runs
 * them against a platform of its own, and prints a table of what passed. A client whose language or program this machine
 * has not is left out by name. SVC_S3_CLIENTS_DIR says where they are kept; what is there already is used again.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemClock } from "../packages/server/src/kernel/clock.ts"
import { startTestServer } from "../packages/server/src/testing/database.ts"
import { platform } from "../packages/server/src/testing/platform.ts"
import { type Access, type Cases, type Client, execute, type Outcome, runCases } from "./s3-clients/case.ts"
import { installPrograms, type Programs } from "./s3-clients/install.ts"
import { awsCases, minioClientCases, rcloneCases, s3cmdCases } from "./s3-clients/programs.ts"
import { tusCases } from "./s3-clients/tus.ts"

type MakeCases = (program: string, access: Access, folder: string) => Cases

const programClient = (
  name: string,
  program: string | undefined,
  needed: string,
  cases: MakeCases,
  folder: string,
): Client => ({
  name,
  missing: program === undefined ? `${needed} is missing` : undefined,
  run: access => runCases(cases(program ?? "", access, mkdtempSync(join(folder, "client-")))),
})

const pythonClient = (name: string, python: string | undefined): Client => ({
  name,
  missing: python === undefined ? "python3 with venv is missing" : undefined,
  async run({ endpoint, root, accessKeyId, secretAccessKey }) {
    const script = join(import.meta.dirname, "s3-clients/cases.py")
    const printed = await execute(join(python ?? "", "python"), [script, name, endpoint, root], {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    })
    const lines = printed.trim().split("\n")
    return lines.map((line): Outcome => JSON.parse(line))
  },
})

const clientsOf = ({ python, mc, rclone, s3cmd }: Programs, folder: string): readonly Client[] => {
  const aws = python && join(python, "aws")
  return [
    pythonClient("boto3", python),
    programClient("aws-cli", aws, "python3 with venv", awsCases, folder),
    programClient("rclone", rclone, "rclone", rcloneCases, folder),
    programClient("s3cmd", s3cmd, "s3cmd", s3cmdCases, folder),
    programClient("mc", mc, "go", minioClientCases, folder),
    pythonClient("minio-py", python),
    { name: "tus-js-client", missing: undefined, run: access => runCases(tusCases(access)) },
  ]
}

/** Runs the clients one after the other and prints a row for each case; the number of failures. */
const runClients = async (clients: readonly Client[], access: Access): Promise<number> => {
  const counts = { passed: 0, failed: 0 }
  for (const { name, missing, run } of clients) {
    if (missing !== undefined) {
      process.stdout.write(`${name.padEnd(14)} left out: ${missing}\n`)
      continue
    }
    for (const outcome of await run(access)) {
      const result = outcome.failure === undefined ? "passed" : "failed"
      counts[result] += 1
      process.stdout.write(`${name.padEnd(14)} ${outcome.name.padEnd(48)} ${result}\n`)
      if (outcome.failure !== undefined) process.stdout.write(`  ${outcome.failure.slice(0, 1000)}\n`)
    }
  }
  process.stdout.write(`\npassed ${counts.passed}, failed ${counts.failed}\n`)
  return counts.failed
}

const main = async (wanted: readonly string[], folder: string): Promise<number> => {
  const all = clientsOf(installPrograms(), folder)
  const clients = wanted.length === 0 ? all : all.filter(({ name }) => wanted.includes(name))
  await using opened = new AsyncDisposableStack()
  const postgres = opened.use(await startTestServer())
  process.env.SVC_TEST_SERVER = postgres.url
  const p = await platform(
    { after: end => opened.defer(async () => void (await end())) },
    { env: { SVC_S3_DOMAIN: "s3.localhost" }, clock: systemClock },
  )
  const { secret } = await p.key("acme", ["storage:read", "storage:write"])
  const got = await p.as(secret).s3.credentials()
  return await runClients(clients, {
    endpoint: got.endpoint,
    root: p.url,
    accessKeyId: got.access_key_id,
    secretAccessKey: got.secret_access_key,
    apiKey: secret,
  })
}

const folder = mkdtempSync(join(tmpdir(), "svc-s3-clients-run-"))
try {
  process.exitCode = (await main(process.argv.slice(2), folder)) === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
